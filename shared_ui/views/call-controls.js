import {html, nothing} from "../vendor/lit.js";
import {icons} from "./icons.js";
import {strings} from "./strings.js";

/**
 * The row of buttons of a call that is going on.
 * @import { CallState } from '../types.js'
 * @param {{state: CallState, manual: boolean, sees: boolean, act: (what: "mute" | "hold" | "interrupt" | "camera" | "send" | "end") => void}} of
 */
export function callControls({state, manual, sees, act}) {
  const s = strings.controls;
  const live = state.phase === "live";
  const sounding = live && (state.activity === "speaking" || state.activity === "ducked" || state.activity === "thinking");
  return html`<div class="call-controls" role="group" aria-label=${s.group}>
    <button class="round" aria-pressed=${state.muted} ?disabled=${!live} @click=${() => act("mute")}><span class="disc">${state.muted ? icons.micOff : icons.mic}</span>${state.muted ? s.unmute : s.mute}</button>
    <button class="round" aria-pressed=${state.held} ?disabled=${!live} @click=${() => act("hold")}><span class="disc">${state.held ? icons.play : icons.pause}</span>${state.held ? s.resume : s.hold}</button>
    <button class="round" ?disabled=${!sounding} @click=${() => act("interrupt")}><span class="disc">${icons.hand}</span>${s.interrupt}</button>
    ${sees ? html`<button class="round" aria-pressed=${state.pictures?.kind === "camera"} ?disabled=${!live} @click=${() => act("camera")}><span class="disc">${icons.camera}</span>${strings.pictures.camera}</button>` : nothing}
    ${manual ? html`<button class="round send" ?disabled=${!live || state.held} @click=${() => act("send")}><span class="disc">${icons.send}</span>${s.send}</button>` : nothing}
    <button class="round end" @click=${() => act("end")}><span class="disc">${icons.end}</span>${s.end}</button>
  </div>`;
}

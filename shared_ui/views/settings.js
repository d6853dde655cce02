import {html, nothing, live} from "../vendor/lit.js";
import {strings} from "./strings.js";

/**
 * What the person chooses before a call. `change` gets a patch of the choices.
 * @import { Choices, ProfileData } from '../types.js'
 * @param {{profile: ProfileData, voices: readonly string[], needsVoice: boolean, sees: boolean, choosePath: boolean, choices: Choices, change: (patch: Choices) => void}} of
 */
export function settings({profile, voices, needsVoice, sees, choosePath, choices, change}) {
  const s = strings.settings;
  const has = (/** @type {string} */ control) => (profile.controls ?? []).includes(control);
  const turns = /** @type {("server_vad" | "manual" | "model")[]} */ (profile.turn_control ?? []);
  const turn = /** @type {"server_vad" | "manual" | "model"} */ (choices.turnControl ?? turns[0]);
  const stacks = /** @type {number[]} */ (sees && profile.camera?.enabled ? profile.camera.stacks ?? [] : []);
  const presets = /** @type {{id: string, title: string, instructions: string}[]} */ (profile.presets ?? []);
  const preset = presets.find((each) => each.id === choices.preset) ?? presets[0];
  const custom = choices.instructions !== undefined;
  const value = (/** @type {Event} */ event) => /** @type {HTMLInputElement} */ (event.target).value;
  const pickPreset = (/** @type {Event} */ event) => {
    const id = value(event);
    change(id === "" ? {instructions: preset?.instructions ?? ""} : {preset: id, instructions: undefined});
  };
  return html`
    ${turns.length > 1 ? html`<fieldset class="field"><legend>${s.turns}</legend>
      <div class="segments">${turns.map((each) => html`<label><input type="radio" name="turns" .checked=${live(each === turn)} @change=${() => change({turnControl: each})} /><span>${s[each]}</span></label>`)}</div>
      <span class="hint">${s[`${turn}Hint`]}</span></fieldset>`
      : html`<div class="field"><span class="label">${s.turns}</span><span class="hint">${s[`${turn}Hint`]}</span></div>`}
    ${has("instructions") ? html`<div class="field"><label for="preset">${s.preset}</label>
      <select id="preset" @change=${pickPreset}>
        ${presets.map((each) => html`<option value=${each.id} ?selected=${!custom && each.id === preset?.id}>${each.title}</option>`)}
        <option value="" ?selected=${custom}>${s.custom}</option>
      </select></div>` : nothing}
    ${custom ? html`<div class="field"><label for="instructions">${s.instructions}</label>
      <textarea id="instructions" maxlength="4000" .value=${live(choices.instructions ?? "")} @input=${(/** @type {Event} */ event) => change({instructions: value(event)})}></textarea></div>` : nothing}
    ${has("voice") && voices.length ? html`<div class="field"><label for="voice">${s.voice}</label>
      <select id="voice" @change=${(/** @type {Event} */ event) => change({voice: value(event) || undefined})}>
        <option value="">${s.voiceDefault}</option>
        ${voices.map((voice) => html`<option value=${voice} ?selected=${voice === choices.voice}>${voice.replaceAll("_", " ")}</option>`)}
      </select></div>` : nothing}
    ${stacks.length > 1 ? html`<fieldset class="field"><legend>${s.camera}</legend>
      <div class="segments">${stacks.map((each) => html`<label><input type="radio" name="stacks" .checked=${live(each === (choices.stacked ?? 1))} @change=${() => change({stacked: each})} /><span>${s.cameraFrames(each)}</span></label>`)}</div>
      <span class="hint">${(choices.stacked ?? 1) > 1 ? s.cameraManyHint : s.cameraOneHint}</span></fieldset>` : nothing}
    ${choosePath ? html`<div class="field"><label for="path">${s.path}</label>
      <select id="path" @change=${(/** @type {Event} */ event) => change({path: /** @type {Choices["path"]} */ (value(event))})}>
        ${/** @type {const} */ (["auto", "webrtc", "websocket"]).map((path) => html`<option value=${path} ?selected=${path === (choices.path ?? "auto")}>${s.paths[path]}</option>`)}
      </select><span class="hint">${s.pathHint}</span></div>` : nothing}
    ${has("voice_reference") ? html`<div class="field"><label for="reference">${s.voiceReference}</label>
      <input id="reference" type="file" accept="audio/wav,.wav" @change=${(/** @type {Event} */ event) => void readVoice(event, change)} />
      <span class="hint">${!choices.refAudio && needsVoice ? s.voiceReferenceNeeded : s.voiceReferenceHint}</span></div>` : nothing}`;
}

/** @param {Event} event @param {(patch: Choices) => void} change */
async function readVoice(event, change) {
  const file = /** @type {HTMLInputElement} */ (event.target).files?.[0];
  if (!file) return change({refAudio: undefined});
  const reader = new FileReader();
  reader.onload = () => change({refAudio: String(reader.result)});
  reader.onerror = () => change({refAudio: undefined});
  reader.readAsDataURL(file);
}

import {LitElement, html, nothing} from "./vendor/lit.js";
import {CallSession} from "./core/session.js";
import {tokens, base} from "./styles/tokens.js";
import {controls} from "./styles/controls.js";
import {layout} from "./styles/call.js";
import {callControls} from "./views/call-controls.js";
import {describe} from "./views/describe.js";
import {icons} from "./views/icons.js";
import {settings} from "./views/settings.js";
import {shortcut} from "./views/shortcuts.js";
import {strings} from "./views/strings.js";
import "./views/check.js";
import "./views/devices.js";
import "./views/event-log.js";
import "./views/figures.js";
import "./views/meter.js";
import "./views/orb.js";
import "./views/preview.js";
import "./views/timer.js";
import "./views/transcript.js";

/** @import { CallState, Choices, Config, Problem, Profile, ProfileData } from './types.js' */

const GOING = new Set(["checking", "connecting", "queued", "live", "reconnecting"]);
const TALKING = new Set(["live", "reconnecting"]);
const ASK_AGAIN_MS = 1500;

/**
 * `<omnitalk-call base="https://host/path/" profile="cascade">`: a whole call, from the check to the goodbye.
 *
 * `base` is the server's address (the page's own when left out), `profile` overrides the server's choice, `transport` (`webrtc`, `websocket`; else the
 * page chooses, and changes when it must) says what carries the call. `session` is the live `CallSession`.
 * Fires `call-started` (detail: `{session}`), `call-ended` (detail: `{reason, error}`) and `config` (detail: the server's config, each time it is read).
 */
export class OmnitalkCall extends LitElement {
  /** @override */
  static properties = {base: {type: String}, profile: {type: String}, transport: {type: String}, config: {state: true}, choices: {state: true}, problem: {state: true}, showSound: {state: true}};
  /** @override */
  static styles = [tokens, base, controls, layout];

  constructor() {
    super();
    this.base = "";
    this.profile = "";
    this.transport = "";
    /** @type {Config | null} */ this.config = null;
    /** @type {Choices} */ this.choices = {};
    /** @type {CallSession | null} */ this.session = null;
    /** @type {string | Problem | null} what went wrong while no state says so */ this.problem = null;
    this.showSound = false;
  }

  #poll = 0;
  /** Counts the starts, so that a page that left while a module was loading starts nothing. */
  #life = 0;
  #talking = false;
  #phase = "idle";
  /** @type {Map<string, Promise<{createProfile: (data: ProfileData) => Profile}>>} */ #modules = new Map();
  #onKey = (/** @type {KeyboardEvent} */ event) => this.#key(event);
  #onKeyUp = (/** @type {KeyboardEvent} */ event) => this.#release(event);
  #onLeave = () => void this.session?.end("page_closed");

  get #root() {
    return new URL(this.base || ".", document.baseURI).href.replace(/\/?$/, "/");
  }

  get #state() {
    return /** @type {CallState | null} */ (this.session?.state ?? null);
  }

  /** @override */
  connectedCallback() {
    super.connectedCallback();
    this.#life += 1;
    window.addEventListener("keydown", this.#onKey);
    window.addEventListener("keyup", this.#onKeyUp);
    window.addEventListener("pagehide", this.#onLeave);
    void this.#readConfig();
  }

  /** @override */
  disconnectedCallback() {
    super.disconnectedCallback();
    this.#life += 1;
    window.removeEventListener("keydown", this.#onKey);
    window.removeEventListener("keyup", this.#onKeyUp);
    window.removeEventListener("pagehide", this.#onLeave);
    clearTimeout(this.#poll);
    void this.session?.end("page_closed");
  }

  async #fetchConfig() {
    const answer = await fetch(new URL("config", this.#root), {cache: "no-store"});
    if (!answer.ok) throw new Error(`config: ${answer.status}`);
    return /** @type {Promise<Config>} */ (answer.json());
  }

  /** Reads the config until the engine is ready. */
  async #readConfig() {
    clearTimeout(this.#poll);
    const life = this.#life;
    try {
      const config = await this.#fetchConfig();
      if (life !== this.#life) return;
      this.config = config;
      this.problem = this.#data ? null : strings.profileUnavailable(this.profile || String(config.profile));
      this.dispatchEvent(new CustomEvent("config", {detail: config}));
      if (this.#data) void this.#module(this.#data);
    } catch {
      if (life !== this.#life) return;
      this.problem = strings.configUnavailable; // said to the person, and asked again below
    }
    if (!this.config?.ready?.ready) this.#poll = window.setTimeout(() => void this.#readConfig(), ASK_AGAIN_MS);
  }

  /** @returns {ProfileData | undefined} the profile in force, with only the turn controls that the engine has */
  get #data() {
    const id = this.profile || this.config?.profile;
    const data = this.config?.profiles?.find((each) => each.id === id);
    const turns = /** @type {string[] | undefined} */ (this.config?.engine?.turns);
    if (!data || !turns) return data;
    const both = data.turn_control.filter((/** @type {string} */ each) => turns.includes(each));
    return both.length ? {...data, turn_control: both} : data;
  }

  /** @param {ProfileData} data */
  #module(data) {
    const url = new URL(data.module ?? `profiles/${data.id}/profile.js`, this.#root).href;
    const loading = this.#modules.get(url) ?? import(url);
    this.#modules.set(url, loading);
    loading.catch(() => this.#modules.delete(url)); // a failed load may be tried again; `call` says that it failed
    return loading;
  }

  get #path() {
    const wanted = this.choices.path ?? this.transport;
    return wanted === "webrtc" || wanted === "websocket" ? wanted : "auto";
  }

  /** The choices with the profile's defaults filled in. */
  get #chosen() {
    return {...this.choices, turnControl: this.choices.turnControl ?? this.#data?.turn_control?.[0]};
  }

  /** Starts a call. Call it from a click. */
  async call() {
    const data = this.#data;
    if (!this.config || !data || GOING.has(this.#phase)) return;
    if (this.config.engine?.needs_reference_voice && (data.controls ?? []).includes("voice_reference") && !this.choices.refAudio) {
      this.problem = strings.settings.voiceReferenceNeeded;
      return;
    }
    this.problem = null;
    const life = this.#life;
    let made;
    try {
      made = (await this.#module(data)).createProfile(data);
    } catch {
      this.problem = strings.configUnavailable; // the module did not load: the server is away
      return;
    }
    if (life !== this.#life || GOING.has(this.#phase)) return;
    const session = new CallSession({config: this.config, profile: made, choices: this.#chosen, baseUrl: this.#root, path: this.#path, refreshConfig: () => this.#fetchConfig()});
    this.session = session;
    session.addEventListener("change", () => this.#changed(session));
    session.addEventListener("transcript", () => this.requestUpdate());
    session.addEventListener("event", () => this.#log?.isOpen && this.requestUpdate());
    session.addEventListener("error", (event) => { if (this.session === session) this.problem = /** @type {CustomEvent<Problem>} */ (event).detail; });
    await session.start();
  }

  /** @param {CallSession} session */
  #changed(session) {
    if (session !== this.session) return;
    const before = this.#phase;
    const {phase, endReason, error} = session.state;
    this.#phase = phase;
    if (phase !== before && phase === "live" && before !== "reconnecting") this.dispatchEvent(new CustomEvent("call-started", {bubbles: true, composed: true, detail: {session}}));
    if (phase !== before && (phase === "ended" || phase === "failed")) {
      this.showSound = this.#talking = false;
      if (!error) this.problem = null;
      this.dispatchEvent(new CustomEvent("call-ended", {bubbles: true, composed: true, detail: {reason: endReason, error}}));
      void this.#readConfig();
    }
    this.requestUpdate();
  }

  /** @param {string} what */
  #act(what) {
    const session = this.session;
    if (!session) return;
    const {muted, held} = session.state;
    if (what === "mute") session.setMuted(!muted);
    else if (what === "hold") session.setHold(!held);
    else if (what === "interrupt") session.interrupt({source: "button"});
    else if (what === "camera") void session.setPictures(session.state.pictures?.kind === "camera" ? "off" : "camera");
    else if (what === "screen") void session.setPictures(session.state.pictures?.kind === "screen" ? "off" : "screen");
    else if (what === "send") session.commitTurn();
    else if (what === "end") void session.end();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (this.#log?.isOpen) return;
    const what = shortcut(event);
    if (!what || event.composedPath().some((node) => node instanceof HTMLDialogElement)) return;
    const live = this.#phase === "live";
    if (what === "help") void this.#help();
    else if (what === "log") this.#log?.toggle();
    else if (what === "talk") {
      if (!live || this.#chosen.turnControl !== "manual" || this.#state?.held) return;
      if (!event.repeat && !this.#talking) this.#pushToTalk();
    } else if (event.repeat) return;
    else if (what === "interrupt" && live) this.session?.interrupt({source: "key"});
    else if (what === "type" && live) /** @type {import("./views/transcript.js").CallTranscript | null} */ (this.renderRoot.querySelector("omnitalk-transcript"))?.focusField();
    else if ((what === "mute" || what === "hold") && live) this.#act(what);
    else if (what === "end" && GOING.has(this.#phase)) this.#act("end");
    else return;
    event.preventDefault();
  }

  /** Space went down: the model falls silent, and the turn begins here. */
  #pushToTalk() {
    this.#talking = true;
    const activity = this.#state?.activity;
    if (activity === "speaking" || activity === "ducked" || activity === "thinking") this.session?.interrupt({source: "key"});
    this.session?.send({type: "input_audio_buffer.clear"});
  }

  /** @param {KeyboardEvent} event */
  #release(event) {
    if (event.code !== "Space" || !this.#talking) return;
    this.#talking = false;
    this.session?.commitTurn();
  }

  get #figures() {
    return /** @type {import("./views/figures.js").FiguresDrawer | null} */ (this.renderRoot.querySelector("omnitalk-figures"));
  }

  get #log() {
    return /** @type {import("./views/event-log.js").EventLogDrawer | null} */ (this.renderRoot.querySelector("omnitalk-event-log"));
  }

  async #help() {
    await import("./views/shortcuts.js");
    const help = /** @type {import("./views/shortcuts.js").ShortcutsHelp} */ (this.renderRoot.querySelector("omnitalk-shortcuts"));
    await help.updateComplete;
    help.toggle();
  }

  /** @param {CustomEvent<{kind: "microphone" | "speaker", deviceId: string}>} event */
  #pick({detail: {kind, deviceId}}) {
    this.choices = {...this.choices, [kind]: deviceId || undefined};
    if (!GOING.has(this.#phase)) return;
    void (kind === "microphone" ? this.session?.setMicrophone(deviceId) : this.session?.setSpeaker(deviceId));
  }

  /** @override */
  render() {
    const state = this.#state;
    const going = GOING.has(state?.phase ?? "idle");
    const over = !going && state !== null && this.session?.transcript.length;
    return html`<div class="call ${going ? "during" : over ? "before over" : "before"}">
        <section class="stage">${this.#stage(state, going)}</section>
        ${going && state ? html`<section class="controls">${this.#controls(state)}</section>` : nothing}
        <section class="side">${going || over ? this.#talk(going) : this.#preparation()}</section>
      </div>
      <omnitalk-event-log .entries=${this.session?.events ?? []} .startedAt=${state?.startedAt ?? null}></omnitalk-event-log>
      <omnitalk-figures .session=${this.session}></omnitalk-figures>
      <omnitalk-shortcuts></omnitalk-shortcuts>`;
  }

  /** Whether there is somebody to show pictures to. */
  get #sees() {
    return Boolean(this.#data?.camera?.enabled && this.config?.engine?.sees);
  }

  get #server() {
    const ready = this.config?.ready;
    if (ready?.ready) return "ready";
    return ready?.problem || this.problem === strings.configUnavailable ? "away" : "loading";
  }

  /** @param {CallState | null} state @param {boolean} going */
  #stage(state, going) {
    const shown = describe(state, this.#chosen, strings, this.#server);
    return html`
      <omnitalk-orb mode=${shown.mode} label=${shown.label} .levels=${() => this.session?.levels ?? {mic: 0, speaker: 0}}></omnitalk-orb>
      <div aria-live="polite"><h2 class="word">${shown.word}</h2><p class="line" ?hidden=${!shown.line}>${shown.line}</p></div>
      ${state?.pictures ? html`<omnitalk-preview .session=${this.session} .state=${state}></omnitalk-preview>` : nothing}
      ${this.#alert(state)}
      ${going && state ? !TALKING.has(state.phase) ? nothing : html`<div class="levels">
          <span aria-hidden="true">${strings.meters.you}</span><omnitalk-meter label=${strings.meters.youLabel} .read=${() => this.session?.levels.mic ?? 0}></omnitalk-meter>
          <span aria-hidden="true">${strings.meters.model}</span><omnitalk-meter tone="model" label=${strings.meters.modelLabel} .read=${() => this.session?.levels.speaker ?? 0}></omnitalk-meter>
        </div>` : this.#ready(state)}`;
  }

  /** The button, and what answers. @param {CallState | null} state */
  #ready(state) {
    const {engine, ready} = this.config ?? {};
    const again = state !== null && state.phase !== "idle";
    const label = !again ? strings.call : state.startedAt ? strings.callAgain : strings.retry;
    return html`
      <button class="big" ?disabled=${!ready?.ready || !this.#data} @click=${this.call}>${icons.phone}${label}</button>
      <div class="about">
        ${ready && !ready.ready ? html`<p role="status">${ready.problem ?? strings.engine.loading(ready.stage ?? "")}</p>
          ${ready.problem ? nothing : html`<progress aria-label=${strings.engine.loading("")} .value=${ready.progress ?? 0} max="1"></progress>`}` : nothing}
        ${engine ? html`<p><strong>${engine.model}</strong></p><p>${engine.honest || this.#data?.honest}</p>` : nothing}
      </div>
      ${again ? html`<div class="bar">
        ${state.startedAt ? html`<omnitalk-timer .since=${state.startedAt} .until=${state.endedAt}></omnitalk-timer>` : nothing}
        <button class="button quiet" @click=${() => { this.session = null; this.#phase = "idle"; this.problem = null; this.requestUpdate(); }}>${icons.sliders}${strings.changeSettings}</button>
        <button class="button quiet" @click=${() => this.#log?.toggle()}>${icons.list}${strings.log.open}</button>
      </div>` : html`<div class="bar"><button class="button quiet" @click=${() => void this.#help()}>${icons.keyboard}${strings.shortcuts.open}</button></div>`}`;
  }

  /** @param {CallState | null} state */
  #alert(state) {
    const problem = state?.error ?? this.problem;
    if (problem) {
      const {title, message, action} = typeof problem === "string" ? {title: "", message: problem, action: "none"} : problem;
      const label = /** @type {Record<string, string>} */ (strings.actions)[action];
      const act = () => {
        if (action === "unblock_audio") void this.session?.unblockAudio();
        else this.showSound = true;
        this.problem = null;
      };
      const useful = label && GOING.has(this.#phase); // outside a call the big button tries again
      return html`<div class="alert" role="alert" data-code=${typeof problem === "string" ? "" : problem.code}>${icons.warning}<p><strong>${title}</strong>${message}</p>${useful ? html`<button class="button" @click=${act}>${label}</button>` : nothing}</div>`;
    }
    if (state?.audioBlocked) return html`<div class="alert warn" role="alert">${icons.speaker}<p>${strings.audioBlocked}</p><button class="button" @click=${() => void this.session?.unblockAudio()}>${strings.actions.unblock_audio}</button></div>`;
    if (state?.notice && GOING.has(state.phase)) return html`<div class="alert warn" role="status">${icons.warning}<p>${state.notice.message}</p></div>`;
    return nothing;
  }

  /** @param {CallState} state */
  #controls(state) {
    const manual = this.#chosen.turnControl === "manual";
    if (!TALKING.has(state.phase)) return html`<button class="button" @click=${() => this.#act("end")}>${icons.cross}${strings.cancel}</button>`;
    const memory = state.context ? Math.round((100 * state.context.usedTokens) / Math.max(1, state.context.maxTokens)) : null;
    return html`
      ${this.showSound ? html`<div class="card sound"><omnitalk-devices .microphone=${this.choices.microphone ?? ""} .speaker=${this.choices.speaker ?? ""} @pick=${this.#pick}></omnitalk-devices></div>` : nothing}
      ${callControls({state, manual, sees: this.#sees, act: (what) => this.#act(what)})}
      ${manual ? html`<p class="push">${strings.controls.pushToTalk}</p>` : nothing}
      <div class="bar ${memory === null ? "" : "full"}">
        <omnitalk-timer .since=${state.startedAt}></omnitalk-timer>
        ${memory === null ? nothing : html`<span>${strings.context(memory)}</span>`}
        ${this.#sees && "getDisplayMedia" in (navigator.mediaDevices ?? {}) ? html`<button class="button quiet" aria-pressed=${state.pictures?.kind === "screen"} @click=${() => this.#act("screen")}>${icons.screen}<span class="name">${strings.pictures.screen}</span></button>` : nothing}
        <button class="button quiet" aria-expanded=${this.showSound} @click=${() => { this.showSound = !this.showSound; }}>${icons.speaker}<span class="name">${strings.devices.title}</span></button>
        <button class="button quiet" @click=${() => this.#figures?.toggle()}>${icons.pulse}<span class="name">${strings.figures.open}</span></button>
        <button class="button quiet" @click=${() => this.#log?.toggle()}>${icons.list}<span class="name">${strings.log.open}</span></button>
        <button class="button quiet keys" aria-label=${strings.shortcuts.open} @click=${() => void this.#help()}>${icons.keyboard}</button>
      </div>`;
  }

  /** @param {boolean} going */
  #talk(going) {
    const types = (this.#data?.controls ?? []).includes("text");
    return html`<div class="card talk"><omnitalk-transcript .entries=${this.session?.transcript ?? []} .canType=${types && going} .live=${this.#phase === "live"}
      @say=${(/** @type {CustomEvent<string>} */ event) => this.session?.sendText(event.detail)}></omnitalk-transcript></div>`;
  }

  #preparation() {
    const data = this.#data;
    const devices = /** @type {{refresh: () => void} | null} */ (/** @type {unknown} */ (this.renderRoot.querySelector("omnitalk-devices")));
    return html`
      <div class="card"><h2>${strings.check.title}</h2>
        <omnitalk-check .microphone=${this.choices.microphone ?? ""} @microphone-allowed=${() => devices?.refresh()}></omnitalk-check></div>
      ${data ? html`<div class="card"><h2>${strings.settings.title}</h2><div class="form">${settings({
        profile: data, voices: /** @type {string[]} */ (this.config?.engine?.voices ?? []), needsVoice: this.config?.engine?.needs_reference_voice === true, sees: this.#sees,
        choosePath: Boolean(this.config?.webrtc) && !this.transport, choices: this.choices,
        change: (patch) => { this.choices = {...this.choices, ...patch}; this.problem = null; },
      })}</div></div>` : nothing}
      <div class="card"><h2>${strings.devices.title}</h2>
        <omnitalk-devices .microphone=${this.choices.microphone ?? ""} .speaker=${this.choices.speaker ?? ""} @pick=${this.#pick}></omnitalk-devices></div>`;
  }
}
customElements.define("omnitalk-call", OmnitalkCall);

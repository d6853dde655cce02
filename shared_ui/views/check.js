import {LitElement, html, css, nothing} from "../vendor/lit.js";
import {tokens, base} from "../styles/tokens.js";
import {controls} from "../styles/controls.js";
import {icons} from "./icons.js";
import "./meter.js";
import {strings} from "./strings.js";

/** Louder than this (peak, 0 to 1) counts as being heard: some 30 dB below full scale, a person at arm's length. */
const HEARD = 0.03;

/** The check before a call: a secure page, a microphone, a level. It frees the microphone when it stops or leaves the page. */
export class PreCallCheck extends LitElement {
  /** @override */
  static properties = {microphone: {type: String}, permission: {state: true}, testing: {state: true}, heard: {state: true}};

  /** @override */
  static styles = [tokens, base, controls, css`
    ul { display: grid; gap: 12px; margin-bottom: 16px; }
    li { display: grid; grid-template-columns: 26px 1fr; gap: 2px 12px; align-items: center; }
    .badge { display: grid; place-items: center; width: 26px; height: 26px; border-radius: 50%; background: var(--well); color: var(--muted); grid-row: span 2; align-self: start; font-size: 0.75rem; }
    .badge.ok { background: var(--accent-soft); color: var(--accent); }
    .badge.bad { background: var(--bad-soft); color: var(--bad); }
    strong { font-weight: 600; font-size: 0.9375rem; }
    li p { font-size: 0.875rem; color: var(--muted); line-height: 1.4; grid-column: 2; }
    omnitalk-meter { margin-top: 8px; }
    .button { width: 100%; }
  `];

  constructor() {
    super();
    this.microphone = "";
    /** @type {"open" | "ok" | "bad" | "none"} */
    this.permission = "open";
    this.testing = false;
    this.heard = false;
  }

  /** @type {MediaStream | null} */ #stream = null;
  /** @type {AudioContext | null} */ #context = null;
  #read = () => 0;

  /** @override */
  async connectedCallback() {
    super.connectedCallback();
    try {
      const status = await navigator.permissions.query({name: /** @type {PermissionName} */ ("microphone")});
      const take = () => { if (!this.testing) this.permission = status.state === "granted" ? "ok" : status.state === "denied" ? "bad" : "open"; };
      status.onchange = take;
      take();
    } catch {
      this.permission = "open"; // this browser does not tell before it is asked
    }
  }

  /** @override */
  disconnectedCallback() {
    super.disconnectedCallback();
    this.stop();
  }

  stop() {
    for (const track of this.#stream?.getTracks() ?? []) track.stop();
    void this.#context?.close();
    this.#stream = this.#context = null;
    this.#read = () => 0;
    this.testing = false;
  }

  async #test() {
    if (this.testing) return this.stop();
    this.testing = true;
    this.heard = false;
    try {
      const device = this.microphone ? {deviceId: {exact: this.microphone}} : {};
      const stream = await navigator.mediaDevices.getUserMedia({audio: {echoCancellation: true, noiseSuppression: true, autoGainControl: true, ...device}});
      if (!this.testing || !this.isConnected) return stream.getTracks().forEach((track) => track.stop());
      this.#stream = stream;
      this.#context = new AudioContext();
      const analyser = this.#context.createAnalyser();
      analyser.fftSize = 1024;
      this.#context.createMediaStreamSource(stream).connect(analyser);
      const samples = new Float32Array(analyser.fftSize);
      this.#read = () => {
        analyser.getFloatTimeDomainData(samples);
        const peak = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
        if (peak > HEARD) this.heard = true;
        return Math.min(1, peak);
      };
      this.permission = "ok";
      this.dispatchEvent(new Event("microphone-allowed"));
    } catch (error) {
      this.permission = error instanceof DOMException && error.name === "NotFoundError" ? "none" : "bad";
      this.stop();
    }
  }

  /** @param {"ok" | "bad" | "open"} state @param {string} name @param {string} line @param {unknown} more */
  #item(state, name, line, more = nothing) {
    const s = strings.check;
    const icon = {ok: icons.check, bad: icons.cross, open: icons.dot}[state];
    return html`<li><span class="badge ${state}">${icon}<span class="visually-hidden">${s[state]}</span></span>
      <strong>${name}</strong><p>${line}</p>${more}</li>`;
  }

  /** @override */
  render() {
    const s = strings.check;
    const secure = window.isSecureContext;
    const mic = {open: s.micAsk, ok: s.micOk, bad: s.micBad, none: s.micNone}[this.permission];
    const level = this.heard ? s.levelOk : this.testing ? s.levelQuiet : s.levelIdle;
    return html`<ul aria-live="polite">
        ${this.#item(secure ? "ok" : "bad", s.secure, secure ? s.secureOk : s.secureBad)}
        ${this.#item(this.permission === "none" ? "bad" : this.permission, s.mic, mic)}
        ${this.#item(this.heard ? "ok" : "open", s.level, level)}
      </ul>
      ${this.testing ? html`<omnitalk-meter label=${strings.meters.youLabel} .read=${() => this.#read()}></omnitalk-meter><p>&nbsp;</p>` : nothing}
      <button class="button" ?disabled=${!secure} @click=${this.#test}>${this.testing ? icons.pause : icons.mic}${this.testing ? s.stop : s.test}</button>`;
  }
}
customElements.define("omnitalk-check", PreCallCheck);

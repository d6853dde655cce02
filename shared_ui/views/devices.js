import {LitElement, html, css} from "../vendor/lit.js";
import {tokens, base} from "../styles/tokens.js";
import {controls} from "../styles/controls.js";
import {strings} from "./strings.js";

/** Pickers of the microphone and the speaker. Fires `pick` with `{kind: "microphone" | "speaker", deviceId}`; follows what is plugged in. */
export class DevicePickers extends LitElement {
  /** @override */
  static properties = {microphone: {type: String}, speaker: {type: String}, devices: {state: true}};

  /** @override */
  static styles = [tokens, base, controls, css`
    :host { display: grid; gap: 14px; }
  `];

  constructor() {
    super();
    this.microphone = "";
    this.speaker = "";
    /** @type {MediaDeviceInfo[]} */
    this.devices = [];
  }

  #refresh = () => void this.refresh();

  /** @override */
  connectedCallback() {
    super.connectedCallback();
    navigator.mediaDevices?.addEventListener("devicechange", this.#refresh);
    this.#refresh();
  }

  /** @override */
  disconnectedCallback() {
    super.disconnectedCallback();
    navigator.mediaDevices?.removeEventListener("devicechange", this.#refresh);
  }

  /** Reads the list again; names come only once the microphone was allowed. */
  async refresh() {
    this.devices = (await navigator.mediaDevices?.enumerateDevices()) ?? [];
  }

  /** @param {"microphone" | "speaker"} kind @param {MediaDeviceInfo[]} found @param {string} chosen @param {(n: number) => string} unnamed */
  #picker(kind, found, chosen, unnamed) {
    const s = strings.devices;
    const pick = (/** @type {Event} */ event) => {
      const deviceId = /** @type {HTMLSelectElement} */ (event.target).value;
      this[kind] = deviceId;
      this.dispatchEvent(new CustomEvent("pick", {detail: {kind, deviceId}}));
    };
    const listed = found.filter((device) => device.deviceId && device.deviceId !== "default" && device.deviceId !== "communications");
    return html`<div class="field"><label for=${kind}>${s[kind]}</label>
      <select id=${kind} @change=${pick}>
        <option value="" ?selected=${!chosen}>${s.standard}</option>
        ${listed.map((device, i) => html`<option value=${device.deviceId} ?selected=${device.deviceId === chosen}>${device.label || unnamed(i + 1)}</option>`)}
      </select></div>`;
  }

  /** @override */
  render() {
    const s = strings.devices;
    const of = (/** @type {MediaDeviceKind} */ kind) => this.devices.filter((device) => device.kind === kind);
    const canChoose = "setSinkId" in AudioContext.prototype;
    return html`${this.#picker("microphone", of("audioinput"), this.microphone, s.unnamedMic)}
      ${canChoose ? this.#picker("speaker", of("audiooutput"), this.speaker, s.unnamedSpeaker)
        : html`<div class="field"><span class="label">${s.speaker}</span><span class="hint">${s.noSpeakerChoice}</span></div>`}`;
  }
}
customElements.define("omnitalk-devices", DevicePickers);

import {LitElement, html, css, nothing} from "../vendor/lit.js";
import {tokens, base} from "../styles/tokens.js";
import {controls} from "../styles/controls.js";
import {icons} from "./icons.js";
import {strings} from "./strings.js";

/**
 * What the model is shown: the live picture, and in its corner the last one that was sent.
 * @import { CallSession } from '../core/session.js'
 * @import { CallState } from '../types.js'
 */
export class PicturePreview extends LitElement {
  /** @override */
  static properties = {session: {attribute: false}, state: {attribute: false}, sent: {state: true}};

  /** @override */
  static styles = [tokens, base, controls, css`
    :host { display: block; width: min(300px, 100%); }
    figure { position: relative; margin: 0; border-radius: 16px; overflow: hidden; background: var(--well); border: 1px solid var(--line); aspect-ratio: 16 / 9; }
    video { width: 100%; height: 100%; object-fit: cover; display: block; }
    video.mirror { transform: scaleX(-1); }
    video.whole { object-fit: contain; }
    img { position: absolute; right: 8px; bottom: 8px; width: 30%; border-radius: 8px; border: 2px solid var(--panel); display: block; }
    .bar { position: absolute; left: 8px; top: 8px; display: flex; gap: 6px; }
    .bar button { display: grid; place-items: center; width: 40px; height: 40px; border: 0; border-radius: 50%; background: color-mix(in srgb, var(--panel) 88%, transparent); color: var(--ink); }
    figcaption { position: absolute; left: 8px; bottom: 8px; padding: 2px 8px; border-radius: 999px; background: color-mix(in srgb, var(--panel) 88%, transparent); color: var(--ink); font-size: 0.75rem; }
  `];

  constructor() {
    super();
    /** @type {CallSession | null} */ this.session = null;
    /** @type {CallState | null} */ this.state = null;
    this.sent = "";
  }

  /** @type {CallSession | null} */ #heard = null;
  #onPicture = (/** @type {Event} */ event) => {
    URL.revokeObjectURL(this.sent);
    this.sent = URL.createObjectURL(/** @type {CustomEvent<Blob>} */ (event).detail);
  };

  /** @override */
  disconnectedCallback() {
    super.disconnectedCallback();
    this.#heard?.removeEventListener("picture", this.#onPicture);
    this.#heard = null;
    URL.revokeObjectURL(this.sent);
    this.sent = "";
  }

  /** @override */
  updated() {
    if (this.#heard !== this.session) {
      this.#heard?.removeEventListener("picture", this.#onPicture);
      this.session?.addEventListener("picture", this.#onPicture);
      this.#heard = this.session;
    }
    const video = this.renderRoot.querySelector("video");
    const stream = this.session?.pictureStream ?? null;
    if (video && video.srcObject !== stream) video.srcObject = stream;
  }

  #flip() {
    const pictures = this.state?.pictures;
    void this.session?.setPictures("camera", {facing: pictures?.facing === "environment" ? "user" : "environment"});
  }

  /** @override */
  render() {
    const pictures = this.state?.pictures;
    if (!pictures) return nothing;
    const s = strings.pictures;
    const screen = pictures.kind === "screen";
    return html`<figure>
      <video class=${screen ? "whole" : pictures.facing === "environment" ? "" : "mirror"} autoplay muted playsinline .muted=${true} aria-label=${screen ? s.screenLabel : s.cameraLabel}></video>
      <div class="bar">
        ${screen ? nothing : html`<button aria-label=${s.flip} title=${s.flip} @click=${this.#flip}>${icons.flip}</button>`}
        <button aria-label=${s.stop} title=${s.stop} @click=${() => void this.session?.setPictures("off")}>${icons.cross}</button>
      </div>
      ${this.sent ? html`<img src=${this.sent} alt=${s.sentLabel}>` : html`<figcaption>${s.soon}</figcaption>`}
    </figure>`;
  }
}
customElements.define("omnitalk-preview", PicturePreview);

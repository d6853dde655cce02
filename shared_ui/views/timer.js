import {LitElement, html, css} from "../vendor/lit.js";
import {strings} from "./strings.js";

/** Minutes and seconds since `since` (epoch ms), or until `until` when the call is over. */
export class CallTimer extends LitElement {
  /** @override */
  static properties = {since: {attribute: false}, until: {attribute: false}};
  /** @override */
  static styles = css`:host { font-variant-numeric: tabular-nums; }`;

  constructor() {
    super();
    /** @type {number | null} */ this.since = null;
    /** @type {number | null} */ this.until = null;
  }

  #tick = 0;

  /** @override */
  connectedCallback() {
    super.connectedCallback();
    this.#tick = window.setInterval(() => this.requestUpdate(), 1000);
  }

  /** @override */
  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.#tick);
  }

  /** @override */
  render() {
    const seconds = this.since ? Math.max(0, Math.floor(((this.until ?? Date.now()) - this.since) / 1000)) : 0;
    const [minutes, rest] = [Math.floor(seconds / 60), String(seconds % 60).padStart(2, "0")];
    return html`<span role="timer" aria-label=${strings.elapsed}>${minutes}:${rest}</span>`;
  }
}
customElements.define("omnitalk-timer", CallTimer);

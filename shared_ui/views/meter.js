import {LitElement, html, css} from "../vendor/lit.js";
import {tokens, base} from "../styles/tokens.js";

/** A level, 0 to 1, as a row that fills; `read` is asked every frame. Screen readers get a value four times a second at most. */
export class LevelMeter extends LitElement {
  /** @override */
  static properties = {label: {type: String}, tone: {type: String, reflect: true}};

  /** @override */
  static styles = [tokens, base, css`
    :host { display: block; }
    .meter { height: 6px; border-radius: 3px; background: var(--line); overflow: hidden; }
    .fill { height: 100%; width: 100%; transform-origin: left; transform: scaleX(0); background: var(--you); border-radius: 3px; }
    :host([tone="model"]) .fill { background: var(--model); }
  `];

  constructor() {
    super();
    this.label = "";
    this.tone = "you";
    /** @type {() => number} */
    this.read = () => 0;
  }

  #frame = 0;
  #shown = 0;
  #told = -1;

  /** @override */
  connectedCallback() {
    super.connectedCallback();
    const draw = (/** @type {number} */ now) => {
      this.#frame = requestAnimationFrame(draw);
      // The root makes quiet speech visible: a level is linear, an ear is not.
      const level = Math.sqrt(Math.max(0, Math.min(1, this.read())));
      this.#shown = level > this.#shown ? level : this.#shown * 0.86;
      const fill = /** @type {HTMLElement | null} */ (this.renderRoot.querySelector(".fill"));
      fill?.style.setProperty("transform", `scaleX(${this.#shown.toFixed(3)})`);
      if (now - this.#told > 250) {
        this.#told = now;
        fill?.parentElement?.setAttribute("aria-valuenow", String(Math.round(this.#shown * 100)));
      }
    };
    this.#frame = requestAnimationFrame(draw);
  }

  /** @override */
  disconnectedCallback() {
    super.disconnectedCallback();
    cancelAnimationFrame(this.#frame);
  }

  /** @override */
  render() {
    return html`<div class="meter" role="meter" aria-label=${this.label} aria-valuemin="0" aria-valuemax="100" aria-valuenow="0"><div class="fill"></div></div>`;
  }
}
customElements.define("omnitalk-meter", LevelMeter);

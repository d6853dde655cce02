import {LitElement, html, css} from "../vendor/lit.js";
import {tokens, base} from "../styles/tokens.js";

/**
 * A quiet picture of what the model does. `mode` chooses the movement; `levels` (`{mic, speaker}`, 0 to 1, read every frame) moves it.
 * It is decoration: the words beside it say the same, so it is hidden from assistive technology.
 */
export class CallOrb extends LitElement {
  /** @override */
  static properties = {mode: {type: String, reflect: true}, label: {type: String}};

  /** @override */
  static styles = [tokens, base, css`
    :host { --size: 232px; display: grid; place-items: center; width: var(--size); height: var(--size); }
    .orb { position: relative; width: 100%; height: 100%; --you-level: 0; --model-level: 0; display: grid; place-items: center; }
    .orb > * { grid-area: 1 / 1; border-radius: 50%; }
    .halo, .ring, .arc { width: 66%; height: 66%; }
    .halo { background: var(--tone); opacity: 0.1; transform: scale(calc(1 + 0.48 * var(--level))); transition: background-color 300ms, opacity 300ms; }
    .halo.far { opacity: 0.07; transform: scale(calc(1.14 + 0.36 * var(--level))); }
    .ring { border: 1.5px solid var(--tone); opacity: 0.3; transform: scale(1.22); transition: border-color 300ms, opacity 300ms; }
    .core { width: 56%; height: 56%; background: radial-gradient(circle at 34% 28%, color-mix(in srgb, var(--tone) 62%, white), var(--tone) 66%, color-mix(in srgb, var(--tone) 84%, black));
      transform: scale(calc(1 + 0.1 * var(--level))); transition: opacity 300ms, filter 300ms; box-shadow: 0 14px 40px color-mix(in srgb, var(--tone) 26%, transparent); }
    .arc { border: 3px solid transparent; border-top-color: var(--tone); transform: scale(1.04); opacity: 0; transition: opacity 200ms; }
    .mark { color: light-dark(#fff, #0c1512); font-size: calc(var(--size) * 0.17); font-weight: 650; z-index: 1; letter-spacing: -0.02em; display: flex; gap: 0.2em; }
    .bar { width: 0.19em; height: 0.85em; border-radius: 0.1em; background: currentColor; }
    .orb { --tone: var(--model); --level: 0; }
    :host([mode="idle"]) .core, :host([mode="listening"]) .core { animation: breathe 5.2s ease-in-out infinite; }
    :host([mode="listening"]) .orb { --level: calc(var(--you-level) * 0.6); }
    :host([mode="hearing"]) .orb { --tone: var(--you); --level: var(--you-level); }
    :host([mode="speaking"]) .orb { --level: var(--model-level); }
    :host([mode="ducked"]) .orb { --level: calc(var(--model-level) * 0.5); }
    :host([mode="ducked"]) .core { opacity: 0.5; }
    :host([mode="ducked"]) .ring { border-color: var(--you); opacity: 0.9; }
    :host(:is([mode="thinking"], [mode="connecting"], [mode="checking"], [mode="closing"])) .arc { opacity: 0.9; animation: turn 1.3s linear infinite; }
    :host([mode="reconnecting"]) .orb { --tone: var(--warn); }
    :host([mode="reconnecting"]) .core { opacity: 0.55; }
    :host([mode="reconnecting"]) .ring { border-style: dashed; opacity: 0.9; animation: turn-wide 9s linear infinite; }
    :host([mode="queued"]) .ring { border-style: dotted; border-width: 3px; opacity: 0.6; animation: turn-wide 24s linear infinite; }
    :host([mode="held"]) .orb { --tone: var(--edge); }
    :host([mode="ended"]) .orb { --tone: var(--edge); }
    :host([mode="ended"]) .core { opacity: 0.35; box-shadow: none; }
    :host([mode="failed"]) .orb { --tone: var(--bad); }
    :host([mode="failed"]) .core { opacity: 0.6; box-shadow: none; }
    @keyframes breathe { 50% { transform: scale(1.035); } }
    @keyframes turn { to { transform: scale(1.04) rotate(1turn); } }
    @keyframes turn-wide { from { transform: scale(1.22) rotate(0); } to { transform: scale(1.22) rotate(1turn); } }
  `];

  constructor() {
    super();
    this.mode = "idle";
    /** What the middle says, such as a place in line. */
    this.label = "";
    /** @type {() => {mic: number, speaker: number}} */
    this.levels = () => ({mic: 0, speaker: 0});
  }

  #frame = 0;
  #you = 0;
  #model = 0;

  /** @override */
  connectedCallback() {
    super.connectedCallback();
    const draw = () => {
      this.#frame = requestAnimationFrame(draw);
      const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
      const {mic, speaker} = still ? {mic: 0, speaker: 0} : this.levels();
      this.#you += (Math.sqrt(mic) - this.#you) * 0.3;
      this.#model += (Math.sqrt(speaker) - this.#model) * 0.3;
      const orb = /** @type {HTMLElement | null} */ (this.renderRoot.querySelector(".orb"));
      orb?.style.setProperty("--you-level", this.#you.toFixed(3));
      orb?.style.setProperty("--model-level", this.#model.toFixed(3));
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
    const held = this.mode === "held";
    return html`<div class="orb" aria-hidden="true">
      <div class="halo far"></div><div class="halo"></div><div class="ring"></div><div class="arc"></div><div class="core"></div>
      <div class="mark">${held ? html`<span class="bar"></span><span class="bar"></span>` : this.label}</div>
    </div>`;
  }
}
customElements.define("omnitalk-orb", CallOrb);

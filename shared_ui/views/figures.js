import {LitElement, html, css, nothing} from "../vendor/lit.js";
import {tokens, base} from "../styles/tokens.js";
import {controls} from "../styles/controls.js";
import {icons} from "./icons.js";
import {save} from "./save.js";
import {strings} from "./strings.js";
import {timeline} from "./timeline.js";

/**
 * A drawer with the call's figures, a picture of who spoke when, and both as JSON.
 * @import { CallSession } from '../core/session.js'
 * @import { Figures, LoopbackResult } from '../types.js'
 */
export class FiguresDrawer extends LitElement {
  /** @override */
  static properties = {session: {attribute: false}, figures: {state: true}, result: {state: true}, testing: {state: true}, problem: {state: true}};

  /** @override */
  static styles = [tokens, base, controls, css`
    dialog { position: fixed; inset: 0 0 0 auto; margin: 0; width: min(480px, 100vw); height: 100dvh; max-height: none; max-width: none; padding: 0 0 20px; border: 0; border-left: 1px solid var(--line); background: var(--panel); color: var(--ink); box-shadow: var(--shadow); overflow: auto; }
    dialog::backdrop { background: transparent; }
    header { display: flex; align-items: center; gap: 8px; padding: 14px 12px 10px 20px; position: sticky; top: 0; background: var(--panel); }
    h2 { flex: 1; font-size: 1.05rem; font-weight: 650; }
    .why { padding: 0 20px 12px; color: var(--muted); font-size: 0.875rem; }
    figure { padding: 4px 20px 14px; }
    .key { display: flex; flex-wrap: wrap; gap: 4px 14px; font-size: 0.75rem; color: var(--muted); margin-top: 6px; }
    .key span::before { content: ""; display: inline-block; width: 9px; height: 9px; border-radius: 3px; margin-right: 5px; background: var(--c); }
    .k-you { --c: var(--you); } .k-model { --c: var(--accent); } .k-duck { --c: var(--warn); } .k-cut { --c: var(--bad); }
    svg { display: block; width: 100%; height: 96px; }
    .ground { fill: var(--well); } .you { fill: var(--you); } .model { fill: var(--accent); }
    .mark line { stroke: var(--m); stroke-width: 1.5; vector-effect: non-scaling-stroke; } .mark circle { fill: var(--m); }
    .mark { --m: var(--muted); } .cut { --m: var(--bad); } .mark.duck, .mark.unduck { --m: var(--warn); } .gap { --m: var(--bad-fill); }
    dl { display: grid; grid-template-columns: 1fr auto; padding: 0 20px; font-size: 0.875rem; }
    dt, dd { padding: 7px 0; border-bottom: 1px solid var(--line); }
    dd { text-align: right; font-variant-numeric: tabular-nums; }
    dd.none { color: var(--muted); }
    .bar { display: flex; flex-wrap: wrap; gap: 8px; padding: 16px 20px 0; }
    .result { padding: 10px 20px 0; font-size: 0.875rem; color: var(--muted); }
  `];

  constructor() {
    super();
    /** @type {CallSession | null} */
    this.session = null;
    /** @type {Figures | null} */
    this.figures = null;
    /** @type {LoopbackResult | null} */
    this.result = null;
    this.testing = false;
    this.problem = "";
  }

  #timer = 0;

  get #dialog() {
    return /** @type {HTMLDialogElement} */ (this.renderRoot.querySelector("dialog"));
  }

  get isOpen() {
    return this.#dialog?.open ?? false;
  }

  toggle() {
    if (this.isOpen) return this.#dialog.close();
    // Not modal: a person watches the figures while they talk and use the buttons.
    this.#dialog.show();
    void this.#read();
    this.#timer = window.setInterval(() => void this.#read(), 500);
  }

  async #read() {
    this.figures = (await this.session?.figures()) ?? null;
    this.requestUpdate();
  }

  /** @override */
  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.#timer);
  }

  /** Mouth to ear without a mouth and an ear: over the path that this call uses. */
  async #test() {
    const {session} = this;
    if (!session || this.testing) return;
    this.testing = true;
    this.problem = "";
    try {
      const {loopback} = await import("../core/loopback.js");
      const startBufferMs = session.profile.playback.startBufferMs;
      this.result = await loopback({config: session.config, baseUrl: session.options.baseUrl ?? document.baseURI, path: session.state.transport.kind, startBufferMs});
    } catch (error) {
      this.problem = strings.figures.testFailed(error instanceof Error ? error.message : String(error));
    } finally {
      this.testing = false;
    }
  }

  #export() {
    const data = {figures: this.figures, loopback: this.result, timeline: this.session?.timeline.data ?? null, state: this.session?.state ?? null};
    save("call.json", "application/json", JSON.stringify(data, null, 2));
  }

  /** @override */
  render() {
    const s = strings.figures;
    const {figures, session} = this;
    const rows = figures ? /** @type {[keyof Figures, string][]} */ (Object.entries(s.rows)).map(([name, label]) => {
      const value = figures[name];
      return html`<dt>${label}</dt><dd data-figure=${name} class=${value === null ? "none" : ""}>${value === null ? s.notAvailable : s.value(name, value)}</dd>`;
    }) : nothing;
    return html`<dialog aria-labelledby="title" @close=${() => clearInterval(this.#timer)} @keydown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && this.#dialog.close()}>
      <header><h2 id="title">${s.title}</h2><button class="button quiet" aria-label=${s.close} @click=${() => this.toggle()}>${icons.cross}</button></header>
      ${figures ? html`<p class="why">${s.why(figures.path, figures.why)}</p>` : nothing}
      ${session ? html`<figure>${timeline(session.timeline.data, session.now)}
        <div class="key"><span class="k-you">${strings.meters.you}</span><span class="k-model">${strings.meters.model}</span><span class="k-duck">${s.marks.duck}</span><span class="k-cut">${s.marks.cut}</span></div></figure>` : nothing}
      <dl>${rows}</dl>
      <div class="bar"><button class="button" ?disabled=${!figures} @click=${() => this.#export()}>${icons.save}${s.save}</button>${session?.config.loopback ? html`<button class="button" ?disabled=${this.testing} @click=${() => void this.#test()}>${icons.speaker}${s.test}</button>` : nothing}</div>
      <p class="result" role="status" data-figure="loopback">${this.testing ? s.testing : this.problem ? this.problem : this.result ? s.result(this.result) : ""}</p>
    </dialog>`;
  }
}
customElements.define("omnitalk-figures", FiguresDrawer);

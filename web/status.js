import {LitElement, html, css, nothing} from "./shared_ui/vendor/lit.js";
import {tokens, base} from "./shared_ui/styles/tokens.js";
import {controls} from "./shared_ui/styles/controls.js";

/** @import { Config } from '../shared_ui/types.js' */

const EVERY_MS = 2000;

/** What this server is: the engine, how ready it is, its limits. Reads the config again while it is looked at. */
export class OmnitalkStatus extends LitElement {
  /** @override */
  static properties = {config: {attribute: false}, active: {type: Boolean}, gone: {state: true}};

  /** @override */
  static styles = [tokens, base, controls, css`
    :host { display: block; max-width: 860px; margin: 0 auto; padding: 28px 24px; color: var(--ink); font: 1rem/1.5 var(--font); }
    .cards { display: grid; gap: 16px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 340px), 1fr)); align-items: start; }
    .lead { grid-column: 1 / -1; }
    .state { display: flex; align-items: center; gap: 10px; font-weight: 600; }
    .state i { width: 11px; height: 11px; border-radius: 50%; background: var(--warn); flex: none; }
    .state.ok i { background: var(--accent); }
    .state.bad i { background: var(--bad); }
    h2.model { font-size: 1.375rem; letter-spacing: -0.015em; margin: 6px 0 4px; overflow-wrap: anywhere; }
    progress { width: 100%; margin-top: 12px; accent-color: var(--accent); }
    dl { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 10px 16px; font-size: 0.9375rem; }
    dt { color: var(--muted); }
    dd { text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
  `];

  constructor() {
    super();
    /** @type {Config | null} */ this.config = null;
    this.active = false;
    this.gone = false;
  }

  #poll = 0;

  /** @override @param {Map<string, unknown>} changed */
  updated(changed) {
    if (!changed.has("active")) return;
    clearTimeout(this.#poll);
    if (this.active) void this.#read();
  }

  /** @override */
  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.#poll);
  }

  async #read() {
    try {
      const answer = await fetch("config", {cache: "no-store"});
      if (!answer.ok) throw new Error(String(answer.status));
      this.config = await answer.json();
      this.gone = false;
    } catch {
      this.gone = true; // said below
    }
    if (this.active && this.isConnected) this.#poll = window.setTimeout(() => void this.#read(), EVERY_MS);
  }

  /** @override */
  render() {
    const config = this.config;
    const ready = config?.ready;
    const [tone, words] = this.gone ? ["bad", "The server does not answer"] : !ready ? ["", "Asking the server"] : ready.problem ? ["bad", ready.problem]
      : ready.ready ? ["ok", "Ready for calls"] : ["", `Getting ready${ready.stage ? `: ${ready.stage}` : ""}`];
    const engine = /** @type {Record<string, any>} */ (config?.engine ?? {});
    const profile = config?.profiles?.find((each) => each.id === config.profile);
    const hz = (/** @type {number} */ rate) => `${rate / 1000} kHz`;
    return html`<div class="cards">
      <div class="card lead">
        <p class="state ${tone}" role="status"><i></i>${words}</p>
        ${ready && !ready.ready && !ready.problem ? html`<progress aria-label="How far the model is loaded" .value=${ready.progress ?? 0} max="1"></progress>` : nothing}
        ${config ? html`<h2 class="model">${engine.model}</h2><p class="muted">${engine.honest || profile?.honest}</p><p class="muted">${profile?.limits}</p>` : nothing}
      </div>
      ${config ? html`${this.#card("Engine", [
          ["Engine", engine.name], ["Profile", profile?.title], ["Who ends a turn", (engine.turns ?? []).map((/** @type {string} */ turn) => TURNS[turn] ?? turn).join(", ")],
          ["Sound in / out", `${hz(engine.input_rate)} / ${hz(engine.output_rate)}`], ["Model step", engine.unit_ms ? `${engine.unit_ms} ms` : "none"],
          ["Sees pictures", engine.sees ? "yes" : "no"], ["Takes typed text", engine.text_input ? "yes" : "no"], ["Writes down what you say", engine.transcribes_user ? "yes" : "no"],
        ])}
        ${this.#card("Server", [
          ["Omnitalk", config.version], ["Calls now", counted(ready, "calls", config.limits?.calls)], ["Waiting in line", counted(ready, "waiting", config.limits?.queue)],
          ["A lost connection may return for", `${config.limits?.grace_s} s`], ["Largest event", `${Math.round(Number(config.limits?.max_event_bytes) / 2 ** 20)} MiB`],
        ])}` : nothing}
    </div>`;
  }

  /** @param {string} title @param {[string, unknown][]} rows */
  #card(title, rows) {
    return html`<div class="card"><h2>${title}</h2><dl>${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value ?? "—"}</dd>`)}</dl></div>`;
  }
}

/** @type {Record<string, string>} */
const TURNS = {server_vad: "a pause", manual: "you", model: "the model"};

/** @param {unknown} ready @param {string} key @param {unknown} most */
function counted(ready, key, most) {
  const now = /** @type {Record<string, unknown>} */ (ready ?? {})[key];
  return now === undefined ? undefined : `${now} of ${most}`;
}

customElements.define("omnitalk-status", OmnitalkStatus);

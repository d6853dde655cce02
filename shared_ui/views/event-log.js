import {LitElement, html, css, nothing, live} from "../vendor/lit.js";
import {tokens, base} from "../styles/tokens.js";
import {controls} from "../styles/controls.js";
import {icons} from "./icons.js";
import {save} from "./save.js";
import {strings} from "./strings.js";

/** A drawer with the call's last events, a filter and an export. @import { LogEntry } from '../types.js' */
export class EventLogDrawer extends LitElement {
  /** @override */
  static properties = {entries: {attribute: false}, startedAt: {attribute: false}, filter: {state: true}};

  /** @override */
  static styles = [tokens, base, controls, css`
    dialog { position: fixed; inset: 0 0 0 auto; margin: 0; width: min(560px, 100vw); height: 100dvh; max-height: none; max-width: none; padding: 0; border: 0; border-left: 1px solid var(--line); background: var(--panel); color: var(--ink); box-shadow: var(--shadow); }
    dialog[open] { display: flex; flex-direction: column; }
    dialog::backdrop { background: rgb(8 14 12 / 35%); }
    header { display: flex; align-items: center; gap: 8px; padding: 14px 12px 10px 20px; }
    h2 { flex: 1; font-size: 1.05rem; font-weight: 650; }
    .tools { display: grid; grid-template-columns: 1fr auto; gap: 8px; padding: 0 20px 12px; border-bottom: 1px solid var(--line); }
    .count { grid-column: 1 / -1; font-size: 0.8125rem; color: var(--muted); }
    ol { flex: 1; overflow: auto; padding: 8px 12px; }
    details { border-radius: 8px; }
    summary { display: grid; grid-template-columns: 5.2em 1.2em minmax(0, 1fr); gap: 6px; padding: 6px 8px; font: 0.8125rem/1.4 var(--mono); cursor: pointer; border-radius: 8px; list-style: none; }
    summary::-webkit-details-marker { display: none; }
    summary:hover { background: var(--well); }
    .time { color: var(--muted); text-align: right; font-variant-numeric: tabular-nums; }
    .out { color: var(--you); } .in { color: var(--accent); } .local { color: var(--muted); }
    .what { overflow-wrap: anywhere; }
    .what span { color: var(--muted); }
    pre { margin: 2px 8px 8px; padding: 10px 12px; background: var(--well); border-radius: 8px; font: 0.75rem/1.5 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; }
    .empty { padding: 24px; text-align: center; color: var(--muted); }
  `];

  constructor() {
    super();
    /** @type {readonly LogEntry[]} */
    this.entries = [];
    /** @type {number | null} */
    this.startedAt = null;
    this.filter = "";
  }

  get #dialog() {
    return /** @type {HTMLDialogElement} */ (this.renderRoot.querySelector("dialog"));
  }

  get isOpen() {
    return this.#dialog?.open ?? false;
  }

  toggle() {
    if (this.isOpen) this.#dialog.close();
    else {
      this.#dialog.showModal();
      this.requestUpdate();
    }
  }

  /** @param {LogEntry} entry */
  #row(entry) {
    const s = strings.log;
    const first = this.startedAt ?? this.entries[0]?.at ?? entry.at;
    const [arrow, said] = entry.direction === "out" ? ["↑", s.sent] : entry.direction === "in" ? ["↓", s.received] : ["·", s.local];
    return html`<li><details>
      <summary><span class="time">${((entry.at - first) / 1000).toFixed(2)} s</span><span class=${entry.direction}><span aria-hidden="true">${arrow}</span><span class="visually-hidden">${said}</span></span>
        <span class="what">${entry.type} <span>${entry.summary}</span></span></summary>
      <pre>${JSON.stringify(entry.event, null, 2)}</pre>
    </details></li>`;
  }

  /** @override */
  render() {
    const s = strings.log;
    const wanted = this.filter.trim().toLowerCase();
    const shown = this.isOpen ? this.entries.filter((entry) => !wanted || `${entry.type} ${entry.summary}`.toLowerCase().includes(wanted)) : [];
    return html`<dialog aria-labelledby="title">
      <header><h2 id="title">${s.title}</h2><button class="button quiet" aria-label=${s.close} @click=${() => this.toggle()}>${icons.cross}</button></header>
      <div class="tools">
        <input type="search" aria-label=${s.filter} placeholder=${s.filter} .value=${live(this.filter)} @input=${(/** @type {InputEvent} */ event) => { this.filter = /** @type {HTMLInputElement} */ (event.target).value; }} />
        <button class="button" ?disabled=${!this.entries.length} @click=${() => save("events.json", "application/json", JSON.stringify(this.entries, null, 2))}>${icons.save}${s.save}</button>
        <span class="count" role="status">${s.count(shown.length, this.entries.length)}</span>
      </div>
      <ol tabindex="0" aria-labelledby="title">${shown.length ? shown.map((entry) => this.#row(entry)) : html`<li class="empty">${this.entries.length ? s.none : s.empty}</li>`}</ol>
      ${nothing}
    </dialog>`;
  }
}
customElements.define("omnitalk-event-log", EventLogDrawer);

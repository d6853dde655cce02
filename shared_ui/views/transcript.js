import {LitElement, html, css, nothing, repeat} from "../vendor/lit.js";
import {tokens, base} from "../styles/tokens.js";
import {controls} from "../styles/controls.js";
import {icons} from "./icons.js";
import {save} from "./save.js";
import {strings} from "./strings.js";

/** What both sides said. What was cut off is struck through where the sound stopped. @import { TranscriptEntry } from '../types.js' */
export class CallTranscript extends LitElement {
  /** @override */
  static properties = {entries: {attribute: false}, canType: {type: Boolean}, live: {type: Boolean}, copied: {state: true}};

  /** @override */
  static styles = [tokens, base, controls, css`
    :host { display: flex; flex-direction: column; min-height: 0; }
    header { display: flex; align-items: center; justify-content: space-between; gap: 8px; padding: 14px 10px 8px 20px; }
    h2 { font-size: 1rem; font-weight: 650; }
    header div { display: flex; }
    .button.quiet { min-height: 36px; font-size: 0.875rem; }
    .lines { flex: 1; overflow-y: auto; padding: 6px 20px 16px; display: flex; flex-direction: column; gap: 12px; min-height: 0; overscroll-behavior: contain; }
    .empty { margin: auto; color: var(--muted); text-align: center; max-width: 24ch; line-height: 1.5; }
    .line { max-width: min(88%, 56ch); align-self: flex-start; }
    .who { font-size: 0.75rem; font-weight: 650; color: var(--accent); margin: 0 0 4px 14px; }
    .said { margin: 0; padding: 10px 14px; border-radius: 4px 16px 16px 16px; background: var(--accent-soft); line-height: 1.45; overflow-wrap: anywhere; }
    .line.user { align-self: flex-end; }
    .line.user .who { color: var(--you); text-align: right; margin: 0 14px 4px 0; }
    .line.user .said { background: var(--you-soft); border-radius: 16px 4px 16px 16px; }
    .line.open .said:not(:empty)::after { margin-left: 0.35em; }
    .line.open .said::after { content: ""; display: inline-block; width: 0.45em; height: 0.45em; border-radius: 50%; background: currentColor; opacity: 0.5; animation: pulse 1.2s ease-in-out infinite; }
    s { color: var(--muted); text-decoration-thickness: 1px; }
    .cut { font-size: 0.75rem; color: var(--muted); margin: 4px 14px 0; }
    form { display: grid; grid-template-columns: 1fr auto; gap: 8px; padding: 12px 14px; border-top: 1px solid var(--line); }
    form input { border-radius: 999px !important; padding-inline: 1em !important; }
    form .button { width: 42px; min-height: 42px; padding: 0; }
    :host { container-type: inline-size; }
    @container (max-width: 330px) { header { padding-inline: 16px 4px; } header .words { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); } .lines { padding-inline: 14px; } }
    @keyframes pulse { 50% { opacity: 0.1; } }
  `];

  constructor() {
    super();
    /** @type {readonly TranscriptEntry[]} */
    this.entries = [];
    this.canType = false;
    this.live = false;
    this.copied = "";
  }

  #atEnd = true;

  focusField() {
    /** @type {HTMLInputElement | null} */ (this.renderRoot.querySelector("input"))?.focus();
  }

  /** @override */
  willUpdate() {
    const lines = this.renderRoot.querySelector?.(".lines");
    if (lines) this.#atEnd = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 40;
  }

  /** @override */
  updated() {
    const lines = this.renderRoot.querySelector(".lines");
    if (lines && this.#atEnd) lines.scrollTop = lines.scrollHeight;
  }

  /** The conversation as plain text. */
  asText() {
    const s = strings.transcript;
    return this.entries.map((entry) => `${entry.role === "user" ? s.you : s.model}: ${entry.interrupted ? `${entry.heardText ?? entry.text} [${s.cut}]` : entry.text}`).join("\n");
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText(this.asText());
      this.copied = strings.transcript.copied;
    } catch {
      this.copied = strings.transcript.copyFailed; // the browser refused; the person sees it and can use Save
    }
  }

  /** @param {SubmitEvent} event */
  #send(event) {
    event.preventDefault();
    const field = /** @type {HTMLInputElement} */ (this.renderRoot.querySelector("input"));
    const text = field.value.trim();
    if (!text) return;
    this.dispatchEvent(new CustomEvent("say", {detail: text}));
    field.value = "";
    this.#atEnd = true;
  }

  /** @param {TranscriptEntry} entry */
  #line(entry) {
    const s = strings.transcript;
    const heard = entry.interrupted && entry.heardText !== undefined ? entry.heardText : entry.text;
    const unheard = entry.interrupted && entry.text.startsWith(heard) ? entry.text.slice(heard.length) : "";
    return html`<div class="line ${entry.role} ${entry.final ? "" : "open"}">
      <p class="who">${entry.role === "user" ? s.you : s.model}</p>
      <p class="said">${heard}${unheard ? html`<s>${unheard}</s>` : nothing}</p>
      ${entry.interrupted ? html`<p class="cut">${s.cut}</p>` : nothing}
    </div>`;
  }

  /** @override */
  render() {
    const s = strings.transcript;
    const none = this.entries.length === 0;
    return html`
      <header>
        <h2 id="title">${s.title}</h2>
        <div>
          <button class="button quiet" ?disabled=${none} @click=${this.#copy}>${icons.copy}<span class="words" aria-live="polite">${this.copied || s.copy}</span></button>
          <button class="button quiet" ?disabled=${none} @click=${() => save("conversation.txt", "text/plain", this.asText())}>${icons.save}<span class="words">${s.save}</span></button>
        </div>
      </header>
      <div class="lines" role="log" aria-labelledby="title" tabindex="0">
        ${none ? html`<p class="empty">${s.empty}</p>` : repeat(this.entries, (entry) => entry.id, (entry) => this.#line(entry))}
      </div>
      ${this.canType ? html`<form @submit=${this.#send}>
        <input type="text" name="say" aria-label=${s.say} placeholder=${s.say} autocomplete="off" maxlength="4000" ?disabled=${!this.live} />
        <button class="button primary" aria-label=${s.send} ?disabled=${!this.live}>${icons.send}</button>
      </form>` : nothing}`;
  }
}
customElements.define("omnitalk-transcript", CallTranscript);

import {LitElement, html, css} from "../vendor/lit.js";
import {tokens, base} from "../styles/tokens.js";
import {controls} from "../styles/controls.js";
import {icons} from "./icons.js";
import {strings} from "./strings.js";

/** What a key asks for, or null: no letter while the person types, nor with a modifier, nor when a dialog is open. @param {KeyboardEvent} event */
export function shortcut(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return null;
  const target = /** @type {HTMLElement | undefined} */ (event.composedPath()[0]);
  const typing = target?.matches?.("input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable]");
  if (event.key === "Escape") return "interrupt"; // writes nothing, so it works from the message field too
  if (typing) return null;
  // Space on a button presses the button.
  if (event.code === "Space") return target?.matches?.("button, a, summary, input, [role=tab]") ? null : "talk";
  return {m: "mute", h: "hold", e: "end", l: "log", t: "type", "?": "help"}[event.key.toLowerCase()] ?? null;
}

/** The list of keys. */
export class ShortcutsHelp extends LitElement {
  /** @override */
  static styles = [tokens, base, controls, css`
    dialog { margin: auto; width: min(420px, calc(100vw - 32px)); padding: 20px; border: 1px solid var(--line); border-radius: 18px; background: var(--panel); color: var(--ink); box-shadow: var(--shadow); }
    dialog::backdrop { background: rgb(8 14 12 / 35%); }
    header { display: flex; align-items: center; justify-content: space-between; margin: -6px -8px 10px 0; }
    h2 { font-size: 1.05rem; font-weight: 650; }
    dl { display: grid; grid-template-columns: auto 1fr; gap: 10px 16px; align-items: center; font-size: 0.9375rem; }
    p { margin-top: 16px; font-size: 0.8125rem; color: var(--muted); }
  `];

  get #dialog() {
    return /** @type {HTMLDialogElement} */ (this.renderRoot.querySelector("dialog"));
  }

  get isOpen() {
    return this.#dialog?.open ?? false;
  }

  toggle() {
    if (this.isOpen) this.#dialog.close();
    else this.#dialog.showModal();
  }

  /** @override */
  render() {
    const s = strings.shortcuts;
    return html`<dialog aria-labelledby="title">
      <header><h2 id="title">${s.title}</h2><button class="button quiet" aria-label=${strings.log.close} @click=${() => this.toggle()}>${icons.cross}</button></header>
      <dl>${s.keys.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl>
      <p>${s.note}</p>
    </dialog>`;
  }
}
customElements.define("omnitalk-shortcuts", ShortcutsHelp);

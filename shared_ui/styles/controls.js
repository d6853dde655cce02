import {css} from "../vendor/lit.js";

/** Buttons, fields, cards. */
export const controls = css`
  button, select, input, textarea { font: inherit; color: inherit; }
  button { cursor: pointer; }
  button:disabled { cursor: not-allowed; opacity: 0.5; }

  .button {
    display: inline-flex; align-items: center; justify-content: center; gap: 0.5em; min-height: 40px; padding: 0 0.95em;
    border: 1px solid var(--line); border-radius: 999px; background: var(--panel); font-weight: 550; font-size: 0.9375rem; white-space: nowrap;
    transition: background-color 120ms, border-color 120ms, transform 120ms;
  }
  .button:hover:not(:disabled) { border-color: var(--edge); }
  .button:active:not(:disabled) { transform: scale(0.98); }
  .button.quiet { background: none; border-color: transparent; color: var(--muted); padding: 0 0.7em; }
  .button.quiet:hover:not(:disabled) { background: var(--well); color: var(--ink); }
  .button.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
  .button.primary:hover:not(:disabled) { background: color-mix(in srgb, var(--accent) 88%, var(--ink)); }

  .field { display: grid; gap: 6px; min-width: 0; }
  .field > label, .field > .label, legend { font-size: 0.875rem; font-weight: 600; padding: 0; }
  .field .hint { font-size: 0.8125rem; color: var(--muted); line-height: 1.4; }
  fieldset { border: 0; margin: 0; padding: 0; min-width: 0; }
  select, input[type="text"], input[type="search"], textarea {
    width: 100%; min-height: 42px; padding: 0.5em 0.75em; border: 1px solid var(--edge); border-radius: 10px; background: var(--panel); font-size: 0.9375rem;
  }
  select {
    appearance: none; padding-right: 2.2em; text-overflow: ellipsis; background-repeat: no-repeat;
    background-image: linear-gradient(45deg, transparent 50%, var(--muted) 50%), linear-gradient(-45deg, transparent 50%, var(--muted) 50%);
    background-size: 5px 5px; background-position: right 17px center, right 12px center;
  }
  select option { background: Canvas; color: CanvasText; }
  textarea { resize: vertical; min-height: 92px; line-height: 1.45; }
  input[type="file"] { width: 100%; font-size: 0.875rem; color: var(--muted); }
  input[type="file"]::file-selector-button { font: inherit; font-weight: 550; color: var(--ink); min-height: 40px; margin-right: 12px; padding: 0 16px; border: 1px solid var(--edge); border-radius: 999px; background: var(--panel); cursor: pointer; }
  ::placeholder { color: var(--muted); opacity: 1; }

  .card { background: var(--panel); border: 1px solid var(--line); border-radius: var(--radius); padding: 20px; }
  .card > h2 { font-size: 1rem; font-weight: 650; margin-bottom: 14px; letter-spacing: -0.005em; }

  .segments { display: grid; grid-auto-flow: column; grid-auto-columns: 1fr; gap: 4px; padding: 4px; background: var(--well); border-radius: 12px; margin-top: 6px; }
  .segments label { position: relative; display: grid; place-items: center; min-height: 36px; padding: 0 10px; border-radius: 9px; font-size: 0.9375rem; font-weight: 550; cursor: pointer; text-align: center; }
  .segments input { position: absolute; inset: 0; opacity: 0; margin: 0; cursor: pointer; }
  .segments label:has(:checked) { background: light-dark(#fdfdfb, #2b3935); box-shadow: 0 1px 3px rgb(0 0 0 / 14%); color: var(--accent); }
  .segments label:has(:focus-visible) { outline: 3px solid var(--you); outline-offset: 1px; }

  .alert { display: grid; grid-template-columns: auto 1fr auto; gap: 4px 12px; align-items: center; padding: 12px 14px; border-radius: 12px; background: var(--bad-soft); border: 1px solid color-mix(in srgb, var(--bad) 30%, transparent); }
  .alert.warn { background: var(--warn-soft); border-color: color-mix(in srgb, var(--warn) 30%, transparent); }
  .alert .icon { color: var(--bad); }
  .alert.warn .icon { color: var(--warn); }
  .alert strong { display: block; font-weight: 650; }
  .alert p { font-size: 0.9375rem; line-height: 1.4; min-width: 0; overflow-wrap: anywhere; }
  @media (max-width: 520px) { .alert .button { grid-column: 1 / -1; } }

  kbd { font: 600 0.8125rem/1 var(--mono); padding: 4px 7px; border: 1px solid var(--line); border-bottom-width: 2px; border-radius: 6px; background: var(--well); min-width: 1.9em; display: inline-block; text-align: center; }
`;

import {css} from "../vendor/lit.js";

/** How a call is laid out: one column when narrow, stage and side when wide. Container queries, so that it fits any page. */
export const layout = css`
  :host { display: block; container-type: inline-size; color: var(--ink); font-family: var(--font); font-size: 1rem; line-height: 1.5; height: 100%; min-height: 0; -webkit-font-smoothing: antialiased; }
  .call { display: grid; gap: 20px; grid-template-columns: minmax(0, 1fr) minmax(340px, 420px); max-width: 1180px; margin: 0 auto; padding: 20px 24px 28px; }
  .call.during { height: 100%; min-height: 0; grid-template-rows: minmax(0, 1fr) auto; padding-bottom: 20px; }

  .stage { display: flex; flex-direction: column; align-items: center; justify-content: center; text-align: center; gap: 8px; min-width: 0; padding: 8px; }
  .before .stage { justify-content: flex-start; padding-top: 5vh; }
  .during .stage { grid-column: 1; }
  omnitalk-orb { flex: none; }
  .controls { position: relative; grid-column: 1; display: grid; justify-items: center; gap: 12px; min-width: 0; }
  .side { display: grid; gap: 16px; align-content: start; min-width: 0; min-height: 0; }
  .during .side { grid-column: 2; grid-row: 1 / -1; align-content: stretch; grid-template-rows: minmax(0, 1fr); }
  .side .card.talk { padding: 0; overflow: hidden; display: flex; min-height: 0; }
  .card.talk > omnitalk-transcript { flex: 1; min-width: 0; }
  .over .card.talk { max-height: 62vh; min-height: 200px; }
  .form { display: grid; gap: 16px; }

  .word { font-size: 1.75rem; font-weight: 650; letter-spacing: -0.02em; line-height: 1.2; margin-top: 4px; text-wrap: balance; }
  .line { color: var(--muted); max-width: 42ch; min-height: 1.5em; text-wrap: balance; }
  .alert { width: min(100%, 480px); text-align: left; margin-top: 12px; }

  .big { min-height: 64px; min-width: 200px; padding: 0 40px; margin-top: 18px; border: 0; border-radius: 999px; background: var(--accent); color: var(--on-accent); font-size: 1.1875rem; font-weight: 650; display: inline-flex; align-items: center; justify-content: center; gap: 0.6em; box-shadow: 0 10px 30px color-mix(in srgb, var(--accent) 28%, transparent); transition: transform 140ms, box-shadow 140ms; }
  .big:hover:not(:disabled) { transform: translateY(-1px); background: color-mix(in srgb, var(--accent) 90%, var(--ink)); }
  .big:active:not(:disabled) { transform: none; }
  .big:disabled { background: var(--well); color: var(--muted); box-shadow: none; opacity: 1; border: 1px solid var(--line); }
  .about { margin-top: 22px; max-width: 46ch; display: grid; gap: 4px; font-size: 0.9375rem; color: var(--muted); text-wrap: pretty; overflow-wrap: anywhere; }
  .about strong { color: var(--ink); font-weight: 600; }
  progress { appearance: none; width: min(260px, 80%); height: 6px; margin: 6px auto 14px; border: 0; border-radius: 3px; background: var(--line); overflow: hidden; }
  progress::-webkit-progress-bar { background: var(--line); border-radius: 3px; }
  progress::-webkit-progress-value { background: var(--accent); border-radius: 3px; transition: width 300ms; }
  progress::-moz-progress-bar { background: var(--accent); }

  .levels { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 8px 12px; align-items: center; width: min(260px, 80%); margin-top: 16px; font-size: 0.8125rem; color: var(--muted); text-align: left; }
  .bar { display: flex; align-items: center; justify-content: center; gap: 4px; flex-wrap: wrap; color: var(--muted); }
  .bar omnitalk-timer { font-weight: 600; color: var(--ink); padding: 0 10px; }
  .bar .button.quiet { min-height: 36px; font-size: 0.875rem; }

  .call-controls { display: flex; justify-content: center; gap: clamp(4px, 2.2cqi, 22px); }
  .round { display: grid; justify-items: center; gap: 6px; min-width: 62px; padding: 4px 2px; border: 0; border-radius: 14px; background: none; font-size: 0.8125rem; font-weight: 550; color: var(--muted); }
  .round .disc { display: grid; place-items: center; width: 56px; height: 56px; border-radius: 50%; background: var(--panel); border: 1px solid var(--line); color: var(--ink); font-size: 1.15rem; transition: background-color 140ms, transform 140ms, border-color 140ms; }
  .round:hover:not(:disabled) .disc { border-color: var(--edge); }
  .round:active:not(:disabled) .disc { transform: scale(0.95); }
  .round[aria-pressed="true"] .disc { background: var(--ink); border-color: var(--ink); color: var(--bg); }
  .round.end .disc { background: var(--bad-fill); border-color: var(--bad-fill); color: #fff; font-size: 1.35rem; }
  .round.send .disc { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
  .round:disabled { opacity: 0.45; }
  .push { font-size: 0.8125rem; color: var(--muted); }
  @media (pointer: coarse) { .push { display: none; } } /* no space bar there */
  .sound { position: absolute; bottom: 100%; z-index: 2; width: min(100%, 460px); margin: 0 0 10px; text-align: left; box-shadow: var(--shadow); }

  @container (max-width: 880px) {
    .call, .call.during { grid-template-columns: minmax(0, 1fr); padding: 12px 14px 18px; gap: 14px; }
    .before .stage { padding-top: 12px; }
    .call.during { grid-template-rows: auto minmax(120px, 1fr) auto; padding-bottom: max(12px, env(safe-area-inset-bottom)); gap: 10px; }
    .during .stage { grid-row: 1; padding: 0; gap: 2px; }
    .during .side { grid-column: 1; grid-row: 2; }
    .during .controls { grid-row: 3; gap: 6px; }
    .during .stage { display: grid; grid-template-columns: 104px minmax(0, 1fr); column-gap: 12px; text-align: left; align-items: center; }
    .during omnitalk-orb { --size: 104px; }
    .during .stage > .alert, .during .levels, .during .stage > omnitalk-preview { grid-column: 1 / -1; }
    .during .stage > omnitalk-preview { width: min(200px, 60%); justify-self: center; margin-top: 6px; }
    .during .levels { width: 100%; grid-template-columns: auto minmax(0, 1fr) auto minmax(0, 1fr); }
    .over omnitalk-orb { --size: 150px; }
    .before omnitalk-orb { --size: 190px; }
    .during .word { font-size: 1.375rem; margin-top: 0; }
    .during .line { font-size: 0.9375rem; }
    .during .levels { margin-top: 2px; gap: 4px 10px; }
    .bar { gap: 0; }
    .bar .keys { display: none; }
    .bar.full .name { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
    .big { width: min(100%, 340px); }
    .round { min-width: 56px; }
    .round .disc { width: 52px; height: 52px; }
  }
  @container (max-width: 350px) {
    .call-controls { gap: 0; justify-content: space-between; width: 100%; }
    .round { min-width: 0; padding-inline: 0; font-size: 0.75rem; }
    .round .disc { width: 48px; height: 48px; }
  }
  /* A small phone, or a phone whose keyboard is up: the words keep their room, what decorates them gives way. */
  @media (max-height: 640px) {
    @container (max-width: 880px) {
      .call.during { gap: 8px; padding-top: 8px; }
      .during .stage { grid-template-columns: 60px minmax(0, 1fr); }
      .during omnitalk-orb { --size: 60px; }
      .during .word { font-size: 1.125rem; }
      .during .line { font-size: 0.875rem; line-height: 1.35; }
      .during .alert { margin-top: 2px; padding: 8px 12px; }
      .during .alert p { font-size: 0.875rem; }
      .during .stage:has(.alert) .levels { display: none; }
      .controls .disc { width: 46px; height: 46px; }
    }
  }
`;

import {css} from "../vendor/lit.js";

/**
 * Colours, sizes and motion. `light-dark()` follows the `color-scheme` that the element inherits from the page around it.
 * An embedding page may set any `--ot-…` property to give the call its own look.
 */
export const tokens = css`
  :host {
    --bg: var(--ot-bg, light-dark(#f3f4f0, #0e1312));
    --panel: var(--ot-panel, light-dark(#fdfdfb, #161d1b));
    --well: var(--ot-well, light-dark(#eceee8, #0f1514));
    --ink: var(--ot-ink, light-dark(#17211d, #e7eeea));
    --muted: var(--ot-muted, light-dark(#55625c, #9dada5));
    --line: var(--ot-line, light-dark(#dcdfd7, #27312e));
    --edge: light-dark(#868f88, #6b7a74);
    --accent: var(--ot-accent, light-dark(#0b6a54, #5fd3ae));
    --on-accent: var(--ot-on-accent, light-dark(#ffffff, #05231a));
    --accent-soft: light-dark(#dcece5, #17352c);
    --you: light-dark(#3b51b8, #a4b4ff);
    --you-soft: light-dark(#e6e9f7, #20284a);
    --model: var(--accent);
    --warn: light-dark(#7a5200, #f0c36d);
    --warn-soft: light-dark(#f8edd3, #362a10);
    --bad: light-dark(#b02a22, #ff9c92);
    --bad-soft: light-dark(#f9e4e1, #3b1a18);
    --bad-fill: light-dark(#b3261e, #c9392f);
    --radius: 14px;
    --shadow: 0 1px 2px light-dark(rgb(20 30 25 / 6%), rgb(0 0 0 / 40%)), 0 8px 24px light-dark(rgb(20 30 25 / 5%), rgb(0 0 0 / 25%));
    --font: var(--ot-font, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif);
    --mono: ui-monospace, "SF Mono", "Cascadia Mono", "Roboto Mono", Menlo, Consolas, monospace;
  }
`;

/** What every shadow root of ours starts from. */
export const base = css`
  *, *::before, *::after { box-sizing: border-box; }
  [hidden] { display: none !important; }
  :focus-visible { outline: 3px solid var(--you); outline-offset: 2px; }
  h2, h3, p, ul, ol, dl, dd, figure { margin: 0; padding: 0; }
  ul, ol { list-style: none; }
  .visually-hidden { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
  .muted { color: var(--muted); }
  svg.icon { width: 1.25em; height: 1.25em; flex: none; fill: none; stroke: currentColor; stroke-width: 1.9; stroke-linecap: round; stroke-linejoin: round; }
  svg.icon .solid { fill: currentColor; stroke: none; }
  @media (prefers-reduced-motion: reduce) {
    *, *::before, *::after { animation-duration: 0.01ms !important; animation-iteration-count: 1 !important; transition-duration: 0.01ms !important; }
  }
`;

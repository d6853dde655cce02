import {svg, html} from "../vendor/lit.js";

/** @param {unknown} shape @returns an icon of 24 units, hidden from assistive technology: the control beside it has words */
const icon = (shape) => html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${shape}</svg>`;

export const icons = {
  phone: icon(svg`<path d="M5 4h3.6l1.7 4.4-2.2 1.5a12 12 0 0 0 6 6l1.5-2.2L20 15.4V19a1.8 1.8 0 0 1-2 1.8A15.6 15.6 0 0 1 3.2 6 1.8 1.8 0 0 1 5 4z"/>`),
  end: icon(svg`<path class="solid" d="M12 9c-3.7 0-6.9.9-9.2 2.5-.6.5-.9 1.2-.8 2l.2 1.7c.1.8.9 1.3 1.7 1.1l3-.7c.7-.2 1.1-.8 1.1-1.4v-1.6c1.3-.3 2.6-.5 4-.5s2.7.2 4 .5v1.6c0 .7.5 1.3 1.1 1.4l3 .7c.8.2 1.6-.3 1.7-1.1l.2-1.7c.1-.8-.2-1.5-.8-2C18.9 9.9 15.7 9 12 9z"/>`),
  mic: icon(svg`<rect x="9" y="3" width="6" height="11" rx="3"/><path d="M5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3"/>`),
  micOff: icon(svg`<path d="M9 9.5V11a3 3 0 0 0 4.6 2.5M15 10.5V6a3 3 0 0 0-5.7-1.3M5.5 11.5a6.5 6.5 0 0 0 10.2 5.3M18.5 11.5a6.5 6.5 0 0 1-.5 2.5M12 18v3M4 3l16 18"/>`),
  pause: icon(svg`<path d="M9 5v14M15 5v14"/>`),
  play: icon(svg`<path d="M8 5.5v13l10.5-6.5z"/>`),
  hand: icon(svg`<rect x="6.5" y="6.5" width="11" height="11" rx="2"/>`),
  send: icon(svg`<path d="M12 19V5M6 11l6-6 6 6"/>`),
  check: icon(svg`<path d="M5 12.5l4.5 4.5L19 7.5"/>`),
  cross: icon(svg`<path d="M6 6l12 12M18 6L6 18"/>`),
  dot: icon(svg`<circle cx="12" cy="12" r="3.5"/>`),
  warning: icon(svg`<path d="M12 4L2.8 19.5h18.4zM12 10v4.5M12 17v.1"/>`),
  copy: icon(svg`<rect x="9" y="9" width="11" height="11" rx="2"/><path d="M5.5 15H5a1.5 1.5 0 0 1-1.5-1.5V5A1.5 1.5 0 0 1 5 3.5h8.5A1.5 1.5 0 0 1 15 5v.5"/>`),
  save: icon(svg`<path d="M12 4v11M7 10.5l5 5 5-5M4.5 20h15"/>`),
  list: icon(svg`<path d="M8 6h12M8 12h12M8 18h12M4 6h.1M4 12h.1M4 18h.1"/>`),
  pulse: icon(svg`<path d="M3 12h4l2.5-7 5 14 2.5-7h4"/>`),
  keyboard: icon(svg`<rect x="3" y="6" width="18" height="12" rx="2"/><path d="M7 10h.1M11 10h.1M15 10h.1M17.5 10h.1M8 14h8"/>`),
  sliders: icon(svg`<path d="M4 7h9M17 7h3M4 17h3M11 17h9"/><circle cx="15" cy="7" r="2"/><circle cx="9" cy="17" r="2"/>`),
  lock: icon(svg`<rect x="5" y="11" width="14" height="9" rx="2"/><path d="M8 11V8a4 4 0 0 1 8 0v3"/>`),
  camera: icon(svg`<rect x="3" y="6.5" width="12.5" height="11" rx="2.5"/><path d="M15.5 10.5l5-3v9l-5-3z"/>`),
  screen: icon(svg`<rect x="3" y="5" width="18" height="12" rx="2"/><path d="M9 20.5h6M12 14V8.5M9.5 11L12 8.5l2.5 2.5"/>`),
  flip: icon(svg`<path d="M4 12a8 8 0 0 1 13.7-5.6L20 8.5M20 4v4.5h-4.5M20 12a8 8 0 0 1-13.7 5.6L4 15.5M4 20v-4.5h4.5"/>`),
  speaker: icon(svg`<path d="M4 9.5v5h3.5L12 18.5v-13L7.5 9.5zM15.5 9a4.2 4.2 0 0 1 0 6M18 6.5a8 8 0 0 1 0 11"/>`),
};

import {html, svg} from "../vendor/lit.js";
import {strings} from "./strings.js";

/**
 * Two lanes of the last minute: who sounded when, where it was ducked, cut or had a gap.
 * @import { TimelineData } from '../types.js'
 * @param {TimelineData} data @param {number} now ms since the call began @param {number} [spanMs] shown
 */
export function timeline(data, now, spanMs = 60_000) {
  const [width, lane] = [600, 28];
  const first = Math.max(0, now - spanMs);
  const x = (/** @type {number} */ at) => (width * (at - first)) / spanMs;
  const s = strings.figures;
  const spans = (/** @type {TimelineData["you"]} */ list, /** @type {string} */ kind, /** @type {number} */ y) =>
    list.filter((span) => (span.to ?? now) > first).map((span) => {
      const [from, to] = [Math.max(0, x(span.from)), x(span.to ?? now)];
      return svg`<rect class=${kind} x=${from.toFixed(1)} y=${y} width=${Math.max(1.5, to - from).toFixed(1)} height=${lane} rx="3"><title>${s.span(kind, span.from, span.to ?? now)}</title></rect>`;
    });
  const marks = data.marks.filter((mark) => mark.at > first).map((mark) =>
    svg`<g class=${`mark ${mark.kind}`} transform=${`translate(${x(mark.at).toFixed(1)} 0)`}><line y1="6" y2="82"></line><circle cy="6" r="4"></circle><title>${s.marks[mark.kind]} ${(mark.at / 1000).toFixed(1)} s</title></g>`);
  return html`<svg viewBox="0 0 ${width} 100" role="img" aria-label=${s.timelineLabel(data.you.length, data.model.length, data.marks.filter((mark) => mark.kind === "cut").length)} preserveAspectRatio="none">
    <rect class="ground" x="0" y="14" width=${width} height=${lane} rx="4"></rect><rect class="ground" x="0" y="50" width=${width} height=${lane} rx="4"></rect>
    ${spans(data.you, "you", 14)}${spans(data.model, "model", 50)}${marks}</svg>`;
}

/**
 * What a call's state means for a person: the orb's mode, a word, and a line below it.
 * @import { CallState, Choices } from '../types.js'
 * @import { Strings } from './strings.js'
 */

/**
 * @param {CallState | null} state null before the first call @param {Choices} choices @param {Strings} s
 * @param {"ready" | "loading" | "away"} [server] whether a call could begin now
 * @returns {{mode: string, word: string, line: string, label: string}}
 */
export function describe(state, choices, s, server = "ready") {
  const phase = state?.phase ?? "idle";
  const manual = choices.turnControl === "manual";
  const said = (/** @type {keyof Strings["state"]} */ key, mode = String(key)) => ({mode, word: s.state[key][0], line: s.state[key][1], label: ""});
  if (!state || phase === "idle") {
    if (server === "loading") return said("loading", "connecting");
    return server === "away" ? {mode: "ended", word: s.notConnected, line: "", label: ""} : said("idle");
  }
  if (phase === "queued" && state.queue) {
    const {position, estimatedWaitMs} = state.queue;
    return {mode: "queued", word: s.queuePlace(position), line: `${s.queueWait(estimatedWaitMs)} ${s.state.queued[1]}`, label: String(position)};
  }
  if (phase === "ended") return {mode: "ended", word: s.state.ended[0], line: state.error ? "" : endedBecause(state.endReason, s), label: ""};
  if (phase === "failed") return {mode: "failed", word: state.startedAt ? s.state.ended[0] : s.notConnected, line: "", label: ""};
  if (phase !== "live") return said(phase);
  if (state.held) return said("held");
  if (state.activity === "listening") {
    const shown = said(manual ? "listeningManual" : "listening", "listening");
    return state.muted ? {...shown, line: s.mutedHint} : shown;
  }
  if (state.activity === "speaking") return said(manual ? "speakingManual" : "speaking", "speaking");
  return said(state.activity);
}

/** @param {string | null} reason @param {Strings} s */
function endedBecause(reason, s) {
  if (!reason) return "";
  const known = /** @type {Record<string, unknown>} */ (s.ended)[reason];
  return typeof known === "string" ? known : s.ended.other(reason);
}

/** The call's figures as a person reads them: each one a number, or null where this browser or this path does not have it. @import { CallStats, Figures, PathFigures, TransportState } from '../types.js' */

/** @param {number | undefined | null} value */
const known = (value) => (typeof value === 'number' && Number.isFinite(value) ? value : null);

/** Rates from two readings of counters that only grow. */
export class Rates {
  constructor() {
    /** @type {{at: number, in: number, out: number} | null} */
    this.before = null;
  }

  /** @param {number} at ms @param {number | undefined} bytesIn @param {number | undefined} bytesOut @returns {{inKbps: number | null, outKbps: number | null}} */
  read(at, bytesIn, bytesOut) {
    const now = known(bytesIn) !== null && known(bytesOut) !== null ? { at, in: Number(bytesIn), out: Number(bytesOut) } : null;
    const before = this.before;
    this.before = now;
    // Another path began to count anew.
    if (!now || !before || now.in < before.in || now.out < before.out || at <= before.at) return { inKbps: null, outKbps: null };
    const ms = at - before.at;
    return { inKbps: (8 * (now.in - before.in)) / ms, outKbps: (8 * (now.out - before.out)) / ms };
  }
}

/**
 * @param {{transport: TransportState, stats: Partial<CallStats>, path: PathFigures | null, rates: {inKbps: number | null, outKbps: number | null},
 *   waits: {last: number | null, median: number | null}}} of @returns {Figures}
 */
export function figuresOf({ transport, stats, path, rates, waits }) {
  const rtc = transport.kind === 'webrtc';
  return {
    path: transport.kind,
    why: transport.why,
    rttMs: known(rtc ? path?.rttMs : stats.rttMs),
    jitterMs: rtc ? known(path?.jitterMs) : null,
    lossPercent: rtc ? known(path?.lossPercent) : null,
    inKbps: known(rtc ? path?.inKbps : rates.inKbps),
    outKbps: known(rtc ? path?.outKbps : rates.outKbps),
    // Over WebRTC the browser's own buffer stands where the page's start buffer does.
    startBufferMs: known(rtc ? path?.bufferMs : stats.startBufferMs),
    underruns: rtc ? null : known(stats.underruns),
    concealedMs: rtc ? known(path?.concealedMs) : null,
    lateUnits: rtc ? null : known(stats.lateUnits),
    outputLatencyMs: stats.outputLatencyMs ? known(stats.outputLatencyMs) : null,
    lastAnswerMs: known(waits.last),
    medianAnswerMs: known(waits.median),
    pathChanges: known(stats.pathChanges),
  };
}

/**
 * Judges a peer connection by its own statistics: is anything coming, and is it good enough to talk over?
 *
 * The server sends a packet every 10 ms for as long as the call lasts, silence included, so a path on which nothing comes is dead.
 * @import { PathSample, PathFigures } from '../types.js'
 */

const WINDOW_MS = 6_000;

export class PathWatch {
  /** @param {{stallMs?: number, badLoss?: number, badRttMs?: number}} [limits] `stallMs`: longer than bad Wi-Fi's ordinary gaps. `badLoss`: Opus is hardly understood beyond it */
  constructor({ stallMs = 1_500, badLoss = 0.25, badRttMs = 1_500 } = {}) {
    this.limits = { stallMs, badLoss, badRttMs };
    /** @type {PathSample[]} oldest first, within the window */
    this.samples = [];
    this.aliveAt = -1;
  }

  /** @param {PathSample} sample @returns {'waiting' | 'good' | 'bad' | 'dead'} */
  judge(sample) {
    const before = this.samples.at(-1);
    // Time that the page did not run (a sleeping laptop, a frozen tab) says nothing about the path.
    const slept = before ? sample.at - before.at > this.limits.stallMs : false;
    if (!before || slept || sample.received > before.received) this.aliveAt = sample.at;
    this.samples.push(sample);
    while (this.samples.length > 2 && sample.at - this.samples[0].at > WINDOW_MS) this.samples.shift();
    if (sample.received === 0) return 'waiting';
    if (sample.at - this.aliveAt >= this.limits.stallMs) return 'dead';
    const { lossPercent, rttMs } = this.figures;
    const full = sample.at - this.samples[0].at >= WINDOW_MS * 0.8;
    if (full && ((lossPercent ?? 0) > this.limits.badLoss * 100 || (rttMs ?? 0) > this.limits.badRttMs)) return 'bad';
    return 'good';
  }

  /** Over the last seconds; null where the browser does not say. @returns {PathFigures} */
  get figures() {
    const last = this.samples.at(-1);
    const first = this.samples[0];
    if (!last || last === first) return { rttMs: last?.rttMs ?? null, jitterMs: null, lossPercent: null, inKbps: null, outKbps: null, concealedMs: null, bufferMs: null };
    const packets = last.received - first.received;
    const lost = Math.max(0, last.lost - first.lost);
    const seconds = (last.at - first.at) / 1000;
    const emitted = last.emitted - first.emitted;
    return {
      rttMs: last.rttMs,
      jitterMs: last.jitterMs,
      lossPercent: packets + lost > 0 ? (100 * lost) / (packets + lost) : null,
      inKbps: (8 * (last.bytesIn - first.bytesIn)) / seconds / 1000,
      outKbps: (8 * (last.bytesOut - first.bytesOut)) / seconds / 1000,
      concealedMs: last.concealedMs,
      bufferMs: emitted > 0 ? (1000 * (last.bufferS - first.bufferS)) / emitted : null,
    };
  }
}

/** What the browser says about a connection, as one flat sample. @param {Iterable<any>} reports of `getStats()` @param {number} at ms @returns {PathSample} */
export function sampleOf(reports, at) {
  /** @type {PathSample} */
  const sample = { at, received: 0, lost: 0, bytesIn: 0, bytesOut: 0, emitted: 0, bufferS: 0, concealedMs: 0, jitterMs: null, rttMs: null, relayed: null };
  /** @type {Map<string, any>} */
  const byId = new Map();
  for (const report of reports) {
    byId.set(report.id, report);
    if (report.type === 'inbound-rtp' && report.kind === 'audio') {
      sample.received = report.packetsReceived ?? 0;
      sample.lost = report.packetsLost ?? 0;
      sample.bytesIn = (report.bytesReceived ?? 0) + (report.headerBytesReceived ?? 0);
      sample.emitted = report.jitterBufferEmittedCount ?? 0;
      sample.bufferS = report.jitterBufferDelay ?? 0;
      // Silence that the browser puts in before the first packet, or for silence, is no damage.
      sample.concealedMs = ((report.concealedSamples ?? 0) - (report.silentConcealedSamples ?? 0)) / 48;
      sample.jitterMs = report.jitter === undefined ? null : report.jitter * 1000;
    } else if (report.type === 'outbound-rtp' && report.kind === 'audio') sample.bytesOut = (report.bytesSent ?? 0) + (report.headerBytesSent ?? 0);
  }
  for (const report of byId.values()) {
    if (report.type !== 'candidate-pair' || !report.nominated || report.state !== 'succeeded') continue;
    if (report.currentRoundTripTime !== undefined) sample.rttMs = report.currentRoundTripTime * 1000;
    const local = byId.get(report.localCandidateId);
    if (local) sample.relayed = local.candidateType === 'relay';
  }
  return sample;
}

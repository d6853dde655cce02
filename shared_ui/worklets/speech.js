/** The sound of one response on its way through the speaker: what is queued, what was rendered, what has been heard. */
import { Resampler } from './resampler.js';

const HISTORY = 512; // quanta; 1.4 s at 48 kHz, longer than any output latency worth correcting

export class Speech {
  /** @param {string} id @param {number} rate Hz of its samples @param {number} now s */
  constructor(id, rate, now) {
    this.id = id;
    this.rate = rate;
    this.resampler = new Resampler(rate, Math.round(sampleRate));
    /** @type {Float32Array[]} */
    this.pieces = [];
    this.offset = 0; // into the first piece
    this.queued = 0; // own samples not yet given to the resampler
    this.received = 0; // own samples
    this.rendered = 0; // output frames
    this.ended = false;
    this.cut = false;
    this.starved = false;
    this.arrivedAt = now;
    this.anchor = now; // when sample 0 would have been played, had it been played at once
    this.history = new Float64Array(HISTORY);
    this.quanta = 0;
    this.heard = 0; // own samples, after the output latency
    this.reported = -1;
    this.silence = new Float32Array(1024);
  }

  /** @param {Float32Array} samples */
  add(samples) {
    this.pieces.push(samples);
    this.queued += samples.length;
    this.received += samples.length;
  }

  /** Output frames left of what came. */
  get remaining() {
    return Math.floor((this.received * sampleRate) / this.rate) - this.rendered;
  }

  /** Output frames that can be rendered without making anything up: until the end is known the filter's look-ahead is held back. */
  get playable() {
    if (this.ended) return this.remaining;
    return this.remaining - Math.ceil((this.resampler.taps * sampleRate) / this.rate);
  }

  /** Renders `count` frames; beyond the end they are silence and do not count. @param {Float32Array} output @param {number} count */
  render(output, count) {
    let need = this.resampler.needed(count);
    while (need > 0 && this.pieces.length > 0) {
      const piece = this.pieces[0];
      const end = Math.min(piece.length, this.offset + need);
      this.resampler.push(piece, this.offset, end);
      const took = end - this.offset;
      need -= took;
      this.queued -= took;
      this.offset = end;
      if (end === piece.length) {
        this.pieces.shift();
        this.offset = 0;
      }
    }
    for (; need > 0; need -= this.silence.length) this.resampler.push(this.silence, 0, Math.min(need, this.silence.length));
    const counted = Math.min(count, Math.max(0, this.remaining));
    this.resampler.pull(output, 0, count);
    this.rendered += counted;
  }

  /** Once a quantum: what has left the speaker is what was rendered `latency` quanta ago. @param {number} latency */
  tick(latency) {
    this.history[this.quanta % HISTORY] = this.renderedSamples;
    const at = this.quanta - Math.min(latency, HISTORY - 1);
    if (at >= 0) this.heard = this.history[at % HISTORY];
    this.quanta++;
  }

  /** Throws away what is not rendered; returns how many own samples that were. */
  drop() {
    const dropped = this.queued;
    this.pieces.length = 0;
    this.queued = 0;
    this.offset = 0;
    return dropped;
  }

  get renderedSamples() {
    return Math.min(this.received, (this.rendered * this.rate) / sampleRate);
  }

  get renderedMs() {
    return (this.renderedSamples * 1000) / this.rate;
  }

  get heardMs() {
    return (this.heard * 1000) / this.rate;
  }
}

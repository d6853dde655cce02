/** The gains of the speaker: ducking, a ramp in decibels; a short linear fade at every start, gap and cut; and a gate for a live stream. */

export class Ducking {
  constructor() {
    this.db = 0;
    this.target = 0;
    this.step = 0; // dB a frame
  }

  /** @param {number} db @param {number} frames */
  rampTo(db, frames) {
    this.target = db;
    // The ramp moves by whole quanta: it takes the last one that ends in time.
    this.step = Math.abs(db - this.db) / Math.max(128, 128 * Math.floor(frames / 128));
  }

  reset() {
    this.db = this.target = 0;
  }

  /** Applies the next `output.length` frames of the ramp. @param {Float32Array} output */
  apply(output) {
    if (this.db === 0 && this.target === 0) return;
    const from = 10 ** (this.db / 20);
    const most = this.step * output.length;
    this.db = this.db > this.target ? Math.max(this.target, this.db - most) : Math.min(this.target, this.db + most);
    const to = 10 ** (this.db / 20);
    for (let i = 0; i < output.length; i++) output[i] *= from + ((to - from) * (i + 1)) / output.length;
  }
}

export class Fade {
  /** @param {number} frames of a whole fade */
  constructor(frames) {
    this.frames = frames;
    this.level = 0;
  }

  /** Frames until silence. */
  get tail() {
    return Math.ceil(this.level * this.frames - 1e-9);
  }

  /**
   * Towards 1 or 0 over `count` frames, and never above what is left of a reply that ends.
   * @param {Float32Array} output @param {number} count @param {0 | 1} target @param {number} left frames until the natural end
   */
  apply(output, count, target, left) {
    const step = 1 / this.frames;
    for (let i = 0; i < count; i++) {
      this.level = target ? Math.min(1, this.level + step) : Math.max(0, this.level - step);
      output[i] *= Math.min(this.level, Math.max(0, left - i) * step);
    }
    if (!target && this.level < 1e-9) this.level = 0;
  }
}

/** A live stream's gate: a shut one lets nothing pass for a while, with a short fade on both sides. */
export class Gate {
  /** @param {number} fade frames @param {number} passing frames that stay shut */
  constructor(fade, passing) {
    this.step = 1 / fade;
    this.passing = passing;
    this.shutFor = 0;
    this.level = 1;
  }

  shut() {
    this.shutFor = this.passing;
  }

  reopen() {
    this.shutFor = 0;
  }

  /** Adds the stream to the output. @param {Float32Array | undefined} live @param {Float32Array} output @param {boolean} paused */
  pass(live, output, paused) {
    for (let i = 0; i < output.length; i++) {
      const open = this.shutFor === 0 && !paused;
      if (this.shutFor > 0) this.shutFor--;
      this.level = open ? Math.min(1, this.level + this.step) : Math.max(0, this.level - this.step);
      if (live) output[i] += live[i] * this.level;
    }
  }
}

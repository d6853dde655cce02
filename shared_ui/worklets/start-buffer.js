/** How long the first sample of a reply waits: the profile's figure, and longer where sound has been measured to come later than that. */

const KEPT = 64; // measured pieces: about a minute of 1 s units, a few replies of short ones

export class StartBuffer {
  /** @param {{base: number, most: number}} bounds ms */
  constructor({ base, most }) {
    this.base = base;
    this.most = most;
    /** @type {number[]} */
    this.lateness = [];
  }

  /** A piece came `ms` after the moment it would have been played at, had the first been played at once. @param {number} ms */
  measure(ms) {
    this.lateness.push(Math.min(Math.max(0, ms), this.most));
    if (this.lateness.length > KEPT) this.lateness.shift();
  }

  /** 95th percentile of the lateness measured, ms. */
  get p95() {
    if (this.lateness.length === 0) return 0;
    const sorted = [...this.lateness].sort((a, b) => a - b);
    return sorted[Math.ceil(sorted.length * 0.95) - 1];
  }

  /** ms to hold now. */
  get ms() {
    return Math.min(this.most, Math.max(this.base, this.p95));
  }
}

/**
 * Sample-rate conversion that remembers: a polyphase, Kaiser-windowed sinc low-pass.
 *
 * The stop band (92 dB) begins at the lower of the two Nyquist frequencies, the pass band ends at 88 % of it. Output sample `k` stands exactly at
 * input position `k * from / to`: the filter looks ahead half its length (about 2 ms) instead of delaying.
 */

const STOP_BAND_DB = 92;
const TRANSITION = 0.06; // width, as a part of the lower rate: pass band to 0.44, stop band from 0.5

/** @param {number} a @param {number} b @returns {number} */
const gcd = (a, b) => (b === 0 ? a : gcd(b, a % b));

/** Modified Bessel function of the first kind, order 0, by its power series. @param {number} x */
function bessel0(x) {
  let sum = 1;
  let term = 1;
  for (let k = 1; term > sum * 1e-12; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

/**
 * The filter of every phase, each scaled to pass a constant unchanged.
 * @param {number} up @param {number} down @param {number} taps @returns {Float32Array[]}
 */
function design(up, down, taps) {
  const beta = 0.1102 * (STOP_BAND_DB - 8.7);
  const norm = bessel0(beta);
  const cutoff = (0.5 - TRANSITION / 2) * Math.min(1, up / down); // in cycles per input sample
  const half = taps / 2;
  const phases = [];
  for (let phase = 0; phase < up; phase++) {
    const filter = new Float64Array(taps);
    let sum = 0;
    for (let i = 0; i < taps; i++) {
      const x = i - (half - 1) - phase / up;
      const ratio = x / half;
      const window = Math.abs(ratio) >= 1 ? 0 : bessel0(beta * Math.sqrt(1 - ratio * ratio)) / norm;
      const angle = 2 * Math.PI * cutoff * x;
      filter[i] = window * (x === 0 ? 2 * cutoff : Math.sin(angle) / (Math.PI * x));
      sum += filter[i];
    }
    phases.push(Float32Array.from(filter, (value) => value / sum));
  }
  return phases;
}

export class Resampler {
  /** @param {number} from Hz, whole @param {number} to Hz, whole */
  constructor(from, to) {
    if (!(Number.isInteger(from) && Number.isInteger(to) && from > 0 && to > 0)) {
      throw new RangeError(`Sample rates are whole numbers of Hz above 0, not ${from} and ${to}.`);
    }
    const divisor = gcd(from, to);
    this.up = to / divisor;
    this.down = from / divisor;
    this.same = this.up === this.down;
    const length = (STOP_BAND_DB - 8) / (2.285 * 2 * Math.PI * TRANSITION * Math.min(1, to / from));
    this.taps = this.same ? 2 : 2 * Math.ceil(length / 2);
    this.phases = this.same ? [] : design(this.up, this.down, this.taps);
    this.buffer = new Float32Array(this.taps + 4096);
    // Silence stands before the first sample, so that output 0 is centred on input 0.
    this.filled = this.same ? 0 : this.taps / 2 - 1;
    this.start = 0; // where in the buffer the next output's filter begins
    this.phase = 0; // of `up`
  }

  /** How many more input samples `count` outputs need. @param {number} count */
  needed(count) {
    if (count <= 0) return 0;
    const last = this.start + Math.floor((this.phase + (count - 1) * this.down) / this.up);
    return Math.max(0, last + (this.same ? 1 : this.taps) - this.filled);
  }

  /** Outputs that can be had now. */
  get available() {
    const room = this.filled - (this.same ? 1 : this.taps) - this.start;
    return room < 0 ? 0 : Math.floor(((room + 1) * this.up - 1 - this.phase) / this.down) + 1;
  }

  /** @param {Float32Array} input @param {number} [from] @param {number} [to] */
  push(input, from = 0, to = input.length) {
    const count = to - from;
    if (this.filled + count > this.buffer.length) {
      this.buffer.copyWithin(0, this.start, this.filled);
      this.filled -= this.start;
      this.start = 0;
      if (this.filled + count > this.buffer.length) {
        const larger = new Float32Array(2 * (this.filled + count));
        larger.set(this.buffer.subarray(0, this.filled));
        this.buffer = larger;
      }
    }
    for (let i = from; i < to; i++) this.buffer[this.filled++] = input[i];
  }

  /** Writes up to `count` outputs at `offset`. @param {Float32Array} output @param {number} [offset] @param {number} [count] @returns {number} how many */
  pull(output, offset = 0, count = output.length - offset) {
    const made = Math.min(count, this.available);
    if (this.same) {
      output.set(this.buffer.subarray(this.start, this.start + made), offset);
      this.start += made;
      return made;
    }
    const { buffer, taps, up, down } = this;
    for (let n = 0; n < made; n++) {
      const filter = this.phases[this.phase];
      const at = this.start;
      let sum = 0;
      for (let i = 0; i < taps; i++) sum += buffer[at + i] * filter[i];
      output[offset + n] = sum;
      this.phase += down;
      const whole = Math.floor(this.phase / up);
      this.start += whole;
      this.phase -= whole * up;
    }
    return made;
  }
}

/**
 * The microphone: the context's rate to the profile's, in 20 ms pieces of PCM16, each posted from the render callback itself.
 *
 * Options: `{rate}` (Hz). Messages in: `{do: 'connect', port}`, `{do: 'mute', muted}`, `{do: 'hold', held}`. Out, on the connected port:
 * `{pcm: ArrayBuffer, at}`; on the node's port: `{level: {rms, peak}, frames, muted}` with every second piece.
 * A muted or missing microphone gives zeros at the same cadence: the model's clock goes on. Only a held call sends nothing.
 */
import { Resampler } from './resampler.js';

const PIECE_S = 0.02;
const PIECES_A_LEVEL = 2;

class Capture extends AudioWorkletProcessor {
  /** @param {AudioWorkletNodeOptions} options */
  constructor(options) {
    super();
    const rate = options.processorOptions.rate;
    this.resampler = new Resampler(Math.round(sampleRate), rate);
    this.piece = new Float32Array(Math.round(rate * PIECE_S));
    this.filled = 0;
    this.zeros = new Float32Array(128);
    this.muted = false;
    this.held = false;
    this.pieces = 0;
    this.peak = 0;
    this.energy = 0;
    this.measured = 0;
    /** @type {MessagePort | null} */
    this.sink = null;
    this.port.onmessage = ({ data }) => {
      if (data.do === 'connect') this.sink = data.port;
      else if (data.do === 'mute') this.muted = data.muted;
      else if (data.do === 'hold') this.held = data.held;
    };
  }

  /** @param {Float32Array[][]} inputs */
  process(inputs) {
    const heard = inputs[0]?.[0];
    const input = heard ?? this.zeros;
    this.measure(input);
    this.resampler.push(this.muted || this.held ? this.zeros : input, 0, input.length);
    for (;;) {
      this.filled += this.resampler.pull(this.piece, this.filled);
      if (this.filled < this.piece.length) return true;
      this.filled = 0;
      this.post();
    }
  }

  /** The meter shows what the microphone hears, muted or not: a person sees that they speak into a muted one. @param {Float32Array} input */
  measure(input) {
    for (let i = 0; i < input.length; i++) {
      const size = Math.abs(input[i]);
      if (size > this.peak) this.peak = size;
      this.energy += size * size;
    }
    this.measured += input.length;
  }

  post() {
    this.pieces++;
    if (!this.held && this.sink) {
      const pcm = new Int16Array(this.piece.length);
      // Zeros are exact: the resampler's memory of what was said before the mute is not sent.
      if (!this.muted) for (let i = 0; i < pcm.length; i++) pcm[i] = Math.max(-32768, Math.min(32767, Math.round(this.piece[i] * 32768)));
      this.sink.postMessage({ pcm: pcm.buffer, at: currentTime }, [pcm.buffer]);
    }
    if (this.pieces % PIECES_A_LEVEL === 0) {
      const rms = Math.sqrt(this.energy / Math.max(1, this.measured));
      this.port.postMessage({ level: { rms, peak: this.peak }, frames: this.pieces, muted: this.muted });
      this.peak = this.energy = this.measured = 0;
    }
  }
}

registerProcessor('omnitalk-capture', Capture);

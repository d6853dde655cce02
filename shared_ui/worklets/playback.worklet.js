/**
 * The speaker. Sound comes in pieces of responses and leaves at the context's rate; what has been heard of each response is counted here.
 * A live stream (a peer connection's sound, ducked by its sender already) may be connected as an input; a flush silences it too, until
 * what was on its way has passed, or the next response is said to have begun.
 *
 * Options: `{startBufferMs, maxStartBufferMs, catchUpMs, fadeMs, ackIntervalMs, capMs, tap}`. Messages in, on the node's port or on a connected one:
 * `connect {port}`, `audio {response, item, pcm, rate}`, `end {response}`, `flush {responses?}`, `duck {gainDb, rampMs}`,
 * `unduck {rampMs}`, `live`, `pause {paused}`, `latency {seconds}` (all as `{do: …}`). Out, as `{is: …}`: `cursor`, `started`, `underrun`, `flushed`,
 * `finished` on both ports; `meter` and `tap` on the node's port.
 */
import { Ducking, Fade, Gate } from './gain.js';
import { Speech } from './speech.js';
import { StartBuffer } from './start-buffer.js';

const FORGOTTEN = 64; // flushed responses remembered; a late piece follows its flush within one round trip
const PASSING_MS = 2_000; // longer than a live stream's sound stays on its way, even on a machine that stalls; the next response reopens it
const METER_QUANTA = 14; // about 40 ms
const TAP_QUANTA = 8;

class Playback extends AudioWorkletProcessor {
  /** @param {AudioWorkletNodeOptions} options */
  constructor(options) {
    super();
    const o = { maxStartBufferMs: 1000, catchUpMs: 400, fadeMs: 5, ackIntervalMs: 150, capMs: 30_000, tap: false, ...options.processorOptions };
    this.options = o;
    this.buffer = new StartBuffer({ base: o.startBufferMs, most: o.maxStartBufferMs });
    this.fade = new Fade(Math.round((Math.min(10, Math.max(5, o.fadeMs)) * sampleRate) / 1000));
    this.ducking = new Ducking();
    this.gate = new Gate(this.fade.frames, Math.round((PASSING_MS * sampleRate) / 1000));
    /** @type {Speech[]} */
    this.line = [];
    /** @type {Speech[]} rendered or cut, not all heard yet */
    this.tails = [];
    /** @type {Set<string>} */
    this.dead = new Set();
    /** @type {Map<string, string>} response → item */
    this.items = new Map();
    this.phase = /** @type {'waiting' | 'playing' | 'cutting'} */ ('waiting');
    this.hold = 0; // s; of the line's first
    this.paused = false;
    this.latency = 0; // quanta
    this.quanta = 0;
    this.ackQuanta = Math.max(1, Math.round((o.ackIntervalMs * sampleRate) / 128_000));
    this.counters = { underruns: 0, lateUnits: 0, flushes: 0, lateDropped: 0, capDroppedMs: 0, startBufferMs: o.startBufferMs, latenessP95Ms: 0 };
    this.peak = 0;
    this.energy = 0;
    /** @type {Float32Array} */
    this.tapped = new Float32Array(128 * TAP_QUANTA);
    this.tappedAt = 0;
    this.tapFilled = 0;
    /** @type {MessagePort[]} */
    this.ports = [this.port];
    this.port.onmessage = ({ data }) => this.obey(data);
  }

  /** @param {any} data */
  obey(data) {
    switch (data.do) {
      case 'connect':
        this.ports.push(data.port);
        data.port.onmessage = (/** @type {MessageEvent} */ message) => this.obey(message.data);
        break;
      case 'audio':
        this.take(data);
        break;
      case 'end':
        for (const speech of this.line) if (speech.id === data.response) speech.ended = true;
        break;
      case 'flush':
        this.flush(data.responses);
        break;
      case 'duck':
        this.ducking.rampTo(data.gainDb, (data.rampMs * sampleRate) / 1000);
        break;
      case 'live':
        this.gate.reopen();
        break;
      case 'unduck':
        this.ducking.rampTo(0, (data.rampMs * sampleRate) / 1000);
        break;
      case 'pause':
        this.paused = data.paused;
        break;
      case 'latency':
        this.latency = Math.max(0, Math.round((data.seconds * sampleRate) / 128));
        break;
    }
  }

  /** @param {object} message */
  tell(message) {
    for (const port of this.ports) port.postMessage(message);
  }

  /** @param {{response: string, item: string, pcm: ArrayBuffer, rate: number}} piece */
  take({ response, item, pcm, rate }) {
    if (this.dead.has(response)) {
      this.counters.lateDropped++;
      return;
    }
    const samples = Float32Array.from(new Int16Array(pcm), (value) => value / 32768);
    const queuedMs = this.line.reduce((sum, speech) => sum + (speech.queued * 1000) / speech.rate, 0);
    const ms = (samples.length * 1000) / rate;
    if (queuedMs + ms > this.options.capMs) {
      this.counters.capDroppedMs += ms;
      return;
    }
    let speech = this.line.find((one) => one.id === response);
    if (!speech) {
      // Another response's sound means that the one before is complete, whether or not its end was told.
      for (const before of this.line) before.ended = true;
      speech = new Speech(response, rate, currentTime);
      this.items.set(response, item);
      this.line.push(speech);
      if (this.line.length === 1) this.wait(this.buffer.ms);
    } else if (!this.paused) {
      const late = (currentTime - speech.anchor) * 1000 - (speech.received * 1000) / speech.rate;
      this.buffer.measure(late);
      if (late > this.hold * 1000) this.counters.lateUnits++;
      if (this.phase === 'waiting' && speech === this.line[0] && speech.starved) {
        speech.starved = false;
        speech.anchor = currentTime - speech.received / speech.rate;
        speech.arrivedAt = currentTime;
        this.wait(Math.min(this.buffer.ms, this.options.catchUpMs));
      }
    }
    speech.add(samples);
  }

  /** @param {number} ms */
  wait(ms) {
    this.phase = 'waiting';
    this.hold = ms / 1000;
    this.counters.startBufferMs = ms;
    this.counters.latenessP95Ms = this.buffer.p95;
  }

  /** @param {string[] | undefined} responses all that is queued when left out */
  flush(responses) {
    const which = responses ?? this.line.map((speech) => speech.id);
    for (const id of which) {
      this.dead.delete(id);
      this.dead.add(id);
    }
    while (this.dead.size > FORGOTTEN) this.dead.delete(/** @type {string} */ (this.dead.values().next().value));
    this.counters.flushes++;
    this.gate.shut();
    for (const [place, speech] of this.line.entries()) {
      if (!this.dead.has(speech.id) || speech.cut) continue;
      speech.cut = true;
      if (place === 0 && this.phase === 'playing') this.phase = 'cutting';
    }
    // What is not sounding goes at once; what sounds goes after its fade.
    this.line = this.line.filter((speech, place) => {
      const stays = !speech.cut || (place === 0 && this.phase === 'cutting');
      if (!stays) this.retire(speech, 'flushed');
      return stays;
    });
    if (this.phase === 'waiting' && this.line.length > 0) this.wait(this.buffer.ms);
  }

  /** @param {Speech} speech @param {'flushed' | 'finished'} how */
  retire(speech, how) {
    const droppedMs = ((speech.received - speech.renderedSamples) * 1000) / speech.rate;
    speech.drop();
    this.tails.push(speech);
    this.tell({ is: how, response: speech.id, item: this.items.get(speech.id), renderedMs: speech.renderedMs, droppedMs, at: currentTime });
  }

  /** @param {'flushed' | 'finished'} how */
  next(how) {
    const [speech] = this.line.splice(0, 1);
    this.retire(speech, how);
    this.fade.level = 0;
    this.phase = 'waiting';
    if (how === 'flushed') this.ducking.reset();
    if (this.line.length > 0) this.wait(this.buffer.ms);
  }

  /** @param {Float32Array[][]} inputs @param {Float32Array[][]} outputs */
  process(inputs, outputs) {
    const [left, ...others] = outputs[0];
    // Time that the person holds the call is no lateness of the sound.
    if (this.paused) for (const speech of this.line) speech.anchor += left.length / sampleRate;
    this.play(left);
    this.ducking.apply(left);
    this.gate.pass(inputs[0]?.[0], left, this.paused);
    for (const channel of others) channel.set(left);
    this.account(left);
    return true;
  }

  /** @param {Float32Array} output zeros */
  play(output) {
    const speech = this.line[0];
    if (!speech) return;
    if (this.phase === 'waiting') {
      const enough = speech.playable > this.fade.frames + output.length;
      if (this.paused || (!speech.ended && !enough)) return;
      if (!speech.ended && currentTime - speech.arrivedAt < this.hold) return;
      this.phase = 'playing';
      this.tell({ is: 'started', response: speech.id, at: currentTime, startBufferMs: this.counters.startBufferMs });
    }
    const starving = !speech.ended && speech.playable < this.fade.frames + output.length;
    const stopping = this.phase === 'cutting' || this.paused || starving;
    const wanted = stopping ? Math.min(output.length, this.fade.tail) : output.length;
    const left = speech.ended ? speech.remaining : Infinity;
    const count = Math.min(wanted, Math.max(0, left));
    if (count > 0) {
      speech.render(output, count);
      this.fade.apply(output, count, stopping ? 0 : 1, left);
    }
    if (this.phase === 'cutting' && (this.fade.tail === 0 || count < wanted)) this.next('flushed');
    else if (speech.ended && speech.remaining <= 0) this.next('finished');
    else if (stopping && this.fade.tail === 0) {
      this.phase = 'waiting';
      if (starving && !this.paused) this.runDry(speech);
    }
  }

  /** @param {Speech} speech */
  runDry(speech) {
    speech.starved = true;
    this.hold = 0;
    this.counters.underruns++;
    this.tell({ is: 'underrun', response: speech.id, renderedMs: speech.renderedMs, at: currentTime });
  }

  /** Cursors, meter, tap. @param {Float32Array} output */
  account(output) {
    this.quanta++;
    for (const speech of this.line) speech.tick(this.latency);
    for (const speech of this.tails) speech.tick(this.latency);
    if (this.quanta % this.ackQuanta === 0) for (const speech of this.line) this.report(speech, false);
    this.tails = this.tails.filter((speech) => {
      const done = speech.heard >= speech.renderedSamples - 1;
      if (done) {
        this.report(speech, true);
        this.items.delete(speech.id);
      } else if (this.quanta % this.ackQuanta === 0) this.report(speech, false);
      return !done;
    });
    for (let i = 0; i < output.length; i++) {
      const size = Math.abs(output[i]);
      if (size > this.peak) this.peak = size;
      this.energy += size * size;
    }
    if (this.quanta % METER_QUANTA === 0) {
      const rms = Math.sqrt(this.energy / (METER_QUANTA * 128));
      this.port.postMessage({ is: 'meter', rms, peak: this.peak, playing: this.phase !== 'waiting', counters: { ...this.counters } });
      this.peak = this.energy = 0;
    }
    if (this.options.tap) this.tap(output);
  }

  /** @param {Speech} speech @param {boolean} done */
  report(speech, done) {
    if (!done && speech.heard === speech.reported) return;
    speech.reported = speech.heard;
    const item = this.items.get(speech.id);
    this.tell({ is: 'cursor', response: speech.id, item, playedMs: speech.heardMs, renderedMs: speech.renderedMs, done, cut: speech.cut, at: currentTime });
  }

  /** @param {Float32Array} output */
  tap(output) {
    // A browser that fell behind skips frames: a piece never spans such a gap.
    if (this.tapFilled > 0 && currentFrame !== this.tappedAt + this.tapFilled) this.postTap();
    if (this.tapFilled === 0) this.tappedAt = currentFrame;
    this.tapped.set(output, this.tapFilled);
    this.tapFilled += output.length;
    if (this.tapFilled === this.tapped.length) this.postTap();
  }

  postTap() {
    this.port.postMessage({ is: 'tap', frame: this.tappedAt, rate: sampleRate, samples: this.tapped.slice(0, this.tapFilled) });
    this.tapFilled = 0;
  }
}

registerProcessor('omnitalk-playback', Playback);

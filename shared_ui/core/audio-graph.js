/** The page's sound: one context, the microphone's worklet, the speaker's worklet. @import { PlaybackSettings } from '../types.js' */

/** @param {string | undefined} deviceId @returns {MediaStreamConstraints} */
const wish = (deviceId) => ({
  audio: { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1, ...(deviceId ? { deviceId: { exact: deviceId } } : {}) },
});

/** @param {MediaDevices} devices @param {string} [deviceId] @returns {Promise<MediaStream>} @throws {DOMException} */
export const openMicrophone = (devices, deviceId) => devices.getUserMedia(wish(deviceId));

export class AudioGraph extends EventTarget {
  /** @param {{inputRate: number, playback: PlaybackSettings, tap: boolean, silent?: boolean}} options */
  constructor(options) {
    super();
    this.options = options;
    this.context = new AudioContext({ latencyHint: 'interactive' });
    /** @type {MediaStream | null} */
    this.stream = null;
    /** @type {MediaStreamAudioSourceNode | null} */
    this.source = null;
    /** @type {AudioWorkletNode | null} */
    this.capture = null;
    /** @type {AudioWorkletNode | null} */
    this.playback = null;
    this.levels = { mic: 0, speaker: 0 };
    /** @type {Record<string, number>} */
    this.counters = {};
    this.toldLatency = -1;
    this.muted = this.held = false;
    /** What peer connections hear and say. @type {Set<import('./peer-sound.js').PeerSound>} */
    this.peers = new Set();
    this.context.onstatechange = () => this.dispatchEvent(new Event('state'));
  }

  /** Loads both worklets. */
  async load() {
    const { context, options } = this;
    const at = (/** @type {string} */ name) => new URL(`../worklets/${name}`, import.meta.url).href;
    await Promise.all([context.audioWorklet.addModule(at('capture.worklet.js')), context.audioWorklet.addModule(at('playback.worklet.js'))]);
    this.capture = new AudioWorkletNode(context, 'omnitalk-capture', {
      numberOfInputs: 1, numberOfOutputs: 1, channelCount: 1, channelCountMode: 'explicit', processorOptions: { rate: options.inputRate },
    });
    this.playback = new AudioWorkletNode(context, 'omnitalk-playback', {
      numberOfInputs: 1, numberOfOutputs: 1, outputChannelCount: [2], channelCount: 1, channelCountMode: 'explicit', processorOptions: { ...options.playback, tap: options.tap },
    });
    // A worklet that leads nowhere is not run; the microphone's puts out silence.
    this.capture.connect(context.destination);
    // A measurement is run like a call, and not heard.
    if (options.silent) this.playback.connect(new GainNode(context, { gain: 0 })).connect(context.destination);
    else this.playback.connect(context.destination);
    this.capture.port.onmessage = ({ data }) => {
      this.levels.mic = data.level.rms;
      this.dispatchEvent(new CustomEvent('pieces', { detail: data.frames }));
      this.dispatchEvent(new CustomEvent('level', { detail: data.muted ? 0 : data.level.rms }));
    };
    this.playback.port.onmessage = ({ data }) => this.hear(data);
    this.capture.onprocessorerror = this.playback.onprocessorerror = () => this.dispatchEvent(new Event('failed'));
  }

  /** New ports for a link that carries both sounds; the microphone's goes to the newest. @returns {{capture: MessagePort, playback: MessagePort}} */
  ports() {
    const capture = new MessageChannel();
    const playback = new MessageChannel();
    this.capture?.port.postMessage({ do: 'connect', port: capture.port2 }, [capture.port2]);
    this.playback?.port.postMessage({ do: 'connect', port: playback.port2 }, [playback.port2]);
    return { capture: capture.port1, playback: playback.port1 };
  }

  /** @param {any} data */
  hear(data) {
    if (data.is === 'meter') {
      this.levels.speaker = data.rms;
      this.counters = data.counters;
      this.tellLatency();
      return;
    }
    this.dispatchEvent(new CustomEvent(data.is === 'tap' ? 'tap' : 'playback', { detail: data }));
  }

  /** What leaves the worklet is heard this much later; it changes with the device. */
  get latency() {
    return this.context.outputLatency || this.context.baseLatency || 0;
  }

  tellLatency() {
    if (Math.abs(this.latency - this.toldLatency) < 0.002) return;
    this.toldLatency = this.latency;
    this.playback?.port.postMessage({ do: 'latency', seconds: this.latency });
  }

  /** The new microphone is connected before the old one is let go: no gap. @param {MediaStream} stream */
  use(stream) {
    const source = this.context.createMediaStreamSource(stream);
    if (this.capture) source.connect(this.capture);
    this.source?.disconnect();
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    this.source = source;
    this.stream = stream;
    for (const peer of this.peers) peer.use(stream);
  }

  /** @param {string} deviceId @throws {Error} */
  async setSink(deviceId) {
    const context = /** @type {AudioContext & {setSinkId?: (id: string) => Promise<void>}} */ (this.context);
    if (!context.setSinkId) throw new Error('AudioContext.setSinkId is missing');
    await context.setSinkId(deviceId);
  }

  /** @param {{do: 'mute', muted: boolean} | {do: 'hold', held: boolean}} order */
  tellCapture(order) {
    this.capture?.port.postMessage(order);
    if (order.do === 'mute') this.muted = order.muted;
    else this.held = order.held;
    for (const peer of this.peers) peer.obey();
  }

  /** @param {object} order */
  tellPlayback(order) {
    this.playback?.port.postMessage(order);
  }

  async close() {
    for (const peer of [...this.peers]) peer.end();
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    this.source?.disconnect();
    this.capture?.disconnect();
    this.playback?.disconnect();
    this.levels = { mic: 0, speaker: 0 };
    if (this.context.state !== 'closed') await this.context.close();
  }
}

/**
 * A true loop-back: chirps go in where the microphone would, over the path of a call to the server, which says them back, and out where the
 * speaker would be. What the operating system adds at both ends is not in it; the browser knows its half of that (`outputLatencyMs`).
 * @import { Config, LoopbackResult, Path, Profile } from '../types.js'
 */
import { CallSession } from './session.js';

const RATE = 8_000; // enough for chirps of up to 3.2 kHz
const CHIRP_S = 0.04;
const [LOW, HIGH] = [400, 3_200]; // Hz: every codec and resampler of a call carries that
const NOISE = 8e-4;
const GAPS_S = [0.62, 0.74, 0.57, 0.69]; // not regular: an echo of one chirp must not be taken for the next
const LONGEST_MS = 1_250;

/** A sweep under a Hann window, as its two quadratures: the strength of a match does not depend on phase. @param {number} rate */
export function chirp(rate) {
  const count = Math.round(rate * CHIRP_S);
  const [sine, cosine] = [new Float32Array(count), new Float32Array(count)];
  for (let i = 0; i < count; i++) {
    const t = i / rate;
    const phase = 2 * Math.PI * (LOW * t + ((HIGH - LOW) / (2 * CHIRP_S)) * t * t);
    const window = 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / (count - 1));
    sine[i] = Math.sin(phase) * window;
    cosine[i] = Math.cos(phase) * window;
  }
  return { sine, cosine };
}

/** Where chirps begin, ms from the first sample. @param {Float32Array} samples @param {number} rate a multiple of 8,000 Hz, or near one @returns {number[]} */
export function onsets(samples, rate) {
  const step = rate / RATE;
  const sound = new Float32Array(Math.floor(samples.length / step));
  for (let i = 0; i < sound.length; i++) {
    const [from, to] = [Math.round(i * step), Math.round((i + 1) * step)];
    for (let j = from; j < to; j++) sound[i] += samples[j] / (to - from);
  }
  const { sine, cosine } = chirp(RATE);
  const strength = new Float32Array(Math.max(0, sound.length - sine.length));
  let most = 0;
  for (let i = 0; i < strength.length; i++) {
    let [a, b] = [0, 0];
    for (let j = 0; j < sine.length; j++) {
      a += sound[i + j] * sine[j];
      b += sound[i + j] * cosine[j];
    }
    strength[i] = Math.hypot(a, b);
    if (strength[i] > most) most = strength[i];
  }
  const found = [];
  for (let i = 0; most > 0 && i < strength.length; i++) {
    if (strength[i] < 0.35 * most) continue;
    let peak = i;
    for (let j = i; j < Math.min(strength.length, i + RATE / 4); j++) if (strength[j] > strength[peak]) peak = j;
    found.push((1000 * peak) / RATE);
    i = peak + 0.3 * RATE;
  }
  return found;
}

/** From each chirp said to the next one heard; those that were never heard are left out. @param {number[]} said @param {number[]} heard */
export function pairUp(said, heard) {
  return said.map((at) => (heard.find((one) => one >= at) ?? Infinity) - at).filter((ms) => ms < LONGEST_MS);
}

/** The same address with the server's echo at its end. @param {string} path */
const echoing = (path) => `${path}${path.includes('?') ? '&' : '?'}loopback=1`;

/** @param {Config} config @returns {Config} */
function echoed(config) {
  const { realtime, webrtc } = config;
  return {
    ...config,
    realtime: { ...realtime, path: echoing(realtime.path), public_url: realtime.public_url ? echoing(realtime.public_url) : null },
    webrtc: webrtc ? { ...webrtc, path: echoing(webrtc.path) } : null,
  };
}

/**
 * Runs the test. Takes about eight seconds; the person hears nothing of it, and their microphone is not used.
 * @param {{config: Config, baseUrl: string, path: 'auto' | Path, startBufferMs: number, chirps?: number}} options @returns {Promise<LoopbackResult>} @throws {Error} with a sentence when the echo cannot be reached
 */
export async function loopback({ config, baseUrl, path, startBufferMs, chirps = 10 }) {
  const voice = new AudioContext({ sampleRate: 48_000 });
  const out = new MediaStreamAudioDestinationNode(voice);
  const buffer = voice.createBuffer(1, 48_000, 48_000);
  const hiss = buffer.getChannelData(0);
  for (let i = 0; i < hiss.length; i++) hiss[i] = (Math.random() * 2 - 1) * NOISE;
  const floor = new AudioBufferSourceNode(voice, { buffer, loop: true });
  floor.connect(out);
  floor.start();
  const profile = /** @type {Profile} */ ({
    id: 'loopback', data: { id: 'loopback' }, input: { rate: 16_000 }, playback: { startBufferMs, ackIntervalMs: 200 },
    initialSession: () => ({ output_modalities: ['audio'], turn_detection: null }),
  });
  const mediaDevices = /** @type {MediaDevices} */ (/** @type {unknown} */ ({ getUserMedia: async () => out.stream, enumerateDevices: async () => [] }));
  const session = new CallSession({ config: echoed(config), profile, baseUrl, path, mediaDevices, tap: true, silent: true });
  /** @type {{frame: number, rate: number, samples: Float32Array, at: number}[]} */
  const taps = [];
  session.addEventListener('tap', (event) => taps.push({ .../** @type {CustomEvent} */ (event).detail, at: performance.now() }));
  try {
    await voice.resume();
    await session.start();
    if (session.state.phase !== 'live') throw new Error(session.state.error?.message ?? 'The server has no echo.');
    const { said, seconds } = speak(voice, out, chirps);
    // The clocks of sound and page are matched at their closest: a reading can only come late.
    let ahead = Infinity;
    const until = performance.now() + 1000 * seconds;
    while (performance.now() < until) {
      ahead = Math.min(ahead, performance.now() - 1000 * voice.currentTime);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const stats = await session.stats();
    const heard = heardAt(taps);
    const delays = pairUp(said.map((at) => 1000 * at + ahead), heard).sort((a, b) => a - b);
    return {
      path: session.state.transport.kind,
      medianMs: delays.length ? delays[Math.floor(delays.length / 2)] : null,
      p95Ms: delays.length ? delays[Math.ceil(0.95 * delays.length) - 1] : null,
      heard: delays.length, said: said.length,
      underruns: session.state.transport.kind === 'websocket' ? (stats.underruns ?? null) : null,
      outputLatencyMs: stats.outputLatencyMs || null,
    };
  } finally {
    session.end('client_close');
    await voice.close();
  }
}

/** Schedules the chirps. @param {AudioContext} voice @param {AudioNode} out @param {number} count */
function speak(voice, out, count) {
  const { sine } = chirp(48_000);
  const buffer = voice.createBuffer(1, sine.length, 48_000);
  buffer.copyToChannel(sine.map((x) => 0.6 * x), 0);
  const said = [];
  let at = voice.currentTime + 0.8;
  for (let i = 0; i < count; i++) {
    const one = new AudioBufferSourceNode(voice, { buffer });
    one.connect(out);
    one.start(at);
    said.push(at);
    at += GAPS_S[i % GAPS_S.length];
  }
  return { said, seconds: at - voice.currentTime + 0.8 };
}

/** When chirps left the page, ms of the page's clock. @param {{frame: number, rate: number, samples: Float32Array, at: number}[]} taps */
function heardAt(taps) {
  if (taps.length === 0) return [];
  const [first, last] = [taps[0], taps[taps.length - 1]];
  const sound = new Float32Array(last.frame + last.samples.length - first.frame);
  for (const tap of taps) sound.set(tap.samples, tap.frame - first.frame);
  const zero = Math.min(...taps.map((tap) => tap.at - (1000 * (tap.frame + tap.samples.length)) / tap.rate));
  return onsets(sound, first.rate).map((ms) => ms + zero + (1000 * first.frame) / first.rate);
}

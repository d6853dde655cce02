/** Instruments for the browser tests: tones, a tapped speaker, levels of one frequency. */
import { CallSession } from '/shared_ui/core/session.js';

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Resolves when `test()` holds; the test's own time limit ends a wait in vain. */
export async function until(test, limitMs = 15_000) {
  const end = performance.now() + limitMs;
  while (!test()) {
    if (performance.now() > end) throw new Error(`never came true: ${test}`);
    await pause(5);
  }
}

/** PCM16 of a sine, with its phase running on from sample `from`. */
export function tone(frequency, ms, { rate = 24_000, amplitude = 0.5, from = 0 } = {}) {
  const samples = new Int16Array(Math.round((rate * ms) / 1000));
  for (let i = 0; i < samples.length; i++) samples[i] = Math.round(32767 * amplitude * Math.sin((2 * Math.PI * frequency * (i + from)) / rate));
  return samples.buffer;
}

/** The playback worklet alone, with everything it says and plays. */
export async function speaker(options = {}) {
  const context = new AudioContext();
  await context.audioWorklet.addModule('/shared_ui/worklets/playback.worklet.js');
  const node = new AudioWorkletNode(context, 'omnitalk-playback', {
    numberOfInputs: 0, outputChannelCount: [2], processorOptions: { startBufferMs: 40, ackIntervalMs: 20, tap: true, ...options },
  });
  const said = [];
  const blocks = [];
  node.port.onmessage = ({ data }) => (data.is === 'tap' ? blocks : said).push(data);
  node.connect(context.destination);
  await context.resume();
  await until(() => blocks.length > 0);
  return {
    context, said, rate: context.sampleRate,
    send: (order) => node.port.postMessage(order),
    say: (response, pcm, rate = 24_000) => node.port.postMessage({ do: 'audio', response, item: `item_${response}`, pcm, rate }),
    heard: (is, response) => said.find((one) => one.is === is && (!response || one.response === response)),
    first: blocks[0].frame,
    get samples() {
      const last = blocks.at(-1);
      const all = new Float32Array(last.frame + last.samples.length - blocks[0].frame);
      for (const block of blocks) all.set(block.samples, block.frame - blocks[0].frame);
      return all;
    },
  };
}

/** Amplitude of one frequency in samples[from, to). */
export function level(samples, frequency, rate, from, to) {
  let re = 0;
  let im = 0;
  for (let i = from; i < to; i++) {
    re += samples[i] * Math.cos((2 * Math.PI * frequency * i) / rate);
    im += samples[i] * Math.sin((2 * Math.PI * frequency * i) / rate);
  }
  return (2 * Math.hypot(re, im)) / (to - from);
}

export const loudest = (samples, from = 0, to = samples.length) => samples.subarray(Math.max(0, from), to).reduce((most, x) => Math.max(most, Math.abs(x)), 0);

/** The largest step between neighbours: a click is a step that the tone itself cannot make. */
export function steepest(samples) {
  let most = 0;
  for (let i = 1; i < samples.length; i++) most = Math.max(most, Math.abs(samples[i] - samples[i - 1]));
  return most;
}

/** A session on the test's own socket. */
export function call(more = {}) {
  const profile = {
    id: 'test', data: { id: 'test' }, input: { rate: 16_000 }, playback: { startBufferMs: 40, ackIntervalMs: 60 },
    initialSession: () => ({ instructions: 'be brief' }), ...more.profile,
  };
  const config = { realtime: { path: 'v1/realtime', public_url: null, subprotocol: 'omnitalk.binary.v1' }, limits: { grace_s: 30 }, ...more.config };
  const session = new CallSession({ config, profile, tap: true, mediaDevices: more.mediaDevices, transport: { firstRetryMs: 20, ...more.transport } });
  session.taps = [];
  session.addEventListener('tap', ({ detail }) => session.taps.push(detail));
  globalThis.session = session;
  return session;
}

/** Microphones of our own: each device is a tone, `open(id)` counts. Unplugging ends its track, as the browser does. */
export function microphones(tones, { delayMs = 120 } = {}) {
  const context = new AudioContext({ sampleRate: 48_000 });
  const events = new EventTarget();
  const plugged = new Map(Object.entries(tones));
  const live = new Map();
  const devices = {
    addEventListener: (...args) => events.addEventListener(...args),
    removeEventListener: (...args) => events.removeEventListener(...args),
    enumerateDevices: async () => [...plugged.keys()].map((deviceId) => ({ kind: 'audioinput', deviceId, label: deviceId, groupId: '' })),
    async getUserMedia({ audio }) {
      await context.resume();
      await pause(delayMs); // real devices take their time
      const wanted = audio.deviceId?.exact ?? audio.deviceId;
      const id = wanted && wanted !== 'default' ? wanted : plugged.keys().next().value;
      if (!plugged.has(id)) throw new DOMException('no such device', 'NotFoundError');
      const out = new MediaStreamAudioDestinationNode(context);
      const source = new OscillatorNode(context, { frequency: plugged.get(id) });
      source.connect(out);
      source.start();
      const [track] = out.stream.getAudioTracks();
      track.getSettings = () => ({ deviceId: id });
      live.set(id, track);
      return out.stream;
    },
  };
  return {
    devices,
    unplug(id) {
      plugged.delete(id);
      live.get(id).stop();
      live.get(id).dispatchEvent(new Event('ended'));
      events.dispatchEvent(new Event('devicechange'));
    },
  };
}

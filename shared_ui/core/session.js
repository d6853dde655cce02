/**
 * One call: microphone, speaker, connection, and a state that a view can show. The README beside this file is the reference.
 * @import { CallState, CallStats, Choices, Config, LineOptions, Path, PictureKind, Problem, Profile, SessionForProfile, TransportStatus, WireEvent } from '../types.js'
 */
import { ActivityTracker } from './activity.js';
import { AudioGraph, openMicrophone } from './audio-graph.js';
import { EventLog } from './event-log.js';
import { Line } from './line.js';
import { socketUrl } from './link.js';
import { closeProblem, microphoneProblem, notReady, problem } from './problems.js';
import { Rates, figuresOf } from './figures.js';
import { CallPictures } from './call-pictures.js';
import { SUBPROTOCOL } from './frames.js';
import { Timeline } from './timeline.js';
import { Transcript } from './transcript.js';

/** @type {CallState} */
const IDLE = Object.freeze({
  phase: 'idle', activity: 'listening', queue: null, muted: false, held: false, audioBlocked: false, startedAt: null, endedAt: null, endReason: null,
  transport: Object.freeze({ kind: 'websocket', why: '', state: 'idle', attempt: 0, retryInMs: null }),
  microphone: null, speaker: null, pictures: null, context: null, notice: null, error: null,
});
const OVER = new Set(['ended', 'failed']);
const TALKING = new Set(['live', 'reconnecting']);

/** @implements {SessionForProfile} */
export class CallSession extends EventTarget {
  /** @type {CallState} */
  #state = IDLE;
  #transcript = new Transcript();
  #log = new EventLog();
  #activity = new ActivityTracker();
  #rates = new Rates();
  /** @type {import('../types.js').PathFigures | null} */
  #path = null;
  #begunAt = 0;
  /** @type {Line | null} */
  #line = null;
  /** @type {AudioGraph | null} */
  #audio = null;
  /** Responses that may still sound: begun, and neither heard to the end nor flushed. @type {Set<string>} */
  #sounding = new Set();
  #swaps = 0;
  /** @type {CallPictures} */
  #pictures;

  /**
   * @param {{config: Config, profile: Profile, choices?: Choices, refreshConfig?: () => Promise<Config>, baseUrl?: string,
   *   mediaDevices?: MediaDevices, tap?: boolean, silent?: boolean, path?: 'auto' | Path, transport?: object, peer?: object, line?: Partial<LineOptions>}} options `transport`, `peer`, `line`:
   *   overrides of the times and bounds of the socket, the peer connection and the choice between them
   */
  constructor(options) {
    super();
    this.options = options;
    this.config = options.config;
    this.timeline = new Timeline();
    this.profile = options.profile;
    this.devices = options.mediaDevices ?? globalThis.navigator?.mediaDevices;
    this.#pictures = new CallPictures(this, () => this.#line);
    this.#pictures.addEventListener('change', () => this.#set({ pictures: this.#pictures.shown }));
    this.#pictures.addEventListener('problem', (message) => this.#complain(/** @type {CustomEvent} */ (message).detail));
    this.#pictures.addEventListener('picture', (message) => this.dispatchEvent(new CustomEvent('picture', { detail: /** @type {CustomEvent} */ (message).detail })));
  }

  get state() {
    return this.#state;
  }

  /** What the camera or the shared screen shows, for a preview; null when nothing is shown. */
  get pictureStream() {
    return this.#pictures.stream;
  }

  /** ms since the call went live, for the timeline. */
  get now() {
    return this.#begunAt ? performance.now() - this.#begunAt : 0;
  }

  get transcript() {
    return this.#transcript.entries;
  }

  get events() {
    return this.#log.entries;
  }

  get levels() {
    return this.#audio?.levels ?? { mic: 0, speaker: 0 };
  }

  /** @param {Partial<CallState>} changes */
  #set(changes) {
    this.#state = Object.freeze({ ...this.#state, ...changes });
    this.dispatchEvent(new Event('change'));
  }

  /** @param {'in' | 'out' | 'local'} direction @param {WireEvent} event @param {number} [bytes] */
  #note(direction, event, bytes) {
    this.dispatchEvent(new CustomEvent('event', { detail: this.#log.add(direction, event, bytes) }));
  }

  /** Something went wrong and the call goes on. @param {Problem} error */
  #complain(error) {
    this.#note('local', { type: 'problem', ...error });
    this.#set({ error });
    this.dispatchEvent(new CustomEvent('error', { detail: error }));
  }

  // -- begin and end --------------------------------------------------------------------------------------------------------

  /** Begins the call. Call it inside the person's click. */
  async start() {
    if (this.#state.phase !== 'idle') return;
    this.#set({ phase: 'checking', error: null });
    if (globalThis.isSecureContext === false) return this.#fail(problem('insecure_context'));
    if (!this.devices?.getUserMedia || !globalThis.AudioWorkletNode || !globalThis.Worker) return this.#fail(problem('browser_too_old'));
    // The context is made before anything is awaited: the gesture is still counted then.
    const audio = new AudioGraph({ inputRate: this.profile.input.rate, playback: this.profile.playback, tap: this.options.tap ?? false, silent: this.options.silent ?? false });
    this.#audio = audio;
    const resumed = audio.context.resume().then(() => true, () => false);
    const ready = await this.#engineReady();
    if (this.#gone(audio)) return;
    if (ready) return this.#fail(ready);
    const stream = await this.#openFirstMicrophone();
    if (this.#gone(audio)) return stream?.getTracks().forEach((track) => track.stop());
    if (!stream) return;
    try {
      await audio.load();
    } catch (error) {
      return this.#fail(problem('audio_failed', { detail: String(error) }));
    }
    if (this.#gone(audio)) return stream.getTracks().forEach((track) => track.stop());
    this.#listenToAudio(audio);
    // Who muted before there was a microphone to mute is not heard either.
    audio.tellCapture({ do: 'mute', muted: this.#state.muted });
    this.#useMicrophone(stream);
    if (this.options.choices?.speaker) await this.setSpeaker(this.options.choices.speaker);
    if (this.#gone(audio)) return;
    await Promise.race([resumed, new Promise((resolve) => setTimeout(resolve, 300))]); // a blocked context never settles
    if (this.#gone(audio)) return;
    if (audio.context.state !== 'running') this.#blocked();
    await this.#connect(audio);
  }

  /** @param {AudioGraph} audio */
  #gone(audio) {
    return OVER.has(this.#state.phase) || this.#audio !== audio;
  }

  async #engineReady() {
    if (this.config.ready?.ready !== false) return null;
    try {
      if (this.options.refreshConfig) this.config = await this.options.refreshConfig();
    } catch (error) {
      return problem('server_unreachable', { detail: String(error) });
    }
    return this.config.ready?.ready === false ? notReady(this.config.ready) : null;
  }

  async #openFirstMicrophone() {
    const wanted = this.options.choices?.microphone;
    try {
      return await openMicrophone(this.devices, wanted);
    } catch (error) {
      // A remembered microphone may be unplugged today: any other is better than no call.
      if (wanted && error instanceof DOMException && ['OverconstrainedError', 'NotFoundError'].includes(error.name)) {
        const stream = await openMicrophone(this.devices).catch((again) => (this.#fail(microphoneProblem(again)), null));
        return stream;
      }
      this.#fail(microphoneProblem(error));
      return null;
    }
  }

  /** @param {AudioGraph} audio @returns {Promise<void>} when the call is live or over */
  #connect(audio) {
    const { config, options } = this;
    const base = options.baseUrl ?? document.baseURI;
    const session = this.profile.initialSession(config, options.choices ?? {});
    const first = { type: 'session.update', session };
    const graceMs = (config.limits?.grace_s ?? 30) * 1000;
    const subprotocol = config.realtime.subprotocol ?? SUBPROTOCOL;
    const backlogBytes = this.profile.input.rate / 2; // a quarter of a second of PCM16 in the socket itself
    const socket = { url: socketUrl(config, base), subprotocol, pass: config.realtime.pass, first, graceMs, backlogBytes, ...options.transport };
    const at = (/** @type {string} */ path) => new URL(path, base).href;
    const webrtc = config.webrtc
      ? { callsUrl: `${at(config.webrtc.path)}${config.webrtc.path.includes('?') ? '&' : '?'}duplex=1`, iceServersUrl: at(config.webrtc.ice_servers), session, ackEveryMs: 2_000, ackEveryEvents: 50, ...options.peer }
      : null;
    const hangUpUrl = (/** @type {string} */ id) => `${at(config.realtime.path).split('?')[0]}/calls/${encodeURIComponent(id)}/hangup`;
    const line = new Line({ wanted: options.path ?? 'auto', socket, webrtc, hangUpUrl, graceMs, ...options.line }, audio);
    line.quiet = () => this.#sounding.size === 0;
    this.#line = line;
    this.#set({ phase: 'connecting' });
    this.#note('out', first);
    line.addEventListener('event', (message) => {
      const { event, bytes } = /** @type {CustomEvent} */ (message).detail;
      this.#serverEvent(event, bytes);
    });
    line.addEventListener('note', (message) => {
      this.#note('local', /** @type {CustomEvent} */ (message).detail);
      this.timeline.mark(this.now, 'path');
    });
    line.addEventListener('path', (message) => (this.#path = /** @type {CustomEvent} */ (message).detail));
    line.addEventListener('picture', (message) => void this.#pictures.take(/** @type {CustomEvent} */ (message).detail));
    line.addEventListener('status', (message) => this.#status(/** @type {CustomEvent} */ (message).detail));
    return new Promise((resolve) => {
      const settle = () => {
        if (this.#state.phase !== 'live' && !OVER.has(this.#state.phase)) return;
        this.removeEventListener('change', settle);
        resolve();
      };
      this.addEventListener('change', settle);
      line.open();
    });
  }

  /** Hangs up. @param {string} [reason] */
  end(reason = 'client_close') {
    if (OVER.has(this.#state.phase) || this.#state.phase === 'idle') return;
    if (this.#state.phase === 'queued') this.send({ type: 'omnitalk.queue.leave' });
    this.#note('local', { type: 'end', reason });
    this.#finish('ended', reason, null);
  }

  /** @param {Problem} error */
  #fail(error) {
    this.#finish('failed', error.code, error);
  }

  /** @param {'ended' | 'failed'} phase @param {string} endReason @param {Problem | null} error */
  #finish(phase, endReason, error) {
    if (OVER.has(this.#state.phase)) return;
    this.devices?.removeEventListener?.('devicechange', this.#devicesChanged);
    this.#line?.close(endReason, endReason === 'page_closed');
    const audio = this.#audio;
    this.#audio = null;
    this.#pictures.hide();
    audio?.close().catch((failure) => this.#note('local', { type: 'audio_close_failed', message: String(failure) }));
    this.#sounding.clear();
    const transport = { ...this.#state.transport, state: /** @type {const} */ ('closed'), retryInMs: null };
    if (error) this.#note('local', { type: 'problem', ...error });
    this.#set({ phase, endReason, error, endedAt: Date.now(), queue: null, pictures: null, audioBlocked: false, transport, activity: 'listening' });
    if (error) this.dispatchEvent(new CustomEvent('error', { detail: error }));
  }

  // -- the connection ---------------------------------------------------------------------------------------------------------

  /** @param {TransportStatus & {kind: Path, why: string}} status */
  #status({ kind, why, state, attempt, retryInMs, code, detail }) {
    if (OVER.has(this.#state.phase)) return;
    const transport = { kind, why, state, attempt, retryInMs };
    if (state === 'open') {
      const first = this.#state.startedAt === null;
      if (first) this.#begunAt = performance.now();
      this.#set({ transport, phase: 'live', queue: null, ...(first ? { startedAt: Date.now() } : {}) });
      if (first && this.#state.muted) this.send({ type: 'omnitalk.mute', muted: true });
    } else if (state === 'reconnecting') this.#set({ transport, phase: 'reconnecting' });
    else if (state === 'closed') {
      const wasLive = this.#state.startedAt !== null;
      if (code === 'server_unreachable' && !wasLive) return void this.#unreachable(detail ?? '');
      const error = closeProblem(code ?? '', detail ?? '', wasLive);
      this.#finish(wasLive ? 'ended' : 'failed', code ?? '', error);
    } else this.#set({ transport });
  }

  /** No call was opened: is the server gone, or does something on the way stop calls only? @param {string} detail */
  async #unreachable(detail) {
    const answers = (await this.options.refreshConfig?.().then(() => true, () => false)) ?? false;
    this.#finish('failed', 'server_unreachable', problem(answers ? 'socket_blocked' : 'server_unreachable', { detail }));
  }

  /** @param {WireEvent} event @param {number} bytes of sound */
  #serverEvent(event, bytes) {
    this.#note('in', event, bytes);
    if (OVER.has(this.#state.phase)) return;
    if (this.#transcript.take(event)) this.dispatchEvent(new Event('transcript'));
    const activity = this.#activity.take(event);
    if (activity && activity !== this.#state.activity) this.#set({ activity });
    const id = event.response_id ?? event.response?.id ?? '';
    switch (event.type) {
      case 'response.created':
        this.#sounding.add(id);
        break;
      case 'output_audio_buffer.started':
        this.timeline.begin(this.now, id);
        break;
      case 'output_audio_buffer.cleared':
        this.#sounding.delete(id);
        this.timeline.finish(this.now, id, true);
        break;
      case 'output_audio_buffer.stopped':
        this.timeline.finish(this.now, id);
        this.#heardOut(id);
        break;
      case 'omnitalk.duck':
      case 'omnitalk.unduck':
        this.timeline.mark(this.now, event.type === 'omnitalk.duck' ? 'duck' : 'unduck');
        break;
      case 'omnitalk.queue':
        this.#set({ phase: 'queued', queue: { position: event.position, length: event.length, estimatedWaitMs: event.estimated_wait_ms ?? null } });
        break;
      case 'omnitalk.context':
        this.#set({ context: { usedTokens: event.used_tokens, maxTokens: event.max_tokens, secondsLeft: event.seconds_left ?? null } });
        break;
      case 'omnitalk.notice':
        this.#set({ notice: { level: event.level, code: event.code, message: event.message } });
        break;
      case 'session.resync_required':
        this.#complain(problem('events_missed', { detail: event.reason }));
        break;
      case 'error':
        if (this.#state.phase === 'live') this.#complain({ ...problem('refused'), title: 'The server refused something', message: event.error?.message ?? '', action: 'none', detail: event.error?.code });
        break;
    }
    this.profile.onServerEvent?.(event, this);
  }

  // -- sound ------------------------------------------------------------------------------------------------------------------

  /** @param {AudioGraph} audio */
  #listenToAudio(audio) {
    audio.addEventListener('playback', (message) => {
      const { is, response, done } = /** @type {CustomEvent} */ (message).detail;
      if (is === 'started') this.timeline.begin(this.now, response);
      else if (is === 'finished' || is === 'flushed') this.timeline.finish(this.now, response, is === 'flushed');
      else if (is === 'underrun') this.timeline.mark(this.now, 'gap');
      if (is !== 'cursor') this.#note('local', { type: `playback.${is}`, ...(/** @type {CustomEvent} */ (message).detail) });
      if (!(is === 'cursor' && done)) return;
      this.#heardOut(response);
    });
    audio.addEventListener('level', (message) => this.#begunAt && this.timeline.hear(this.now, /** @type {CustomEvent<number>} */ (message).detail));
    audio.addEventListener('tap', (message) => this.dispatchEvent(new CustomEvent('tap', { detail: /** @type {CustomEvent} */ (message).detail })));
    audio.addEventListener('failed', () => this.#fail(problem('audio_failed', { detail: 'an audio worklet stopped' })));
    audio.addEventListener('state', () => {
      if (this.#gone(audio)) return;
      if (audio.context.state === 'running') {
        if (this.#state.audioBlocked) this.#set({ audioBlocked: false, error: this.#state.error?.code === 'audio_blocked' ? null : this.#state.error });
      } else if (TALKING.has(this.#state.phase)) this.#blocked();
    });
    this.devices.addEventListener?.('devicechange', this.#devicesChanged);
  }

  /** The last of a response has been heard. @param {string} response */
  #heardOut(response) {
    this.#sounding.delete(response);
    const activity = this.#sounding.size === 0 ? this.#activity.silent(this.#state.activity) : null;
    if (activity) this.#set({ activity });
  }

  #blocked() {
    if (this.#state.audioBlocked) return;
    this.#set({ audioBlocked: true });
    this.#complain(problem('audio_blocked'));
  }

  /** Call inside a gesture. */
  async unblockAudio() {
    await this.#audio?.context.resume();
  }

  /** @param {MediaStream} stream */
  #useMicrophone(stream) {
    const track = stream.getAudioTracks()[0];
    this.#audio?.use(stream);
    track.onended = () => this.#microphoneLost(stream);
    this.#set({ microphone: { deviceId: track.getSettings().deviceId ?? '', label: track.label } });
  }

  /** @param {MediaStream} stream */
  async #microphoneLost(stream) {
    if (this.#audio?.stream !== stream) return;
    this.#complain(problem('microphone_lost'));
    await this.#swap(undefined);
  }

  #devicesChanged = async () => {
    const stream = this.#audio?.stream;
    if (stream && stream.getAudioTracks().every((track) => track.readyState === 'ended')) await this.#microphoneLost(stream);
    const sink = this.#state.speaker?.deviceId;
    if (!sink) return;
    const devices = await this.devices.enumerateDevices();
    if (!devices.some((device) => device.kind === 'audiooutput' && device.deviceId === sink)) await this.setSpeaker('');
  };

  /** @param {string | undefined} deviceId @returns {Promise<boolean>} */
  async #swap(deviceId) {
    const audio = this.#audio;
    if (!audio) return false;
    const mine = ++this.#swaps;
    try {
      const stream = await openMicrophone(this.devices, deviceId);
      // The call may have ended, or the person chosen again, while the browser was asking.
      if (this.#audio !== audio || mine !== this.#swaps) {
        for (const track of stream.getTracks()) track.stop();
        return false;
      }
      this.#useMicrophone(stream);
      const code = this.#state.error?.code ?? '';
      if (code.startsWith('microphone_') || code === 'no_microphone') this.#set({ error: null });
      return true;
    } catch (error) {
      if (this.#audio === audio) this.#complain(microphoneProblem(error));
      return false;
    }
  }

  /** @param {string} deviceId */
  setMicrophone(deviceId) {
    return this.#swap(deviceId);
  }

  /** @param {string} deviceId empty: the system's */
  async setSpeaker(deviceId) {
    try {
      await this.#audio?.setSink(deviceId);
      this.#set({ speaker: { deviceId } });
      return true;
    } catch (error) {
      this.#complain(problem('speaker_failed', { detail: String(error) }));
      return false;
    }
  }

  // -- what the person does -----------------------------------------------------------------------------------------------------

  /** @param {WireEvent} event @returns {boolean} whether there is a call to send it to */
  send(event) {
    if (!this.#line || OVER.has(this.#state.phase)) return false;
    this.#note('out', event);
    return this.#line.send(event);
  }

  /** @param {boolean} muted */
  setMuted(muted) {
    if (muted === this.#state.muted) return;
    this.#audio?.tellCapture({ do: 'mute', muted });
    this.#set({ muted });
    if (TALKING.has(this.#state.phase)) this.send({ type: 'omnitalk.mute', muted });
  }

  /** @param {boolean} held */
  setHold(held) {
    if (held === this.#state.held || !TALKING.has(this.#state.phase)) return;
    this.#audio?.tellCapture({ do: 'hold', held });
    this.#audio?.tellPlayback({ do: 'pause', paused: held });
    this.#set({ held, activity: held ? 'held' : 'listening' });
    this.send({ type: 'omnitalk.hold', held });
  }

  /** @param {{hard?: boolean, source?: string}} [options] */
  interrupt({ hard = false, source = 'button' } = {}) {
    if (!TALKING.has(this.#state.phase)) return;
    this.flush();
    this.send({ type: 'omnitalk.interrupt', hard, source });
  }

  /** @param {string} [responseId] */
  flush(responseId) {
    // Responses that were begun and have not sounded yet are silenced too.
    this.#audio?.tellPlayback({ do: 'flush', responses: responseId ? [responseId] : undefined });
    if (!responseId && this.#sounding.size) this.#audio?.tellPlayback({ do: 'flush', responses: [...this.#sounding] });
    if (responseId) this.#sounding.delete(responseId);
    else this.#sounding.clear();
  }

  /** @param {string} responseId */
  isSounding(responseId) {
    return this.#sounding.has(responseId);
  }

  /** @param {string} text */
  sendText(text) {
    const words = text.trim();
    if (!words || !TALKING.has(this.#state.phase)) return false;
    if (this.profile.sendText) this.profile.sendText(words, this);
    else {
      this.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: words }] } });
      this.send({ type: 'response.create' });
    }
    return true;
  }

  commitTurn() {
    if (!TALKING.has(this.#state.phase)) return;
    if (this.profile.commitTurn) return this.profile.commitTurn(this);
    this.send({ type: 'input_audio_buffer.commit' });
    this.send({ type: 'response.create' });
  }

  /** @param {Record<string, unknown>} patch */
  updateSession(patch) {
    return this.send({ type: 'session.update', session: patch });
  }

  // -- pictures ---------------------------------------------------------------------------------------------------------------

  /** Shows the model a camera or the screen, or nothing. Resolves `false` with an `error` event when it could not. @param {PictureKind | 'off'} kind @param {{deviceId?: string, facing?: 'user' | 'environment'}} [wish] */
  setPictures(kind, wish = {}) {
    return kind === 'off' ? Promise.resolve(this.#pictures.hide()) : this.#pictures.show(kind, wish);
  }

  /** @param {ArrayBuffer[]} jpegs at most two */
  sendFrames(jpegs) {
    if (TALKING.has(this.#state.phase)) this.#line?.sendFrames(jpegs.slice(0, 2));
  }

  /** @returns {Promise<Partial<CallStats>>} */
  async stats() {
    const line = (await this.#line?.stats()) ?? {};
    return { ...this.#audio?.counters, ...line, picturesLate: this.#pictures.late, outputLatencyMs: (this.#audio?.latency ?? 0) * 1000 };
  }

  /** What can be said about the call now. @returns {Promise<import('../types.js').Figures>} */
  async figures() {
    const stats = await this.stats();
    const rates = this.#rates.read(performance.now(), stats.bytesIn, stats.bytesOut);
    return figuresOf({ transport: this.#state.transport, stats, path: this.#path, rates, waits: this.timeline.waits });
  }
}

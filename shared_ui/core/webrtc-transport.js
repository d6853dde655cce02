/**
 * One call over a peer connection: sound by RTP, events by the data channel `oai-events`. It does not come back by itself: a path that
 * dies is replaced by another that takes up the same call (`ticket`).
 *
 * Events: `event` (detail: `{event, audio: null}`), `status` (detail: `TransportStatus`), `picture` (one is wanted now), `answered` (the server has
 * taken the offer), `path` (detail: `{verdict, figures}`, twice a second).
 * @import { PathFigures, Transport, WebRtcOptions, WireEvent } from '../types.js'
 */
import { packFrame } from './frames.js';
import { PathWatch, sampleOf } from './path-watch.js';
import { PictureClock } from './picture-clock.js';
import { PeerSound } from './peer-sound.js';
import { Ticket } from './ticket.js';

const HELD_EVENTS = 64;
const LOOK_MS = 500;
const ICE_WAIT_MS = 1_000;

/** @implements {Transport} */
export class WebRtcTransport extends EventTarget {
  /** @param {WebRtcOptions} options @param {import('./audio-graph.js').AudioGraph} audio */
  constructor(options, audio) {
    super();
    this.options = options;
    this.audio = audio;
    this.ticket = new Ticket(options.ticket);
    this.ready = false;
    this.closed = false;
    /** @type {RTCPeerConnection | null} */
    this.connection = null;
    /** @type {RTCDataChannel | null} */
    this.channel = null;
    /** @type {WireEvent[]} */
    this.held = [];
    this.watch = new PathWatch(options.watch);
    this.looking = 0;
    this.ackTimer = 0;
    this.sounding = '';
    this.clock = new PictureClock();
    this.piecesBefore = -1;
    this.counters = { eventsReceived: 0, duplicatesDropped: 0, picturesSent: 0, picturesSkipped: 0, heldDropped: 0 };
    /** @type {PeerSound | null} */
    this.sound = null;
    this.counted = (/** @type {Event} */ message) => this.count(/** @type {CustomEvent<number>} */ (message).detail);
  }

  open() {
    this.status('connecting');
    this.dial().catch((problem) => this.finish('server_unreachable', String(problem)));
  }

  /** @param {'connecting' | 'open' | 'closed'} state @param {string} [code] @param {string} [detail] */
  status(state, code, detail) {
    this.dispatchEvent(new CustomEvent('status', { detail: { state, attempt: 0, retryInMs: null, code, detail } }));
  }

  async dial() {
    const sound = new PeerSound(this.audio, (track) => {
      this.connection?.getSenders()[0]?.replaceTrack(track).catch((problem) => this.finish('microphone_lost', String(problem)));
    });
    this.sound = sound;
    const iceServers = await this.helpers();
    if (this.closed) return;
    const connection = new RTCPeerConnection({ iceServers, bundlePolicy: 'max-bundle' });
    this.connection = connection;
    const { receiver } = connection.addTransceiver(sound.track ?? 'audio', { direction: 'sendrecv' });
    // The browser still waits as long as the network's jitter makes it; this only says not to wait for more.
    if ('jitterBufferTarget' in receiver) receiver.jitterBufferTarget = 0;
    connection.ontrack = ({ track, streams }) => sound.play(streams[0] ?? new MediaStream([track]));
    connection.onconnectionstatechange = () => connection.connectionState === 'failed' && this.finish('path_failed', 'no way through for media');
    const channel = connection.createDataChannel('oai-events');
    this.channel = channel;
    channel.binaryType = 'arraybuffer';
    channel.onmessage = ({ data }) => this.take(data);
    channel.onclose = () => this.finish('connection_lost', 'the server closed the connection');
    this.audio.addEventListener('pieces', this.counted);
    await connection.setLocalDescription();
    const answer = await this.offer(connection.localDescription?.sdp ?? '');
    if (!answer || this.closed) return;
    await connection.setRemoteDescription({ type: 'answer', sdp: answer });
    this.dispatchEvent(new Event('answered'));
    this.looking = window.setInterval(() => void this.look(), LOOK_MS);
  }

  /** STUN and TURN servers with credentials for this call; without an answer the call is tried without them. @returns {Promise<RTCIceServer[]>} */
  async helpers() {
    try {
      const answer = await fetch(this.options.iceServersUrl, { cache: 'no-store', signal: AbortSignal.timeout(ICE_WAIT_MS) });
      return answer.ok ? (await answer.json()).ice_servers : [];
    } catch {
      return []; // the offer that follows meets the same network, and says what is wrong with it
    }
  }

  /** @param {string} sdp @returns {Promise<string | null>} the answer; null when the server refused, and said so */
  async offer(sdp) {
    const form = new FormData();
    const url = new URL(this.options.callsUrl);
    form.set('sdp', sdp);
    if (this.ticket.token) {
      url.searchParams.set('resume', '1'); // as over the socket: it takes no second place among those of a key
      form.set('resume', JSON.stringify(this.ticket.claim));
    } else form.set('session', JSON.stringify(this.options.session));
    const response = await fetch(url, { method: 'POST', body: form, signal: AbortSignal.timeout(this.options.answerMs) });
    const text = await response.text();
    if (response.status !== 201) {
      let error;
      try {
        ({ error } = JSON.parse(text));
      } catch {
        error = { code: 'webrtc_unavailable', message: `The server answered ${response.status}.` };
      }
      this.finish(error?.code ?? 'refused', error?.message ?? '');
      return null;
    }
    // Known before anything comes by the channel, so that another path can take up the call should none ever come.
    this.ticket.sessionId = (response.headers.get('location') ?? '').split('/').at(-1) ?? '';
    this.ticket.token = response.headers.get('omnitalk-resume-token') ?? '';
    if (this.closed && this.ticket.token) void fetch(`${this.options.callsUrl.split('?')[0]}/${this.ticket.sessionId}`, { method: 'DELETE' });
    return text;
  }

  /** @param {string | ArrayBuffer} data */
  take(data) {
    /** @type {WireEvent} */
    let event;
    try {
      event = JSON.parse(/** @type {string} */ (data));
    } catch (error) {
      event = { type: 'omnitalk.unreadable', message: String(error) };
    }
    this.counters.eventsReceived++;
    if (!this.ticket.take(event)) {
      this.counters.duplicatesDropped++;
      return;
    }
    if (this.ticket.due >= this.options.ackEveryEvents) this.ack();
    else if (this.ticket.due > 0 && !this.ackTimer) this.ackTimer = window.setTimeout(() => this.ack(), this.options.ackEveryMs);
    if (event.type === 'session.created' || event.type === 'session.resumed') this.greet();
    else this.speak(event);
    this.dispatchEvent(new CustomEvent('event', { detail: { event, audio: null } }));
    if (event.type === 'session.closed' || event.type === 'session.expired') this.finish(event.reason ?? 'call_ended', event.message ?? '');
    else if (event.type === 'session.replaced') this.finish('session_replaced', '');
  }

  greet() {
    this.ready = true;
    this.status('open');
    for (const event of this.held.splice(0)) this.write(event);
  }

  /** Silence by the channel is quicker than the silence that follows in the sound. @param {WireEvent} event */
  speak(event) {
    if (event.type === 'output_audio_buffer.started') {
      this.sounding = event.response_id ?? '';
      this.audio.tellPlayback({ do: 'live' });
    } else if (event.type === 'output_audio_buffer.cleared' && (event.response_id ?? '') === this.sounding) {
      this.audio.tellPlayback({ do: 'flush', responses: [this.sounding] });
    }
  }

  ack() {
    clearTimeout(this.ackTimer);
    this.ackTimer = 0;
    if (this.ready && this.ticket.due > 0) this.write(this.ticket.ack);
  }

  async look() {
    const connection = this.connection;
    if (!connection || this.closed) return;
    const sample = sampleOf((await connection.getStats()).values(), performance.now());
    if (this.closed) return;
    this.dispatchEvent(new CustomEvent('path', { detail: { verdict: this.watch.judge(sample), figures: this.watch.figures } }));
  }

  /** @param {WireEvent} event */
  write(event) {
    this.channel?.send(JSON.stringify(event));
  }

  /** @param {WireEvent} event @returns {boolean} */
  send(event) {
    if (this.closed) return false;
    // The server plays the sound itself and knows how far it is.
    if (event.type === 'playback.ack') return true;
    if (this.ready) this.write(event);
    else if (this.held.length < HELD_EVENTS) this.held.push(event);
    else {
      this.counters.heldDropped++;
      return false;
    }
    return true;
  }

  /** @param {number | null} unitMs @param {number} [moments] */
  wantPictures(unitMs, moments) {
    this.clock.want(unitMs, moments);
  }

  /** Units are counted in sound of the microphone while it reaches the server, as over the socket. @param {number} made pieces since the call's begin */
  count(made) {
    const passed = this.piecesBefore < 0 ? 0 : made - this.piecesBefore;
    this.piecesBefore = made;
    for (let i = 0; this.ready && i < passed; i++) {
      const moment = this.clock.piece();
      if (moment === null) continue;
      if ((this.channel?.bufferedAmount ?? 0) > 0) this.counters.picturesSkipped++;
      else this.dispatchEvent(new CustomEvent('picture', { detail: moment }));
    }
  }

  /** @param {ArrayBuffer[]} pictures */
  sendFrames(pictures) {
    if (!this.ready || !this.channel) return;
    const most = this.connection?.sctp?.maxMessageSize ?? 65_536;
    const frame = packFrame({ type: 'input_audio_buffer.append' }, [new ArrayBuffer(0), ...pictures]);
    // A picture that waits behind another would be stale, and events would wait behind both.
    if (frame.byteLength > most || this.channel.bufferedAmount > 0) {
      this.counters.picturesSkipped++;
      return;
    }
    this.channel.send(frame);
    this.counters.picturesSent++;
  }

  /** @param {string} reason */
  close(reason) {
    if (this.closed) return;
    if (this.ready) this.write({ type: 'session.close', reason });
    this.finish(reason, '', 250);
  }

  /** Lets go of the connection and says nothing: another path carries the call. */
  end() {
    this.closed = true;
    this.letGo(0);
  }

  /** @param {string} code @param {string} detail @param {number} [lingerMs] for what was just written to leave */
  finish(code, detail, lingerMs = 0) {
    if (this.closed) return;
    this.closed = true;
    this.letGo(lingerMs);
    this.status('closed', code, detail);
  }

  /** @param {number} lingerMs */
  letGo(lingerMs) {
    this.ready = false;
    clearInterval(this.looking);
    clearTimeout(this.ackTimer);
    this.held.length = 0;
    this.audio.removeEventListener('pieces', this.counted);
    const { connection, channel } = this;
    if (channel) channel.onmessage = channel.onclose = null;
    if (connection) connection.ontrack = connection.onconnectionstatechange = null;
    if (lingerMs) setTimeout(() => connection?.close(), lingerMs);
    else connection?.close();
    this.sound?.end();
  }

  /** @returns {Promise<Record<string, number>>} */
  async stats() {
    const { rttMs, jitterMs, lossPercent, concealedMs, bufferMs } = this.watch.figures;
    const known = Object.fromEntries(Object.entries({ rttMs, jitterMs, lossPercent, concealedMs, bufferMs }).filter(([, value]) => value !== null));
    return { ...this.counters, lastSeq: this.ticket.lastSeq, .../** @type {Record<string, number>} */ (known) };
  }
}

/**
 * One call over WebSockets: the handshake, a socket that comes back, events each exactly once, microphone sound that never piles up.
 *
 * Events: `event` (detail: `{event, audio}`), `status` (detail: `TransportStatus`). Has no DOM: it lives in a worker, where timers are not throttled.
 * @import { Transport, TransportOptions, TransportStatus, WireEvent } from '../types.js'
 */
import { SUBPROTOCOL, appendFrame, readFrame } from './frames.js';
import { PictureClock } from './picture-clock.js';
import { Ticket } from './ticket.js';

const HELD_EVENTS = 64; // client events kept while the socket is away
const FINAL_CODES = new Set(['session_resume_expired', 'invalid_resume_token', 'unsupported_session_resume', 'invalid_session_resume', 'unknown_session', 'session_closed']);

/** @type {Omit<TransportOptions, 'url' | 'first'>} */
export const TRANSPORT_DEFAULTS = {
  subprotocol: SUBPROTOCOL,
  graceMs: 30_000,
  backlogPieces: 50,
  backlogBytes: 16_000,
  heartbeatMs: 15_000,
  silenceMs: 5_000,
  ackEveryMs: 2_000,
  ackEveryEvents: 50,
  firstRetryMs: 250,
  maxRetryMs: 4_000,
  handshakeMs: 10_000,
};

/** @implements {Transport} */
export class WebSocketTransport extends EventTarget {
  /** @param {Partial<TransportOptions> & Pick<TransportOptions, 'url' | 'first'>} options */
  constructor(options) {
    super();
    /** @type {TransportOptions} */
    this.options = { ...TRANSPORT_DEFAULTS, ...options };
    /** @type {WebSocket | null} */
    this.socket = null;
    this.ready = false; // the handshake is done
    this.over = false;
    this.ticket = new Ticket(options.ticket);
    this.attempt = 0;
    this.clock = new PictureClock();
    this.lostAt = 0;
    /** @type {{code: string, message: string} | null} the last refusal before the handshake was done */
    this.refusal = null;
    /** @type {ArrayBuffer[]} */
    this.backlog = [];
    /** @type {ArrayBuffer[]} */
    this.pictures = [];
    /** @type {WireEvent[]} */
    this.held = [];
    /** @type {Map<string, WireEvent>} response → its newest playback.ack */
    this.heldAcks = new Map();
    this.counters = { micPiecesSent: 0, picturesSent: 0, picturesSkipped: 0, picturesReplaced: 0, micPiecesDropped: 0, heldDropped: 0, reconnects: 0, duplicatesDropped: 0, eventsReceived: 0, bytesIn: 0, bytesOut: 0 };
    /** @type {number | null} the last heartbeat's way there and back, ms */
    this.rttMs = null;
    this.askedAt = 0;
    /** @type {Map<string, ReturnType<typeof setTimeout>>} */
    this.timers = new Map();
  }

  open() {
    this.status({ state: 'connecting', attempt: 0, retryInMs: null });
    this.dial();
  }

  get stats() {
    return { ...this.counters, micBacklogPieces: this.backlog.length, lastSeq: this.ticket.lastSeq, ...(this.rttMs === null ? {} : { rttMs: this.rttMs }) };
  }

  /** @param {TransportStatus} status */
  status(status) {
    this.dispatchEvent(new CustomEvent('status', { detail: status }));
  }

  /** One timer a name. @param {string} name @param {number} ms @param {() => void} then */
  after(name, ms, then) {
    clearTimeout(this.timers.get(name));
    this.timers.set(name, setTimeout(() => (this.timers.delete(name), then()), ms));
  }

  /** @param {string} name */
  stop(name) {
    clearTimeout(this.timers.get(name));
    this.timers.delete(name);
  }

  dial() {
    this.stop('retry');
    this.refusal = null;
    let socket;
    try {
      const url = new URL(this.options.url);
      if (this.ticket.token) url.searchParams.set('resume', '1'); // a caller who returns needs no second place among those of a key
      socket = new WebSocket(url, [this.options.subprotocol, 'realtime', ...(this.options.pass ? [`openai-insecure-api-key.${this.options.pass}`] : [])]);
    } catch (error) {
      this.finish('server_unreachable', String(error));
      return;
    }
    this.socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      // A new call may wait while its engine session opens; a returning one only looks itself up.
      this.after('handshake', this.options.handshakeMs * (this.ticket.token ? 1 : 3), () => this.drop('the server did not answer'));
      this.write(this.ticket.token ? { type: 'session.resume', ...this.ticket.claim } : this.options.first);
    };
    socket.onmessage = ({ data }) => socket === this.socket && this.take(data);
    socket.onclose = ({ code, reason }) => socket === this.socket && this.lose(code, reason);
    // Some networks swallow the opening packets: a socket that does not open in time is given up.
    this.after('handshake', this.options.handshakeMs, () => this.drop('the server did not answer'));
  }

  /** @param {string | ArrayBuffer} data */
  take(data) {
    this.heard();
    this.counters.bytesIn += typeof data === 'string' ? data.length : data.byteLength;
    let frame;
    try {
      frame = readFrame(data);
    } catch (error) {
      frame = { event: { type: 'omnitalk.unreadable', message: String(error) }, audio: null };
    }
    const { event, audio } = frame;
    if (event.type === 'session.heartbeat_ack') this.rttMs = performance.now() - this.askedAt;
    this.counters.eventsReceived++;
    if (!this.ticket.take(event)) {
      this.counters.duplicatesDropped++;
      return;
    }
    if (this.ticket.due >= this.options.ackEveryEvents) this.ack();
    else if (this.ticket.due > 0 && !this.timers.has('ack')) this.after('ack', this.options.ackEveryMs, () => this.ack());
    if (event.type === 'session.created' || event.type === 'session.resumed') this.greet(event);
    else if (event.type === 'omnitalk.queue') this.stop('handshake'); // the line takes as long as it takes
    else if (event.type === 'error' && !this.ready) this.refusal = event.error;
    this.dispatchEvent(new CustomEvent('event', { detail: { event, audio } }));
    if (event.type === 'session.closed' || event.type === 'session.expired') this.finish(event.reason ?? 'call_ended', event.message ?? '');
    else if (event.type === 'session.replaced') this.finish('session_replaced', '');
    else if (event.type === 'error' && !this.ready && !this.ticket.token) this.finish(event.error?.code ?? 'refused', event.error?.message ?? '');
  }

  /** @param {WireEvent} event */
  greet(event) {
    this.stop('handshake');
    this.ready = true;
    this.attempt = 0;
    this.lostAt = 0;
    if (event.type === 'session.resumed') this.counters.reconnects++;
    this.status({ state: 'open', attempt: 0, retryInMs: null });
    for (const held of [...this.held.splice(0), ...this.heldAcks.values()]) this.write(held);
    this.heldAcks.clear();
    this.drain();
    this.ask(); // its answer is the round trip
    this.beat();
  }

  /** Anything heard proves the socket alive. */
  heard() {
    this.stop('silence');
    if (this.ready && !this.timers.has('beat')) this.beat();
  }

  beat() {
    this.after('beat', this.options.heartbeatMs, () => this.probe());
  }

  ask() {
    this.askedAt = performance.now();
    this.write({ type: 'session.heartbeat' });
  }

  /** Asks for a sign of life; a socket that gives none is dropped without waiting for the network to notice. */
  probe() {
    if (!this.ready) return;
    this.ask();
    this.after('silence', this.options.silenceMs, () => this.drop('no sign of life'));
    this.beat();
  }

  /** The browser says that the network came back. */
  online() {
    if (!this.over && !this.ready && this.timers.has('retry')) this.dial();
    else this.probe();
  }

  /** The browser says that the network is gone: true for the open internet, not for this machine itself, so ask. */
  offline() {
    this.probe();
  }

  ack() {
    this.stop('ack');
    if (this.ready && this.ticket.due > 0) this.write(this.ticket.ack);
  }

  /** @param {string} why */
  drop(why) {
    const socket = this.socket;
    if (!socket || this.over) return;
    this.socket = null; // its own close event may be minutes away
    socket.onclose = socket.onmessage = null;
    socket.close();
    this.lose(1006, why);
  }

  /** @param {number} code @param {string} reason */
  lose(code, reason) {
    this.ready = false;
    for (const name of ['beat', 'silence', 'ack', 'handshake']) this.stop(name);
    if (this.over) return;
    const refused = this.refusal;
    if (refused && (!this.ticket.token || FINAL_CODES.has(refused.code))) this.finish(refused.code, refused.message);
    else if (!this.ticket.token) this.finish(this.ticket.sessionId ? 'connection_lost' : 'server_unreachable', reason || `closed with ${code}`);
    else {
      this.lostAt ||= Date.now();
      if (Date.now() - this.lostAt > this.options.graceMs) this.finish('connection_lost', `not back within ${this.options.graceMs / 1000} s`);
      else this.retry();
    }
  }

  retry() {
    const plain = Math.min(this.options.maxRetryMs, this.options.firstRetryMs * 2 ** this.attempt);
    const retryInMs = Math.round(plain * (0.75 + Math.random() / 2));
    this.attempt++;
    this.status({ state: 'reconnecting', attempt: this.attempt, retryInMs });
    this.after('retry', retryInMs, () => this.dial());
  }

  /** @param {WireEvent} event */
  write(event) {
    const text = JSON.stringify(event);
    this.counters.bytesOut += text.length;
    this.socket?.send(text);
  }

  /** @param {WireEvent} event @returns {boolean} false when it could neither be sent nor kept */
  send(event) {
    if (this.over) return false;
    // The waiting line precedes the call: leaving it cannot wait for the call.
    if (this.ready || (event.type === 'omnitalk.queue.leave' && this.socket?.readyState === 1)) this.write(event);
    else if (event.type === 'playback.ack') {
      if (!this.heldAcks.has(event.response_id ?? '') && this.heldAcks.size >= HELD_EVENTS) return false;
      this.heldAcks.set(event.response_id ?? '', event);
    } else if (this.held.length < HELD_EVENTS) this.held.push(event);
    else {
      this.counters.heldDropped++;
      return false;
    }
    return true;
  }

  /** Pictures for the next piece of sound; newer ones replace those that still wait. @param {ArrayBuffer[]} pictures */
  attach(pictures) {
    if (this.pictures.length > 0) this.counters.picturesReplaced++;
    this.pictures = pictures;
  }

  /** `picture` events (detail: the moment) ask for frames of each of the model's units, so that the newest arrive with it. @param {number | null} unitMs @param {number} [moments] a unit */
  wantPictures(unitMs, moments) {
    this.clock.want(unitMs, moments);
    if (!unitMs) this.pictures = [];
  }

  pieceSent() {
    this.counters.micPiecesSent++;
    const moment = this.clock.piece();
    if (moment === null) return;
    // A link that lags already has no room for a picture: sound goes first.
    if (this.backlog.length > 0) this.counters.picturesSkipped++;
    else this.dispatchEvent(new CustomEvent('picture', { detail: moment }));
  }

  /** @param {ArrayBuffer} pcm */
  sendAudio(pcm) {
    if (this.over || (!this.ready && !this.ticket.token)) return;
    this.backlog.push(pcm);
    this.drain();
    while (this.backlog.length > this.options.backlogPieces) {
      this.backlog.shift();
      this.counters.micPiecesDropped++;
    }
  }

  drain() {
    if (!this.ready || !this.socket) return;
    const binary = this.socket.protocol === SUBPROTOCOL;
    while (this.backlog.length > 0 && this.socket.bufferedAmount < this.options.backlogBytes) {
      const frame = appendFrame(binary, /** @type {ArrayBuffer} */ (this.backlog.shift()), this.pictures);
      this.counters.bytesOut += typeof frame === 'string' ? frame.length : frame.byteLength;
      this.socket.send(frame);
      if (this.pictures.length > 0) this.counters.picturesSent++;
      this.pictures = [];
      this.pieceSent();
    }
  }

  /** Leaves without hanging up, if nothing was asked of the server on this socket yet. */
  abandon() {
    if (this.over || this.socket?.readyState === 1) return;
    this.finish('abandoned', '');
  }

  /** @param {string} reason */
  close(reason) {
    if (this.over) return;
    if (this.ready) this.write({ type: 'session.close', reason });
    this.finish(reason, '');
  }

  /** @param {string} code @param {string} detail */
  finish(code, detail) {
    if (this.over) return;
    this.over = true;
    this.ready = false;
    for (const name of [...this.timers.keys()]) this.stop(name);
    this.socket?.close(1000);
    this.backlog.length = this.held.length = 0;
    this.status({ state: 'closed', attempt: this.attempt, retryInMs: null, code, detail });
  }
}

/**
 * What carries a call, whichever it is: chooses between WebRTC and the WebSocket, says which and why, and changes under a live call.
 *
 * WebRTC is tried first; the call that its offer opened is taken up by the socket when no media gets through in time, when its path dies
 * or when it gets too bad to talk over. It is taken back to WebRTC when that had worked and the network had time to recover.
 * Events as a transport's (`event`, `status`, `picture`), and `path` (detail: `PathFigures`).
 * @import { LineOptions, Path, PathFigures, TicketData, TransportStatus, WireEvent } from '../types.js'
 */
import { Link } from './link.js';
import { Ticket } from './ticket.js';
import { WebRtcTransport } from './webrtc-transport.js';

/** Times in ms. `patienceMs`: for media to get through once the server has answered; `answerMs`: for it to answer. */
export const LINE_DEFAULTS = { patienceMs: 1_500, answerMs: 15_000, hurryMs: 2_500, returnAfterMs: 10_000, returns: 3, graceMs: 30_000, redialMs: 500, mostRedialMs: 4_000 };

export class Line extends EventTarget {
  /** @param {LineOptions} options @param {import('./audio-graph.js').AudioGraph} audio */
  constructor(options, audio) {
    super();
    this.options = { ...LINE_DEFAULTS, ...options };
    this.audio = audio;
    this.ticket = new Ticket();
    this.closed = false;
    /** @type {Link | WebRtcTransport | null} what carries the call now */
    this.now = null;
    /** @type {Link | WebRtcTransport | null} what is about to */
    this.next = null;
    /** @type {Path} */
    this.path = 'websocket';
    this.why = '';
    this.wasOpen = false;
    this.stands = false; // the last word about the path in use was that it is open
    this.dead = false; // the path in use brings nothing any more
    this.deadSince = 0;
    this.redials = 0;
    /** @type {WebRtcTransport | null} given up on, and not let go before another path has the call: its end would look like a hang-up */
    this.left = null;
    this.provenRtc = false;
    this.returnsLeft = this.options.returns;
    /** @type {number | null} */
    this.unitMs = null;
    this.moments = 1;
    this.quiet = () => true;
    this.changes = 0;
    /** @type {Map<string, number>} */
    this.timers = new Map();
    this.online = () => {
      // Another network: what failed on the old one may work on this.
      if (this.options.wanted === 'auto' && this.path === 'websocket' && this.#canRtc) this.#later('return', 1_000, () => this.#goBack());
    };
  }

  get #canRtc() {
    return this.options.webrtc !== null && 'RTCPeerConnection' in globalThis;
  }

  /** @param {string} name @param {number} ms @param {() => void} then */
  #later(name, ms, then) {
    this.#cancel(name);
    this.timers.set(name, window.setTimeout(() => (this.timers.delete(name), then()), ms));
  }

  /** @param {string} name */
  #cancel(name) {
    clearTimeout(this.timers.get(name));
    this.timers.delete(name);
  }

  open() {
    window.addEventListener('online', this.online);
    const { wanted } = this.options;
    if (wanted === 'websocket') this.#start('websocket', 'chosen');
    else if (this.#canRtc) this.#start('webrtc', wanted === 'webrtc' ? 'chosen' : 'best');
    else if (wanted === 'webrtc') this.#over('webrtc_unavailable', this.options.webrtc === null ? 'This server takes no calls over WebRTC.' : 'This browser has no WebRTC.');
    else this.#start('websocket', 'no_webrtc');
  }

  /** Makes a path. With a ticket it takes up the call. @param {Path} path @returns {Link | WebRtcTransport} */
  #make(path) {
    const { socket, webrtc } = this.options;
    const ticket = this.ticket.token ? this.ticket.data : undefined;
    const made = path === 'websocket' ? new Link({ ...socket, ticket }, this.audio.ports()) : new WebRtcTransport({ .../** @type {NonNullable<LineOptions['webrtc']>} */ (webrtc), answerMs: this.options.answerMs, ticket }, this.audio);
    made.addEventListener('event', (message) => this.#event(made, /** @type {CustomEvent} */ (message).detail));
    made.addEventListener('status', (message) => this.#status(made, path, /** @type {CustomEvent} */ (message).detail));
    made.addEventListener('picture', (message) => made === this.now && this.dispatchEvent(new CustomEvent('picture', { detail: /** @type {CustomEvent<number>} */ (message).detail })));
    made.addEventListener('path', (message) => made === this.now && this.#look(/** @type {CustomEvent} */ (message).detail));
    made.addEventListener('answered', () => this.#later('patience', this.options.patienceMs, () => this.#impatient(made)));
    return made;
  }

  /** The call's first path. @param {Path} path @param {string} why */
  #start(path, why) {
    this.path = path;
    this.why = why;
    const made = this.#make(path);
    this.now = made;
    if (path === 'webrtc') this.#later('hurry', this.options.hurryMs, () => this.#impatient(made));
    made.open();
  }

  /** Nothing gets through, or nobody answers. @param {Link | WebRtcTransport} path */
  #impatient(path) {
    if (this.closed || !(path instanceof WebRtcTransport) || path.closed || path.ready) return;
    // A server that is still opening the call answers in its own time; without its answer there is nothing to take up.
    if (!path.ticket.token) return;
    if (this.options.wanted === 'webrtc') return; // the connection itself says when it failed
    this.#fallBack(path, 'no_media');
  }

  /** The newest token is the one that the server gave last, whether or not its path ever stood; what was seen is what came here. @param {WebRtcTransport} from */
  #adopt(from) {
    this.ticket = new Ticket({ ...from.ticket.data, lastSeq: this.ticket.lastSeq });
  }

  /** From a peer connection that never stood, or stands no more, to the socket. @param {WebRtcTransport} from @param {string} why */
  #fallBack(from, why) {
    this.#adopt(from);
    if (this.next === from) this.next = null;
    if (from.closed) from.end();
    else this.left = from;
    this.#note('websocket', why);
    this.#start('websocket', why);
  }

  /** @param {Path} to @param {string} why */
  #note(to, why) {
    this.changes++;
    this.dispatchEvent(new CustomEvent('note', { detail: { type: 'path', to, why } }));
  }

  /** @param {Link | WebRtcTransport} from @param {{event: WireEvent, bytes?: number}} message */
  #event(from, { event, bytes = 0 }) {
    // The server heard of the new path before we heard of it: this is our own doing.
    if (event.type === 'session.replaced' && this.next) return;
    if (from !== this.now) return;
    if (!this.ticket.take(event)) return;
    this.dispatchEvent(new CustomEvent('event', { detail: { event, bytes } }));
  }

  /** The path that was tried carries the call from here on. @param {Link | WebRtcTransport} path */
  #take(path) {
    const before = this.now;
    this.now = path;
    this.next = null;
    this.dead = false;
    before?.end();
    this.redials = 0;
    this.path = path instanceof WebRtcTransport ? 'webrtc' : 'websocket';
  }

  /** @param {Link | WebRtcTransport} from @param {Path} path @param {TransportStatus} status */
  #status(from, path, status) {
    if (this.closed) return;
    if (status.state === 'closed') return this.#lost(from, path, status);
    // Its first word comes after this one.
    if (from === this.next && status.state === 'open') this.#take(from);
    if (from !== this.now) return;
    if (status.state === 'open') {
      this.#cancel('patience');
      this.#cancel('hurry');
      if (path === 'webrtc') this.provenRtc = true;
      this.wasOpen = true;
      this.left?.end();
      this.left = null;
      if (this.unitMs) from.wantPictures(this.unitMs, this.moments);
      // A socket is the second choice for who had WebRTC a moment ago.
      if (path === 'websocket' && this.provenRtc && this.options.wanted === 'auto') this.#comeBack();
    }
    this.#say(status);
  }

  /** @param {TransportStatus} status */
  #say(status) {
    this.stands = status.state === 'open';
    this.dispatchEvent(new CustomEvent('status', { detail: { ...status, kind: this.path, why: this.why } }));
  }

  /** A path is gone. @param {Link | WebRtcTransport} from @param {Path} path @param {TransportStatus} status */
  #lost(from, path, status) {
    if (from === this.next) return this.#nextLost(from, status);
    if (from !== this.now) return;
    if (this.next && status.code === 'session_replaced') {
      this.#died(); // by the path that is about to take its place
      return;
    }
    const ofThePath = ['path_failed', 'connection_lost', 'server_unreachable'].includes(status.code ?? '');
    if (!(from instanceof WebRtcTransport) || (this.wasOpen && !ofThePath)) return this.#over(status.code ?? 'connection_lost', status.detail ?? '');
    if (this.options.wanted === 'webrtc') {
      if (!this.wasOpen || !this.ticket.token) return this.#over(status.code ?? 'path_failed', status.detail ?? '');
      this.#died();
      if (!this.next) this.#redial();
    } else if (this.next) this.#died();
    else if (from.ticket.token) this.#fallBack(from, this.wasOpen ? 'path_died' : 'no_media');
    else {
      // Nothing was opened: the socket asks anew, can wait in line, and gets a refusal in its own right.
      from.end();
      const why = status.code === 'resource_exhausted' ? 'line_is_full' : 'no_webrtc';
      this.#note('websocket', why);
      this.#start('websocket', why);
    }
  }

  /** @param {Link | WebRtcTransport} from @param {TransportStatus} status */
  #nextLost(from, status) {
    this.next = null;
    from.end();
    if (status.code === 'abandoned') return;
    const usable = this.now !== null && !this.now.closed && !this.dead;
    if (usable) return; // the call goes on as it was
    if (!(from instanceof WebRtcTransport)) this.#over(status.code ?? 'connection_lost', status.detail ?? '');
    else if (this.options.wanted === 'webrtc') {
      this.#adopt(from);
      this.#redial();
    } else this.#fallBack(from, 'no_media');
  }

  #died() {
    if (this.dead) return;
    this.dead = true;
    this.deadSince = performance.now();
    this.#say({ state: 'reconnecting', attempt: 1, retryInMs: null });
  }

  /** Who insists on WebRTC gets a new offer, until the call's grace is over. */
  #redial() {
    if (performance.now() - this.deadSince > this.options.graceMs) return this.#over('connection_lost', `not back within ${this.options.graceMs / 1000} s`);
    const wait = this.redials === 0 ? 0 : Math.min(this.options.mostRedialMs, this.options.redialMs * 2 ** this.redials);
    this.redials++;
    this.#later('redial', wait, () => this.#tryNext('path_died'));
  }

  /** What the connection in use says about itself. @param {{verdict: string, figures: PathFigures}} path */
  #look({ verdict, figures }) {
    this.dispatchEvent(new CustomEvent('path', { detail: figures }));
    const rtc = this.now;
    if (!(rtc instanceof WebRtcTransport) || !rtc.ready) return;
    if (verdict === 'dead' && !this.dead) {
      this.#died();
      if (this.options.wanted === 'webrtc') this.#redial();
      else this.#tryNext('path_died');
    } else if (verdict === 'good' && this.dead) {
      // It was only a hole; the socket that was tried is not needed, if the server has not heard of it yet.
      this.dead = false;
      this.#cancel('redial');
      if (this.next instanceof Link) this.next.abandon();
      this.#say({ state: 'open', attempt: 0, retryInMs: null });
    } else if (verdict === 'bad' && !this.next && this.options.wanted === 'auto') {
      this.returnsLeft = Math.min(this.returnsLeft, 1);
      this.#tryNext('path_bad');
    }
  }

  /** Another path takes the call over while this one is still there. @param {string} why */
  #tryNext(why) {
    if (this.closed || this.next || !this.ticket.token) return;
    const path = this.options.wanted === 'webrtc' ? 'webrtc' : 'websocket';
    this.why = why;
    this.#note(path, why);
    this.next = this.#make(path);
    this.next.open();
  }

  #comeBack() {
    if (this.returnsLeft <= 0) return;
    const wait = this.options.returnAfterMs * 2 ** (this.options.returns - this.returnsLeft);
    this.#later('return', wait, () => this.#goBack());
  }

  /** To WebRTC again, at a moment when nobody speaks: sound that waits in the page would be lost. */
  #goBack() {
    if (this.closed || this.next || this.path !== 'websocket' || !this.ticket.token) return;
    if (!this.quiet() || !this.wasOpen) return this.#later('return', 500, () => this.#goBack());
    this.returnsLeft--;
    this.why = 'best';
    this.#note('webrtc', 'best');
    this.next = this.#make('webrtc');
    this.next.open();
  }

  // -- what a session uses --------------------------------------------------------------------------------------------------

  /** @param {WireEvent} event */
  send(event) {
    const path = this.dead && this.next ? this.next : this.now;
    return !this.closed && path !== null && path.send(event);
  }

  /** @param {number | null} unitMs @param {number} [moments] */
  wantPictures(unitMs, moments = 1) {
    this.unitMs = unitMs;
    this.moments = moments;
    this.now?.wantPictures(unitMs, moments);
  }

  /** @param {ArrayBuffer[]} pictures */
  sendFrames(pictures) {
    this.now?.sendFrames(pictures);
  }

  /** How large an event may be on the path in use, bytes. */
  get room() {
    return this.now instanceof WebRtcTransport ? Math.min(400_000, this.now.connection?.sctp?.maxMessageSize ?? 60_000) : 3_000_000;
  }

  /** Hangs up. @param {string} reason @param {boolean} [leaving] the page goes away, and what its connections still hold may go with it */
  close(reason, leaving = false) {
    if (this.closed) return;
    const now = this.now;
    const id = this.ticket.sessionId || (now instanceof WebRtcTransport && now.ticket.sessionId);
    const sure = this.stands && !this.next && !this.left && !leaving;
    this.#over(reason, '', now);
    now?.close(reason);
    // While paths change the server may listen to another one than we speak on, and would keep the line for us.
    if (id && !sure) fetch(this.options.hangUpUrl(id), { method: 'POST', keepalive: true }).catch(() => undefined); // without a network the call's grace ends it
  }

  /** @param {string} code @param {string} detail @param {Link | WebRtcTransport | null} [keep] a path that still says goodbye */
  #over(code, detail, keep) {
    if (this.closed) return;
    this.closed = true;
    window.removeEventListener('online', this.online);
    for (const name of [...this.timers.keys()]) this.#cancel(name);
    for (const path of [this.now, this.next, this.left]) {
      if (!path) continue;
      if (path !== keep) path.end();
      // The worker ends when it has said goodbye.
      else if (path instanceof Link) path.addEventListener('status', (message) => /** @type {CustomEvent} */ (message).detail.state === 'closed' && path.end());
    }
    this.#say({ state: 'closed', attempt: 0, retryInMs: null, code, detail });
  }

  /** @returns {Promise<Record<string, number>>} */
  async stats() {
    return { ...(await this.now?.stats()), pathChanges: this.changes };
  }
}

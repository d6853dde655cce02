/** The page's end of the link worker: a transport whose sound never touches the main thread. @import { Transport, TransportOptions, WireEvent } from '../types.js' */

const STATS_WAIT_MS = 1000;

/** @implements {Transport} */
export class Link extends EventTarget {
  /** @param {Partial<TransportOptions> & Pick<TransportOptions, 'url' | 'first'>} options @param {{capture: MessagePort, playback: MessagePort}} ports */
  constructor(options, ports) {
    super();
    this.options = options;
    this.ports = ports;
    this.closed = false;
    this.asked = 0;
    /** @type {Map<number, (stats: Record<string, number>) => void>} */
    this.answers = new Map();
    this.worker = new Worker(new URL('./link.worker.js', import.meta.url), { type: 'module', name: 'omnitalk-link' });
    this.worker.onmessage = ({ data }) => this.hear(data);
    this.worker.onerror = (error) => {
      this.hear({ is: 'status', status: { state: 'closed', attempt: 0, retryInMs: null, code: 'browser_too_old', detail: error.message } });
    };
  }

  /** @param {any} data */
  hear(data) {
    if (data.is === 'stats') {
      this.answers.get(data.id)?.(data.stats);
      this.answers.delete(data.id);
      return;
    }
    if (data.is === 'status' && data.status.state === 'closed') {
      if (this.closed) return;
      this.closed = true;
    }
    const detail = data.is === 'status' ? data.status : data.is === 'picture' ? data.moment : data;
    this.dispatchEvent(new CustomEvent(data.is, { detail }));
  }

  open() {
    const { capture, playback } = this.ports;
    this.worker.postMessage({ do: 'open', options: this.options, capture, playback }, [capture, playback]);
  }

  /** @param {WireEvent} event */
  send(event) {
    if (this.closed) return false;
    this.worker.postMessage({ do: 'send', event });
    return true;
  }

  /** From now on `picture` events ask for frames of each unit; null: no more. @param {number | null} unitMs @param {number} [moments] */
  wantPictures(unitMs, moments) {
    this.worker.postMessage({ do: 'pictures', unitMs, moments });
  }

  /** @param {ArrayBuffer[]} pictures */
  sendFrames(pictures) {
    this.worker.postMessage({ do: 'frames', pictures }, pictures);
  }

  /** @param {string} reason */
  close(reason) {
    this.worker.postMessage({ do: 'close', reason });
  }

  /** Leaves without hanging up, unless the server may already count on this socket. */
  abandon() {
    this.worker.postMessage({ do: 'abandon' });
  }

  /** @returns {Promise<Record<string, number>>} */
  stats() {
    if (this.closed) return Promise.resolve({});
    const id = ++this.asked;
    return new Promise((resolve) => {
      this.answers.set(id, resolve);
      this.worker.postMessage({ do: 'stats', id });
      setTimeout(() => this.answers.delete(id) && resolve({}), STATS_WAIT_MS);
    });
  }

  /** After `closed`: the worker has said its last. */
  end() {
    this.closed = true;
    this.worker.terminate();
  }
}

/** The socket's address: the operator's, or beside the page. @param {import('../types.js').Config} config @param {string} baseUrl @returns {string} */
export function socketUrl(config, baseUrl) {
  const url = new URL(config.realtime.public_url || config.realtime.path, baseUrl);
  url.protocol = { 'http:': 'ws:', 'https:': 'wss:' }[url.protocol] ?? url.protocol;
  url.searchParams.set('duplex', '1');
  url.searchParams.set('autostart', '0');
  return url.href;
}

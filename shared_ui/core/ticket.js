/** What a call can be taken up again with, and which of its events were seen. @import { TicketData, WireEvent } from '../types.js' */

export class Ticket {
  /** @param {Partial<TicketData>} [from] */
  constructor(from = {}) {
    this.sessionId = from.sessionId ?? '';
    this.token = from.token ?? '';
    this.lastSeq = from.lastSeq ?? 0;
    this.ackedSeq = 0;
  }

  /** Plain, for another thread or another path. @returns {TicketData} */
  get data() {
    return { sessionId: this.sessionId, token: this.token, lastSeq: this.lastSeq };
  }

  /** Events that are counted and not acknowledged yet. */
  get due() {
    return this.lastSeq - this.ackedSeq;
  }

  /** @param {WireEvent} event @returns {boolean} false for one that was seen before */
  take(event) {
    const seq = event.server_event_seq;
    if (typeof seq === 'number') {
      if (seq <= this.lastSeq) return false;
      this.lastSeq = seq;
    }
    if (event.type === 'session.created' || event.type === 'session.resumed') {
      this.sessionId = event.session?.id ?? event.session_id ?? '';
      this.token = event.resume_token ?? '';
    }
    return true;
  }

  /** @returns {WireEvent} */
  get ack() {
    this.ackedSeq = this.lastSeq;
    return { type: 'session.event_ack', server_event_seq: this.lastSeq };
  }

  /** The fields of `session.resume`. */
  get claim() {
    return { session_id: this.sessionId, resume_token: this.token, last_received_server_event_seq: this.lastSeq };
  }
}

/** What was said, in order, from the server's events. @import { TranscriptEntry, WireEvent } from '../types.js' */

const ITEM_ADDED = new Set(['conversation.item.added', 'conversation.item.created']);

/** The words in an item's content. @param {any} item @returns {string} */
function words(item) {
  const parts = Array.isArray(item?.content) ? item.content : [];
  return parts.map((/** @type {any} */ part) => part?.text ?? part?.transcript ?? '').join('');
}

export class Transcript {
  constructor() {
    /** @type {readonly TranscriptEntry[]} */
    this.entries = Object.freeze([]);
    /** @type {Map<string, string>} response → item */
    this.items = new Map();
  }

  /** @param {WireEvent} event @returns {boolean} whether anything changed */
  take(event) {
    const before = this.entries;
    const id = event.item_id ?? '';
    switch (event.type) {
      case 'input_audio_buffer.committed':
        this.change(id, 'user', (entry) => entry);
        break;
      case 'conversation.item.input_audio_transcription.delta':
        this.change(id, 'user', (entry) => ({ ...entry, text: entry.text + event.delta }));
        break;
      case 'conversation.item.input_audio_transcription.completed':
        this.change(id, 'user', (entry) => ({ ...entry, text: event.transcript, final: true }));
        break;
      case 'conversation.item.input_audio_transcription.failed':
        this.remove(id);
        break;
      case 'response.output_audio_transcript.delta':
      case 'response.output_text.delta':
        if (event.response_id) this.items.set(event.response_id, id);
        if (event.delta) this.change(id, 'assistant', (entry) => ({ ...entry, text: entry.text + event.delta }));
        break;
      case 'response.output_audio_transcript.done':
        this.settle(id, event.transcript);
        break;
      case 'response.output_text.done':
        this.settle(id, event.text);
        break;
      case 'output_audio_buffer.cleared':
        this.interrupt(this.items.get(event.response_id ?? ''), undefined);
        break;
      case 'response.done':
        this.finish(event);
        break;
      case 'conversation.item.deleted':
        this.remove(id);
        break;
      default:
        if (ITEM_ADDED.has(event.type)) this.add(event.item);
    }
    return this.entries !== before;
  }

  /** Typed messages come back as items; spoken ones get their words from the transcription. @param {any} item */
  add(item) {
    const text = words(item);
    if (item?.role === 'user' && text) this.change(item.id, 'user', (entry) => ({ ...entry, text, final: true }));
  }

  /** @param {string} id @param {string} text */
  settle(id, text) {
    if (text || this.entries.some((entry) => entry.id === id)) this.change(id, 'assistant', (entry) => ({ ...entry, text: entry.interrupted ? entry.text : text, final: true }));
  }

  /** @param {WireEvent} event */
  finish(event) {
    const response = event.response ?? {};
    const item = (Array.isArray(response.output) ? response.output : []).find((/** @type {any} */ one) => one?.type === 'message' || one?.role === 'assistant');
    const id = item?.id ?? this.items.get(event.response_id ?? response.id ?? '');
    this.items.delete(event.response_id ?? response.id ?? '');
    if (response.status === 'cancelled') this.interrupt(id, item ? words(item) : undefined);
    else if (id && this.entries.some((entry) => entry.id === id)) this.change(id, 'assistant', (entry) => ({ ...entry, final: true }));
  }

  /** @param {string | undefined} id @param {string | undefined} heardText */
  interrupt(id, heardText) {
    if (!id || !this.entries.some((entry) => entry.id === id)) return;
    this.change(id, 'assistant', (entry) => ({ ...entry, final: true, interrupted: true, ...(heardText === undefined ? {} : { heardText }) }));
  }

  /** @param {string} id @param {'user' | 'assistant'} role @param {(entry: TranscriptEntry) => TranscriptEntry} how */
  change(id, role, how) {
    const at = this.entries.findIndex((entry) => entry.id === id);
    const old = this.entries[at] ?? { id, role, text: '', final: false, interrupted: false };
    const entry = how(old);
    if (at >= 0 && entry === old) return;
    this.entries = Object.freeze(at < 0 ? [...this.entries, Object.freeze(entry)] : this.entries.map((one, i) => (i === at ? Object.freeze(entry) : one)));
  }

  /** @param {string} id */
  remove(id) {
    if (this.entries.some((entry) => entry.id === id)) this.entries = Object.freeze(this.entries.filter((entry) => entry.id !== id));
  }
}

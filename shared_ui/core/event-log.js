/** The last events of a call, both ways, small enough to keep. @import { LogEntry, WireEvent } from '../types.js' */

const KEPT = 500;
const LONGEST = 300; // characters of one string shown in full

/** Long strings (reference voices, pictures) are replaced by their length. @param {unknown} value @returns {any} */
function shorten(value) {
  if (typeof value === 'string') return value.length > LONGEST ? `${value.slice(0, 40)}… (${value.length} characters)` : value;
  if (Array.isArray(value)) return value.map(shorten);
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shorten(inner)]));
  return value;
}

/** @param {WireEvent} event @returns {string} */
function summary(event) {
  const told = event.error?.message ?? event.transcript ?? event.delta ?? event.text ?? event.state ?? event.reason ?? event.message ?? '';
  return String(told).slice(0, 120);
}

export class EventLog {
  constructor() {
    /** @type {LogEntry[]} */
    this.entries = [];
  }

  /** @param {'in' | 'out' | 'local'} direction @param {WireEvent} event @param {number} [bytes] of sound @returns {LogEntry} */
  add(direction, event, bytes = 0) {
    const kept = shorten(bytes ? { ...event, audio_bytes: bytes } : event);
    const entry = Object.freeze({ at: Date.now(), direction, type: event.type, summary: bytes ? `${bytes} bytes of sound` : summary(event), event: kept });
    this.entries.push(entry);
    if (this.entries.length > KEPT) this.entries.shift();
    return entry;
  }
}

/** What the model is doing, from the server's own word for it or, with a server that has none, from what it sends. @import { Activity, WireEvent } from '../types.js' */

/** @type {Record<string, Activity>} */
const FROM_EVENTS = {
  'input_audio_buffer.speech_started': 'hearing',
  'input_audio_buffer.committed': 'thinking',
  'response.created': 'thinking',
  'response.speak': 'speaking',
  'response.output_audio.delta': 'speaking',
  'response.listen': 'listening',
  'omnitalk.duck': 'ducked',
  'omnitalk.unduck': 'speaking',
  'output_audio_buffer.cleared': 'listening',
};
const SHOWN = new Set(['listening', 'hearing', 'thinking', 'speaking', 'ducked', 'held']);

export class ActivityTracker {
  constructor() {
    this.serverSays = false;
  }

  /** @param {WireEvent} event @returns {Activity | null} null: as before */
  take(event) {
    if (event.type === 'omnitalk.state') {
      this.serverSays = true;
      return SHOWN.has(event.state) ? event.state : null;
    }
    return this.serverSays ? null : (FROM_EVENTS[event.type] ?? null);
  }

  /** The speaker fell silent. @param {Activity} now @returns {Activity | null} */
  silent(now) {
    return !this.serverSays && (now === 'speaking' || now === 'ducked') ? 'listening' : null;
  }
}

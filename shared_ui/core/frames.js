/** Events as frames: binary (`omnitalk.binary.v1`) where an event carries sound or pictures, JSON text elsewhere. @import { WireEvent } from '../types.js' */

export const SUBPROTOCOL = 'omnitalk.binary.v1';
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** @param {WireEvent} header @param {ArrayBuffer[]} blobs @returns {ArrayBuffer} */
export function packFrame(header, blobs) {
  const text = encoder.encode(JSON.stringify(header));
  const prefix = 8 + 4 * blobs.length;
  const frame = new Uint8Array(prefix + text.length + blobs.reduce((sum, blob) => sum + blob.byteLength, 0));
  const view = new DataView(frame.buffer);
  frame.set([0x4f, 0x54, 1, blobs.length]);
  view.setUint32(4, text.length, true);
  blobs.forEach((blob, i) => view.setUint32(8 + 4 * i, blob.byteLength, true));
  frame.set(text, prefix);
  let at = prefix + text.length;
  for (const blob of blobs) {
    frame.set(new Uint8Array(blob), at);
    at += blob.byteLength;
  }
  return frame.buffer;
}

/** @param {ArrayBuffer} frame @returns {{event: WireEvent, blobs: ArrayBuffer[]}} @throws {Error} for what is no frame of ours */
export function unpackFrame(frame) {
  const bytes = new Uint8Array(frame);
  if (bytes.length < 8 || bytes[0] !== 0x4f || bytes[1] !== 0x54) throw new Error('A binary frame begins with "OT"; this one does not.');
  if (bytes[2] !== 1) throw new Error(`Binary frames of version ${bytes[2]} are not known here: reload the page.`);
  const view = new DataView(frame);
  const count = bytes[3];
  let at = 8 + 4 * count;
  if (at > bytes.length) throw new Error('A binary frame ended inside its header.');
  const textEnd = at + view.getUint32(4, true);
  const sizes = Array.from({ length: count }, (_, i) => view.getUint32(8 + 4 * i, true));
  if (textEnd + sizes.reduce((sum, size) => sum + size, 0) !== bytes.length) throw new Error('A binary frame is not as long as its header says.');
  const event = JSON.parse(decoder.decode(bytes.subarray(at, textEnd)));
  at = textEnd;
  const blobs = sizes.map((size) => frame.slice(at, (at += size)));
  return { event, blobs };
}

/** @param {ArrayBuffer} data */
export function toBase64(data) {
  const bytes = new Uint8Array(data);
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

/** @param {string} text @returns {ArrayBuffer} */
export function fromBase64(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
}

/**
 * One frame off the wire: the event without its sound, and the sound.
 * @param {string | ArrayBuffer} data @returns {{event: WireEvent, audio: ArrayBuffer | null}}
 */
export function readFrame(data) {
  const { event, blobs } = typeof data === 'string' ? { event: JSON.parse(data), blobs: [] } : unpackFrame(data);
  if (typeof event?.type !== 'string') throw new Error('An event has a type; this one has none.');
  if (typeof data !== 'string') return { event, audio: blobs[0] ?? null };
  if (event.type !== 'response.output_audio.delta' || typeof event.delta !== 'string') return { event, audio: null };
  const { delta, ...rest } = event;
  return { event: rest, audio: fromBase64(delta) };
}

/** A microphone piece, with the pictures that ride it. @param {boolean} binary @param {ArrayBuffer} pcm @param {ArrayBuffer[]} pictures */
export function appendFrame(binary, pcm, pictures) {
  const event = { type: 'input_audio_buffer.append' };
  if (binary) return packFrame(event, [pcm, ...pictures]);
  return JSON.stringify({ ...event, audio: toBase64(pcm), ...(pictures.length ? { video_frames: pictures.map(toBase64) } : {}) });
}

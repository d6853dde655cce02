/**
 * The worker between the audio worklets and the server: sound passes here and never on the page's main thread.
 *
 * From the page: `{do: 'open', options, capture, playback}`, `send {event}`, `pictures {unitMs, moments}`, `frames {pictures}`, `close {reason}`, `abandon`, `stats {id}`.
 * To the page: `{is: 'event', event, bytes}`, `status {status}`, `picture {moment}` (a frame is wanted now), `stats {id, stats}`.
 */
import { WebSocketTransport } from './websocket-transport.js';

const scope = /** @type {{postMessage(message: unknown): void, onmessage: ((message: MessageEvent) => void) | null, addEventListener: typeof addEventListener}} */ (
  /** @type {unknown} */ (globalThis)
);

/** @type {WebSocketTransport | null} */
let transport = null; // one worker is one call

/** @param {import('../types.js').TransportOptions} options @param {MessagePort} capture @param {MessagePort} playback */
function open(options, capture, playback) {
  const line = new WebSocketTransport(options);
  transport = line;
  capture.onmessage = ({ data }) => line.sendAudio(data.pcm);
  playback.onmessage = ({ data }) => {
    if (data.is !== 'cursor') return;
    line.send({ type: 'playback.ack', response_id: data.response, item_id: data.item, played_ms: Math.round(data.playedMs * 10) / 10 });
  };
  line.addEventListener('event', (message) => {
    const { event, audio } = /** @type {CustomEvent} */ (message).detail;
    speak(playback, event, audio);
    scope.postMessage({ is: 'event', event, bytes: audio?.byteLength ?? 0 });
  });
  line.addEventListener('picture', (message) => scope.postMessage({ is: 'picture', moment: /** @type {CustomEvent} */ (message).detail }));
  line.addEventListener('status', (message) => scope.postMessage({ is: 'status', status: /** @type {CustomEvent} */ (message).detail }));
  scope.addEventListener('online', () => line.online());
  scope.addEventListener('offline', () => line.offline());
  line.open();
}

/** What an event means for the speaker. @param {MessagePort} playback @param {import('../types.js').WireEvent} event @param {ArrayBuffer | null} audio */
function speak(playback, event, audio) {
  switch (event.type) {
    case 'response.output_audio.delta':
      if (audio) playback.postMessage({ do: 'audio', response: event.response_id, item: event.item_id, pcm: audio, rate: event.sample_rate_hz ?? 24_000 }, [audio]);
      break;
    case 'response.output_audio.done':
      playback.postMessage({ do: 'end', response: event.response_id });
      break;
    case 'response.done':
      playback.postMessage({ do: 'end', response: event.response_id ?? event.response?.id });
      break;
    case 'output_audio_buffer.cleared':
      playback.postMessage({ do: 'flush', responses: event.response_id ? [event.response_id] : undefined });
      break;
    case 'omnitalk.duck':
      playback.postMessage({ do: 'duck', gainDb: event.gain_db ?? -20, rampMs: event.ramp_ms ?? 50 });
      break;
    case 'omnitalk.unduck':
      playback.postMessage({ do: 'unduck', rampMs: event.ramp_ms ?? 150 });
      break;
  }
}

scope.onmessage = (/** @type {MessageEvent} */ message) => {
  const { data } = message;
  if (data.do === 'open') open(data.options, data.capture, data.playback);
  else if (data.do === 'send') transport?.send(data.event);
  else if (data.do === 'frames') transport?.attach(data.pictures);
  else if (data.do === 'pictures') transport?.wantPictures(data.unitMs, data.moments);
  else if (data.do === 'close') transport?.close(data.reason);
  else if (data.do === 'abandon') transport?.abandon();
  else if (data.do === 'stats') scope.postMessage({ is: 'stats', id: data.id, stats: transport?.stats ?? {} });
};

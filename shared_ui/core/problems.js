/** Everything that can go wrong with a call, in words for the person. @import { Action, Problem } from '../types.js' */

/** @type {Record<string, [title: string, message: string, action: Action]>} */
const KNOWN = {
  insecure_context: ['This page is not secure', 'Browsers give the microphone to secure pages only. Open this page with https://, or on the same computer with http://localhost.', 'open_securely'],
  browser_too_old: ['This browser cannot hold a call', 'It lacks audio worklets or microphone access. A current Chrome, Edge, Firefox or Safari works.', 'none'],
  no_microphone: ['No microphone found', 'Plug one in or switch it on, then try again.', 'retry'],
  microphone_denied: ['The microphone is blocked', 'Allow the microphone for this page in the address bar (or in the system settings), then try again.', 'allow_microphone'],
  microphone_busy: ['The microphone is in use', 'Another program holds it. Close that program, or choose another microphone.', 'choose_microphone'],
  microphone_lost: ['The microphone was disconnected', 'The call goes on, but you are not heard. Choose another microphone.', 'choose_microphone'],
  microphone_failed: ['The microphone did not start', 'Try again, or choose another microphone.', 'choose_microphone'],
  speaker_failed: ['The speaker could not be changed', 'Sound goes on through the one before. Some browsers use the system’s speaker only.', 'none'],
  no_camera: ['No camera found', 'Plug one in or switch it on. The call goes on without pictures.', 'none'],
  camera_denied: ['The camera is blocked', 'Allow the camera for this page in the address bar. The call goes on without pictures.', 'none'],
  camera_failed: ['The camera did not start', 'Another program may hold it. The call goes on without pictures.', 'none'],
  audio_blocked: ['The browser holds the sound back', 'Press the button to let this page play sound.', 'unblock_audio'],
  audio_failed: ['The sound did not start', 'The browser could not start its audio. Reload the page, then try again.', 'retry'],
  engine_not_ready: ['The model is not ready yet', 'It is still being prepared. Try again in a moment.', 'wait'],
  server_full: ['All lines are busy', 'The server takes no more calls now. Try again in a few minutes.', 'retry'],
  server_draining: ['The server is about to restart', 'It takes no new calls. Try again in a minute.', 'retry'],
  server_unreachable: ['The server cannot be reached', 'Check the connection, then try again.', 'retry'],
  socket_blocked: ['No call gets through', 'The server answers, but a proxy on the way does not forward WebSockets. Whoever runs it can switch that on, or give the page another address with --public-realtime-url.', 'retry'],
  connection_lost: ['The connection was lost', 'It did not come back in time, so the call has ended.', 'retry'],
  connection_not_resumed: ['The call could not be picked up again', 'The connection came back, but the server had ended the call.', 'retry'],
  call_taken_over: ['This call goes on elsewhere', 'Another window or device took it over.', 'none'],
  call_ended: ['The call was ended by the server', 'The server hung up.', 'retry'],
  refused: ['The server refused the call', 'Its reason is in the event log.', 'retry'],
  events_missed: ['Part of the call was missed', 'The connection was away for too long; the transcript may have a gap.', 'none'],
};

/** The server's words for an end or a refusal → ours. @type {Record<string, string>} */
const FROM_SERVER = {
  engine_not_ready: 'engine_not_ready',
  resource_exhausted: 'server_full',
  queue_full: 'server_full',
  rate_limit_exceeded: 'server_full',
  server_draining: 'server_draining',
  server_shutdown: 'server_draining',
  session_replaced: 'call_taken_over',
  invalid_resume_token: 'connection_not_resumed',
  session_resume_expired: 'connection_not_resumed',
  invalid_session_resume: 'connection_not_resumed',
  unsupported_session_resume: 'connection_not_resumed',
  runtime_resume_failed: 'connection_not_resumed',
  unknown_session: 'connection_not_resumed',
  disconnect_grace_expired: 'connection_not_resumed',
};

/** The server's reasons for hanging up that have a better sentence than "the server hung up". @type {Record<string, string>} */
const ENDINGS = {
  idle_ttl_expired: 'Nothing was said for a long time, so the server hung up.',
  idle_timeout: 'Nothing was said for a long time, so the server hung up.',
  max_duration: 'The call reached the longest time that this server allows.',
  engine_error: 'The model failed, so the call cannot go on.',
  engine_dead: 'The model stopped working, so the call cannot go on.',
  backend_lost: 'The server that runs the model is gone, so the call cannot go on.',
  backend_unavailable: 'The server that runs the model cannot be reached.',
  context_length_exceeded: 'The model’s memory is full. A new call begins with an empty one.',
  internal_error: 'The server failed, so the call cannot go on.',
  context_full: 'The model’s memory is full. A new call begins with an empty one.',
};

/** @param {string} code @param {{message?: string, detail?: string}} [more] @returns {Problem} */
export function problem(code, { message, detail } = {}) {
  const [title, usual, action] = KNOWN[code] ?? KNOWN.refused;
  return { code: KNOWN[code] ? code : 'refused', title, message: message || usual, action, ...(detail ? { detail } : {}) };
}

/** Why a transport closed. @param {string} code @param {string} detail @param {boolean} wasLive @returns {Problem} */
export function closeProblem(code, detail, wasLive) {
  const known = KNOWN[code] ? code : FROM_SERVER[code];
  if (known) return problem(known, { detail: detail || code, message: known === 'engine_not_ready' && detail ? detail : '' });
  if (wasLive) return problem('call_ended', { message: ENDINGS[code] ?? (detail || `The server hung up (${code.replaceAll('_', ' ')}).`), detail: code });
  return problem('refused', { message: detail || ENDINGS[code] || '', detail: code });
}

/** @param {{stage?: string, progress?: number | null, problem?: string | null}} ready @returns {Problem} */
export function notReady(ready) {
  const share = typeof ready.progress === 'number' ? ` (${Math.round(ready.progress * 100)} %)` : '';
  const message = ready.problem || (ready.stage ? `It is still being prepared: ${ready.stage}${share}. Try again in a moment.` : '');
  return problem('engine_not_ready', { message, detail: ready.stage ?? '' });
}

/** What getUserMedia threw. @param {unknown} error @returns {Problem} */
export function microphoneProblem(error) {
  const name = error instanceof DOMException ? error.name : '';
  const detail = String(error);
  if (name === 'NotAllowedError' || name === 'SecurityError') return problem('microphone_denied', { detail });
  if (name === 'NotFoundError' || name === 'OverconstrainedError') return problem('no_microphone', { detail });
  if (name === 'NotReadableError' || name === 'AbortError') return problem('microphone_busy', { detail });
  return problem('microphone_failed', { detail });
}

/** @param {unknown} error of `getUserMedia` or `getDisplayMedia` @param {string} kind @returns {Problem} */
export function pictureProblem(error, kind) {
  const name = error instanceof Error || error instanceof DOMException ? error.name : '';
  const detail = `${kind}: ${String(error)}`;
  if (name === 'NotFoundError' || name === 'OverconstrainedError') return problem('no_camera', { detail });
  return problem(name === 'NotAllowedError' || name === 'SecurityError' ? 'camera_denied' : 'camera_failed', { detail });
}

/**
 * MiniCPM-o 4.5 in native duplex. Sound goes in all the time and the model decides; the page never commits a turn.
 * @import { Choices, Config, Profile, ProfileData, SessionForProfile, WireEvent } from '../../shared_ui/types.js'
 */

/** @param {ProfileData} data @returns {Profile} */
export function createProfile(data) {
  return {
    id: data.id,
    data,
    input: { rate: data.input_rate },
    // The session adds the lateness that it measures, up to the maximum.
    playback: { startBufferMs: data.start_buffer_ms, maxStartBufferMs: 1000, ackIntervalMs: data.ack_interval_ms },
    initialSession: (config, choices) => initialSession(data, config, choices),
    onServerEvent,
  };
}

/** @param {ProfileData} data @param {Config} config @param {Choices} choices */
function initialSession(data, config, choices) {
  const presets = /** @type {{id: string, instructions: string}[]} */ (data.presets ?? []);
  const preset = presets.find((each) => each.id === choices.preset) ?? presets[0];
  // The model cannot stop in the middle of a turn by itself. Where the server has a gate of its own in front of it, speech over a reply
  // silences it softly: the model listens, and forgets nothing.
  const gated = /** @type {readonly string[]} */ (config.engine?.turns ?? []).includes('server_vad');
  return {
    type: 'realtime',
    ...(config.engine?.model ? { model: config.engine.model } : {}),
    ...data.session_defaults,
    ...(gated ? { turn_detection: { type: 'server_vad' }, overlap_policy: 'barge_in_on_speech' } : {}),
    instructions: choices.instructions?.trim() || preset?.instructions || '',
    input_audio_format: 'pcm16',
    sample_rate_hz: data.input_rate,
    output_audio_format: 'pcm16',
    ...(choices.refAudio ? { ref_audio: choices.refAudio } : {}),
  };
}

/**
 * `response.listen` that names a response still sounding, and says that the model chose it, is the model taking itself back: what is left of
 * that response must not be heard. The `listen` that closes a turn leaves the tail alone, because the person has yet to hear it.
 * @param {WireEvent} event @param {SessionForProfile} session
 */
function onServerEvent(event, session) {
  if (event.type !== 'response.listen') return;
  const id = event.response_id ?? event.response?.id;
  const metadata = event.response?.metadata ?? {};
  const endsTurn = metadata.end_of_turn === true || END_OF_TURN.has(metadata.reason);
  if (id && !endsTurn && session.isSounding(id)) session.flush(id);
}

/** Reasons that close a turn whose sound was meant to be heard to its end. */
const END_OF_TURN = new Set(['continuation_limit', 'model_turn_completed_without_output', 'auto_response_segment_complete', 'silence_or_noise', 'buffering']);

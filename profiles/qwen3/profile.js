/**
 * Qwen3-Omni: each turn is a request of its own; it ends at a pause that the server hears, or when the person says so.
 * Camera pictures are items of the conversation, so nothing here rides the sound.
 * @import { Choices, Config, Profile, ProfileData } from '../../shared_ui/types.js'
 */

/** @param {ProfileData} data @returns {Profile} */
export function createProfile(data) {
  return {
    id: data.id,
    data,
    input: { rate: data.input_rate },
    playback: { startBufferMs: data.start_buffer_ms, ackIntervalMs: data.ack_interval_ms },
    initialSession: (config, choices) => initialSession(data, config, choices),
  };
}

/** @param {ProfileData} data @param {Config} config @param {Choices} choices */
function initialSession(data, config, choices) {
  const manual = (choices.turnControl ?? data.turn_control[0]) === 'manual';
  return {
    type: 'realtime',
    ...(config.engine?.model ? { model: config.engine.model } : {}),
    ...data.session_defaults,
    instructions: instructions(data, choices),
    ...(choices.voice ? { voice: choices.voice } : {}),
    input_audio_format: 'pcm16',
    sample_rate_hz: data.input_rate,
    output_audio_format: 'pcm16',
    // A detector goes with interruption by speech; without one the person interrupts with the button.
    turn_detection: manual ? null : { type: 'server_vad', silence_duration_ms: 500 },
    overlap_policy: manual ? 'listen_only' : 'barge_in_on_speech',
  };
}

/** What the person wrote, else the preset they chose, else the first. @param {ProfileData} data @param {Choices} choices */
function instructions(data, choices) {
  if (choices.instructions?.trim()) return choices.instructions.trim();
  const presets = /** @type {{id: string, instructions: string}[]} */ (data.presets ?? []);
  return (presets.find((preset) => preset.id === choices.preset) ?? presets[0])?.instructions ?? '';
}

/**
 * The embedded cascade: turns end at a pause that the server hears, or when the person says so.
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
  const { audio = {}, ...rest } = data.session_defaults ?? {};
  const pcm = (/** @type {number} */ rate) => ({ type: 'audio/pcm', rate });
  const manual = (choices.turnControl ?? data.turn_control[0]) === 'manual';
  return {
    type: 'realtime',
    ...(config.engine?.model ? { model: config.engine.model } : {}),
    ...rest,
    instructions: instructions(data, choices),
    audio: {
      input: { ...audio.input, format: pcm(data.input_rate), turn_detection: manual ? null : { type: 'server_vad' } },
      output: { ...audio.output, format: pcm(data.output_rate), ...(choices.voice ? { voice: choices.voice } : {}) },
    },
  };
}

/** What the person wrote, else the preset they chose, else the first. @param {ProfileData} data @param {Choices} choices */
function instructions(data, choices) {
  if (choices.instructions?.trim()) return choices.instructions.trim();
  const presets = /** @type {{id: string, instructions: string}[]} */ (data.presets ?? []);
  return (presets.find((preset) => preset.id === choices.preset) ?? presets[0])?.instructions ?? '';
}

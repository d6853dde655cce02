/**
 * Qwen3-Omni: each turn is a request of its own; it ends at a pause that the server hears, or when the person says so.
 * Camera pictures are items of the conversation, so nothing here rides the sound.
 * @import { Choices, Config, Profile, ProfileData, SessionForProfile } from '../../shared_ui/types.js'
 */
import { toBase64 } from '../../shared_ui/core/frames.js';

/** @param {ProfileData} data @returns {Profile} */
export function createProfile(data) {
  return {
    id: data.id,
    data,
    input: { rate: data.input_rate },
    playback: { startBufferMs: data.start_buffer_ms, ackIntervalMs: data.ack_interval_ms },
    initialSession: (config, choices) => initialSession(data, config, choices),
    sendPicture: pictureItems(),
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

/** The newest pictures as items of the conversation; older ones are taken back, because the model reads all that are there. */
function pictureItems() {
  /** @type {string[]} */
  const kept = [];
  /** @param {ArrayBuffer} jpeg @param {SessionForProfile} session */
  return (jpeg, session) => {
    const id = `item_picture_${crypto.randomUUID().replaceAll('-', '').slice(0, 16)}`;
    const image_url = `data:image/jpeg;base64,${toBase64(jpeg)}`;
    session.send({ type: 'conversation.item.create', item: { id, type: 'message', role: 'user', content: [{ type: 'input_image', image_url }] } });
    kept.push(id);
    if (kept.length > MAX_PICTURES) session.send({ type: 'conversation.item.delete', item_id: kept.shift() });
  };
}

/** What the engine keeps of a conversation's pictures. */
const MAX_PICTURES = 8;

/** What the person wrote, else the preset they chose, else the first. @param {ProfileData} data @param {Choices} choices */
function instructions(data, choices) {
  if (choices.instructions?.trim()) return choices.instructions.trim();
  const presets = /** @type {{id: string, instructions: string}[]} */ (data.presets ?? []);
  return (presets.find((preset) => preset.id === choices.preset) ?? presets[0])?.instructions ?? '';
}

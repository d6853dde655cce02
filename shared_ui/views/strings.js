/**
 * Every English word that a person reads, in one place. To translate the page, write another object of this shape.
 * Functions take what varies; nothing else in the views builds a sentence.
 */

/** @param {number} ms a length of time, at least 0 */
const roughly = (ms) => {
  const seconds = Math.max(1, Math.round(ms / 1000));
  if (seconds < 60) return `about ${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes === 1 ? "about a minute" : `about ${minutes} minutes`;
};

export const strings = {
  call: "Call",
  callAgain: "Call again",
  cancel: "Cancel",
  retry: "Try again",
  changeSettings: "Change settings",

  /** What the model is doing: a word, and a line that says what the person may do. */
  state: {
    idle: ["Ready", "Press Call and speak."],
    loading: ["Getting ready", "You can call as soon as the model is loaded."],
    checking: ["One moment", "Asking for your microphone."],
    connecting: ["Connecting", "Opening the call."],
    queued: ["In line", "The call starts by itself when it is your turn."],
    listening: ["Listening", "Go on, say something."],
    listeningManual: ["Your turn", "Speak, then send your turn."],
    hearing: ["Hearing you", "Take your time."],
    thinking: ["Thinking", "An answer is on its way."],
    speaking: ["Speaking", "Talk over it to interrupt."],
    speakingManual: ["Speaking", "Press Esc to interrupt."],
    ducked: ["Speaking softly", "Did you want to say something?"],
    held: ["On hold", "Nothing is sent until you resume."],
    reconnecting: ["Reconnecting", "The connection was lost. The call goes on when it is back."],
    closing: ["Ending", "Hanging up."],
    ended: ["Call ended", ""],
  },
  mutedHint: "Your microphone is muted.",
  queuePlace: (/** @type {number} */ position) => (position <= 1 ? "You are next in line" : `You are number ${position} in line`),
  queueWait: (/** @type {number | null | undefined} */ ms) => (ms === null || ms === undefined ? "No estimate of the wait yet." : `The wait is ${roughly(ms)}.`),

  /** Why a call ended, by the reason that the server or the page gave. */
  ended: {
    user: "You ended the call.",
    client_close: "You ended the call.",
    idle_ttl_expired: "Nothing was said for a long time, so the call was closed.",
    disconnect_grace_expired: "The connection was away for too long, so the call could not go on.",
    session_replaced: "The call went on in another window.",
    replaced: "The call went on in another window.",
    server_shutdown: "The server is restarting. Try again in a moment.",
    shutdown: "The server is restarting. Try again in a moment.",
    engine_error: "The model had a problem, and the call could not go on.",
    error: "Something failed, and the call could not go on.",
    cancelled: "You left the line.",
    other: (/** @type {string} */ reason) => `The call was closed (${reason.replaceAll("_", " ")}).`,
  },

  notConnected: "Not connected",
  configUnavailable: "The server does not answer. It may be starting, or gone; the page tries again by itself.",
  profileUnavailable: (/** @type {string} */ id) => `The server has no profile named ${id}.`,
  /** The button beside a refusal, by the action that it asks for. */
  actions: {choose_microphone: "Choose microphone", unblock_audio: "Play sound"},
  audioBlocked: "The browser holds the sound back.",
  context: (/** @type {number} */ percent) => `Memory ${percent} % full`,

  controls: {
    group: "Call controls",
    mute: "Mute", unmute: "Unmute", hold: "Hold", resume: "Resume", interrupt: "Interrupt", end: "End", send: "Send turn",
    pushToTalk: "or hold Space while you talk",
  },
  pictures: {
    camera: "Camera", screen: "Share screen", stop: "Stop showing", flip: "Other camera", soon: "Shown within a second",
    cameraLabel: "Your camera", screenLabel: "Your shared screen", sentLabel: "The last picture that the model was given",
  },
  meters: { you: "You", model: "Model", youLabel: "Your microphone's level", modelLabel: "The model's level" },
  elapsed: "Length of the call",

  devices: {
    title: "Sound", microphone: "Microphone", speaker: "Speaker", standard: "System default",
    unnamedMic: (/** @type {number} */ n) => `Microphone ${n}`,
    unnamedSpeaker: (/** @type {number} */ n) => `Speaker ${n}`,
    noSpeakerChoice: "This browser always uses the system's speaker.",
  },

  check: {
    title: "Before you call",
    secure: "Secure page", secureOk: "The browser may use the microphone here.", secureBad: "Open this page on https:// or localhost.",
    mic: "Microphone", micAsk: "Not asked yet.", micOk: "Allowed.", micBad: "Blocked. Allow it in the address bar.", micNone: "None was found.",
    level: "Level", levelIdle: "Test it to see whether you are heard.", levelQuiet: "Say a few words…", levelOk: "You come through well.",
    test: "Test microphone", stop: "Stop test",
    ok: "OK", bad: "Problem", open: "Not checked",
  },

  settings: {
    title: "How it should behave", turns: "Who ends your turn",
    server_vad: "A pause", server_vadHint: "Speak freely. It answers when you pause.",
    manual: "You do", manualHint: "It answers when you press Send turn.",
    model: "The model", modelHint: "It decides by itself when to speak.",
    preset: "Character", custom: "Your own", instructions: "Instructions", voice: "Voice", voiceDefault: "Default",
    voiceReference: "Reference voice", voiceReferenceHint: "A short recording (WAV, 3 to 8 s) of the voice it should have; without one it has its own.",
    path: "Connection", paths: {auto: "Automatic", webrtc: "WebRTC", websocket: "WebSocket"}, pathHint: "Automatic takes the quickest that works, and changes by itself.",
    camera: "Camera shows", cameraFrames: (/** @type {number} */ n) => (n === 1 ? "One picture a second" : `${n} a second`),
    cameraOneHint: "Enough for things that stay in view.", cameraManyHint: "It sees movement. Its memory fills about three times as fast.",
    voiceReferenceNeeded: "This model needs a reference voice: choose a short WAV recording.",
  },

  transcript: {
    title: "Conversation", empty: "What you both say appears here.", you: "You", model: "Model",
    cut: "interrupted",
    copy: "Copy", copied: "Copied", copyFailed: "Not copied", save: "Save",
    say: "Type a message", send: "Send",
  },

  log: {
    title: "Event log", open: "Events", close: "Close", filter: "Filter events", count: (/** @type {number} */ shown, /** @type {number} */ all) => `${shown} of ${all} events`,
    save: "Export JSON", empty: "No event yet.", none: "No event matches.", sent: "sent", received: "received", local: "page",
  },

  figures: {
    title: "Figures", open: "Figures", close: "Close figures", save: "Export JSON", notAvailable: "not available",
    rows: {
      lastAnswerMs: "End of your speech to first sound, last", medianAnswerMs: "… median of this call",
      rttMs: "Round trip", jitterMs: "Jitter", lossPercent: "Packets lost", inKbps: "Received", outKbps: "Sent",
      startBufferMs: "Sound kept back before it plays", underruns: "Speaker ran dry", concealedMs: "Sound made up for lost packets",
      lateUnits: "Pieces of sound that came late", outputLatencyMs: "Speaker's own delay", pathChanges: "Changes of path",
    },
    value: (/** @type {string} */ name, /** @type {string | number} */ value) => {
      const n = Number(value);
      if (name.endsWith("Ms")) return `${n < 10 ? n.toFixed(1) : Math.round(n)} ms`;
      if (name.endsWith("Kbps")) return `${Math.round(n)} kbit/s`;
      if (name.endsWith("Percent")) return `${n.toFixed(1)} %`;
      return String(value);
    },
    why: (/** @type {string} */ path, /** @type {string} */ why) => {
      const name = path === "webrtc" ? "WebRTC" : "WebSocket";
      const reasons = /** @type {Record<string, string>} */ ({
        best: "the quickest way", chosen: "as chosen", no_webrtc: "WebRTC cannot be had here", line_is_full: "only it can wait in line",
        no_media: "WebRTC's sound does not get through this network", path_died: "the path before it died", path_bad: "the path before it was too bad",
      });
      return `This call goes over ${name}: ${reasons[why] ?? why}.`;
    },
    test: "Test mouth to ear", testing: "Sending chirps to the server and back: about eight seconds. You hear nothing of it.",
    testFailed: (/** @type {string} */ why) => `The test did not work: ${why}`,
    result: (/** @type {{path: string, medianMs: number | null, p95Ms: number | null, heard: number, said: number, outputLatencyMs: number | null}} */ r) =>
      r.medianMs === null
        ? `None of ${r.said} chirps came back.`
        : `Mouth to ear over ${r.path === "webrtc" ? "WebRTC" : "WebSocket"}: ${Math.round(r.medianMs)} ms (95 %: ${Math.round(r.p95Ms ?? 0)} ms), ${r.heard} of ${r.said} chirps heard.${r.outputLatencyMs ? ` Your speaker adds ${Math.round(r.outputLatencyMs)} ms.` : ""}`,
    marks: {duck: "lowered", unduck: "raised again", cut: "cut", gap: "gap", path: "path changed"},
    span: (/** @type {string} */ who, /** @type {number} */ from, /** @type {number} */ to) => `${who === "you" ? "You" : "Model"}: ${(from / 1000).toFixed(1)} to ${(to / 1000).toFixed(1)} s`,
    timelineLabel: (/** @type {number} */ you, /** @type {number} */ model, /** @type {number} */ cuts) => `Who spoke when: you ${you} times, the model ${model} times, ${cuts} cuts.`,
  },

  shortcuts: {
    title: "Keyboard", open: "Shortcuts",
    keys: /** @type {[string, string][]} */ ([
      ["M", "Mute or unmute"], ["H", "Hold or resume"], ["Esc", "Interrupt the model"], ["Space", "Hold to talk, when you end your turns yourself"],
      ["T", "Type a message"], ["L", "Event log"], ["E", "End the call"], ["?", "This list"],
    ]),
    note: "Letters and Space rest while you type in a field.",
  },

  engine: {
    loading: (/** @type {string} */ stage) => (stage ? `Getting ready: ${stage}` : "Getting ready"),
  },
};

/** @typedef {typeof strings} Strings */

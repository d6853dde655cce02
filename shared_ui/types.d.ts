/** Types that the browser library, profiles and views share. Wire events are open objects: their fields are documented in the protocol package. */

export interface WireEvent {
  type: string;
  server_event_seq?: number;
  response_id?: string;
  item_id?: string;
  [field: string]: any;
}

export interface Config {
  version?: string;
  engine?: { name: string; model: string; honest?: string; [key: string]: unknown };
  ready?: { ready: boolean; stage?: string; progress?: number | null; problem?: string | null };
  profile?: string;
  profiles?: ProfileData[];
  webrtc?: { path: string; ice_servers: string } | null;
  /** Whether the server says back what it hears, at `?loopback=1`. */
  loopback?: boolean;
  /** `pass`: shown to a socket of another host, where the page's cookie does not go. */
  realtime: { path: string; public_url?: string | null; subprotocol?: string; pass?: string };
  limits?: { grace_s?: number; max_event_bytes?: number; [key: string]: unknown };
}

export interface ProfileData {
  id: string;
  title?: string;
  module?: string;
  [key: string]: any;
}

export interface Choices {
  preset?: string;
  instructions?: string;
  turnControl?: 'server_vad' | 'manual' | 'model';
  voice?: string;
  language?: string;
  microphone?: string;
  speaker?: string;
  refAudio?: string;
  path?: 'auto' | Path;
  /** Camera frames a unit. */
  stacked?: number;
  [key: string]: unknown;
}

export interface PlaybackSettings {
  startBufferMs: number;
  maxStartBufferMs?: number;
  catchUpMs?: number;
  fadeMs?: number;
  ackIntervalMs?: number;
  capMs?: number;
}

/** What a profile may use of a session. `CallSession` is one. */
export interface SessionForProfile {
  readonly state: CallState;
  send(event: WireEvent): boolean;
  flush(responseId?: string): void;
  isSounding(responseId: string): boolean;
  interrupt(options?: { hard?: boolean; source?: string }): void;
}

export interface Profile {
  id: string;
  data: ProfileData;
  input: { rate: number };
  playback: PlaybackSettings;
  initialSession(config: Config, choices: Choices): Record<string, unknown>;
  onServerEvent?(event: WireEvent, session: SessionForProfile): void;
  commitTurn?(session: SessionForProfile): void;
  /** Instead of riding on the microphone's sound. */
  sendPicture?(jpeg: ArrayBuffer, session: SessionForProfile): void;
  sendText?(text: string, session: SessionForProfile): void;
}

export type Phase = 'idle' | 'checking' | 'connecting' | 'queued' | 'live' | 'reconnecting' | 'ended' | 'failed';
export type Activity = 'listening' | 'hearing' | 'thinking' | 'speaking' | 'ducked' | 'held';
export type Action = 'retry' | 'allow_microphone' | 'choose_microphone' | 'open_securely' | 'unblock_audio' | 'wait' | 'none';

export interface Problem {
  code: string;
  title: string;
  message: string;
  action: Action;
  /** The technical wording, for the event log. */
  detail?: string;
}

export type Path = 'webrtc' | 'websocket';

/** `why` this path: `best`, `chosen`, `no_webrtc`, `line_is_full`, `no_media`, `path_died`, `path_bad`. */
export interface TransportState {
  kind: Path;
  why: string;
  state: 'idle' | 'connecting' | 'open' | 'reconnecting' | 'closed';
  attempt: number;
  retryInMs: number | null;
}

export type PictureKind = 'camera' | 'screen';

/** How a profile wants its pictures. `max_side`: pixels, 0 = as captured. `quality`: JPEG, 0 to 1. */
export interface CameraSettings {
  enabled: boolean;
  fps: number;
  max_side: number;
  quality: number;
  /** Frames a unit that a person may choose from. */
  stacks?: number[];
}

export interface CallState {
  readonly phase: Phase;
  readonly activity: Activity;
  readonly queue: null | { position: number; length: number; estimatedWaitMs: number | null };
  readonly muted: boolean;
  readonly held: boolean;
  readonly audioBlocked: boolean;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly endReason: string | null;
  readonly transport: TransportState;
  readonly microphone: null | { deviceId: string; label: string };
  readonly speaker: null | { deviceId: string };
  /** What the model is shown. `sentAt`: `Date.now()` of the last picture, `bytes` its size. */
  readonly pictures: null | { kind: PictureKind; deviceId: string; label: string; facing: string; sentAt: number | null; bytes: number };
  readonly context: null | { usedTokens: number; maxTokens: number; secondsLeft: number | null };
  readonly notice: null | { level: 'info' | 'warning' | 'error'; code: string; message: string };
  readonly error: Problem | null;
}

export interface TranscriptEntry {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly text: string;
  readonly final: boolean;
  readonly interrupted: boolean;
  readonly heardText?: string;
}

export interface LogEntry {
  readonly at: number;
  readonly direction: 'in' | 'out' | 'local';
  readonly type: string;
  readonly summary: string;
  readonly event: Record<string, unknown>;
}

/** Flat numbers. Times in ms. */
export interface CallStats {
  underruns: number;
  flushes: number;
  lateDropped: number;
  capDroppedMs: number;
  startBufferMs: number;
  latenessP95Ms: number;
  outputLatencyMs: number;
  micPiecesSent: number;
  picturesSent: number;
  picturesSkipped: number;
  picturesReplaced: number;
  picturesLate: number;
  micPiecesDropped: number;
  micBacklogPieces: number;
  reconnects: number;
  duplicatesDropped: number;
  eventsReceived: number;
  lastSeq: number;
  pathChanges: number;
  lateUnits: number;
  bytesIn: number;
  bytesOut: number;
  rttMs: number;
  jitterMs: number;
  lossPercent: number;
  concealedMs: number;
  bufferMs: number;
}

/** What a call can be taken up again with. */
export interface TicketData {
  sessionId: string;
  token: string;
  lastSeq: number;
}

/** A moment of a peer connection; counts since its begin. */
export interface PathSample {
  at: number;
  received: number;
  lost: number;
  bytesIn: number;
  bytesOut: number;
  emitted: number;
  bufferS: number;
  concealedMs: number;
  jitterMs: number | null;
  rttMs: number | null;
  relayed: boolean | null;
}

/** ms since the call began; `to` null: it still sounds. */
export interface Span {
  from: number;
  to: number | null;
  response?: string;
}

export interface Mark {
  at: number;
  kind: 'duck' | 'unduck' | 'cut' | 'gap' | 'path';
}

/** From the last sound of the person's turn (`endedMs`) to the first of its answer. */
export interface TurnTime {
  endedMs: number;
  ms: number;
}

export interface TimelineData {
  you: readonly Span[];
  model: readonly Span[];
  marks: readonly Mark[];
  turns: readonly TurnTime[];
}

/** Times in ms; null: not measured. */
export interface LoopbackResult {
  path: Path;
  medianMs: number | null;
  p95Ms: number | null;
  heard: number;
  said: number;
  underruns: number | null;
  outputLatencyMs: number | null;
}

/** null: not available here. */
export interface Figures {
  path: Path;
  why: string;
  rttMs: number | null;
  jitterMs: number | null;
  lossPercent: number | null;
  inKbps: number | null;
  outKbps: number | null;
  startBufferMs: number | null;
  underruns: number | null;
  concealedMs: number | null;
  lateUnits: number | null;
  outputLatencyMs: number | null;
  lastAnswerMs: number | null;
  medianAnswerMs: number | null;
  pathChanges: number | null;
}

/** The last seconds of a path; null: not available. */
export interface PathFigures {
  rttMs: number | null;
  jitterMs: number | null;
  lossPercent: number | null;
  inKbps: number | null;
  outKbps: number | null;
  concealedMs: number | null;
  bufferMs: number | null;
}

/** What carries a call. */
export interface Transport {
  open(): void;
  send(event: WireEvent): boolean;
  close(reason: string): void;
}

export interface TransportStatus {
  state: 'connecting' | 'open' | 'reconnecting' | 'closed';
  attempt: number;
  retryInMs: number | null;
  /** With `closed`: why. `connection_lost` and `server_unreachable` are ours, others the server's words. */
  code?: string;
  detail?: string;
}

export interface WebRtcOptions {
  callsUrl: string;
  iceServersUrl: string;
  session: Record<string, unknown>;
  /** A call to take up instead of a new one. */
  ticket?: TicketData;
  answerMs: number;
  ackEveryMs: number;
  ackEveryEvents: number;
  watch?: { stallMs?: number; badLoss?: number; badRttMs?: number };
}

/** Times in ms; see `LINE_DEFAULTS`. */
export interface LineOptions {
  wanted: 'auto' | Path;
  socket: Partial<TransportOptions> & Pick<TransportOptions, 'url' | 'first'>;
  webrtc: Omit<WebRtcOptions, 'answerMs' | 'ticket'> | null;
  /** Where a call is hung up when no path is sure to. */
  hangUpUrl: (id: string) => string;
  patienceMs?: number;
  answerMs?: number;
  hurryMs?: number;
  returnAfterMs?: number;
  returns?: number;
  graceMs?: number;
  redialMs?: number;
  mostRedialMs?: number;
}

export interface TransportOptions {
  /** A call to take up instead of a new one. */
  ticket?: TicketData;
  url: string;
  subprotocol: string;
  /** Lets the page in on a server that wants keys, where its cookie does not go. */
  pass?: string;
  /** The first message of a new call: `session.update`. */
  first: WireEvent;
  graceMs: number;
  /** Microphone pieces kept while the socket is slow or away: about 1 s. */
  backlogPieces: number;
  backlogBytes: number;
  heartbeatMs: number;
  silenceMs: number;
  ackEveryMs: number;
  ackEveryEvents: number;
  firstRetryMs: number;
  maxRetryMs: number;
  handshakeMs: number;
}

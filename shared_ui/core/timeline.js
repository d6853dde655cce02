/**
 * Who sounded when, and what happened to it: two lanes of spans, marks between them, and how long each answer took to begin.
 *
 * Pure: every moment comes from the caller, in ms since the call began. Nothing older than `keptMs` is kept.
 * @import { Mark, Span, TimelineData, TurnTime } from '../types.js'
 */

const SPEECH = 0.006; // RMS: -44 dBFS, above a quiet room and below a soft voice
const HANGOVER_MS = 350; // a pause within a sentence is shorter

export class Timeline {
  /** @param {number} [keptMs] */
  constructor(keptMs = 600_000) {
    this.keptMs = keptMs;
    /** @type {Span[]} */
    this.you = [];
    /** @type {Span[]} */
    this.model = [];
    /** @type {Mark[]} */
    this.marks = [];
    /** @type {TurnTime[]} */
    this.turns = [];
    this.loudAt = -Infinity;
    this.answered = true; // since you last spoke
  }

  /** Your microphone's level, as it leaves the page (a muted one is silent). @param {number} at @param {number} rms */
  hear(at, rms) {
    const open = this.you.at(-1);
    if (rms >= SPEECH) {
      this.loudAt = at;
      if (!open || open.to !== null) this.#add(this.you, { from: at, to: null });
      this.answered = false;
    } else if (open?.to === null && at - this.loudAt > HANGOVER_MS) open.to = this.loudAt;
  }

  /** The first sound of a response. @param {number} at @param {string} response */
  begin(at, response) {
    const open = this.model.at(-1);
    if (open?.to === null) open.to = at;
    this.#add(this.model, { from: at, to: null, response });
    if (this.answered || !Number.isFinite(this.loudAt)) return;
    // Who still speaks is being talked over, not answered.
    const you = this.you.at(-1);
    if (you?.to === null && at - this.loudAt < HANGOVER_MS / 2) return;
    this.answered = true;
    this.turns.push({ endedMs: this.loudAt, ms: at - this.loudAt });
    this.#trim(at);
  }

  /** Its last sound; `cut`: it was not its own end. @param {number} at @param {string} response @param {boolean} [cut] */
  finish(at, response, cut = false) {
    const span = this.model.filter((one) => one.response === response).at(-1);
    if (span?.to === null) span.to = at;
    if (cut && span) this.mark(at, 'cut');
  }

  /** @param {number} at @param {Mark['kind']} kind */
  mark(at, kind) {
    this.#add(this.marks, { at, kind });
  }

  /** @template T @param {T[]} list @param {T} entry */
  #add(list, entry) {
    list.push(entry);
    const one = /** @type {{from?: number, at?: number}} */ (entry);
    this.#trim(one.from ?? one.at ?? 0);
  }

  /** @param {number} now */
  #trim(now) {
    const first = now - this.keptMs;
    for (const lane of [this.you, this.model]) while (lane.length > 1 && (lane[0].to ?? now) < first) lane.shift();
    while (this.marks.length && this.marks[0].at < first) this.marks.shift();
    while (this.turns.length && this.turns[0].endedMs < first) this.turns.shift();
  }

  /** Time from the end of your speech to the first sound of the answer, ms: the last one and the middle one; null before any. */
  get waits() {
    const sorted = this.turns.map((turn) => turn.ms).sort((a, b) => a - b);
    return { last: this.turns.at(-1)?.ms ?? null, median: sorted.length ? sorted[Math.floor(sorted.length / 2)] : null };
  }

  /** @returns {TimelineData} */
  get data() {
    return { you: this.you, model: this.model, marks: this.marks, turns: this.turns };
  }
}

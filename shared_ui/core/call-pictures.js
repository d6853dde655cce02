/**
 * What the model is shown during a call: opened by the person, taken when the line asks, sent the way the profile wants.
 *
 * Events: `change` (`shown`), `problem` (detail: for the person), `picture` (detail: the JPEG that was sent last).
 * @import { CallState, PictureKind } from '../types.js'
 */
import { PictureSource } from './camera.js';
import { pictureProblem } from './problems.js';

const TALKING = new Set(['live', 'reconnecting']);

export class CallPictures extends EventTarget {
  /** @param {import('./session.js').CallSession} session @param {() => import('./line.js').Line | null} line */
  constructor(session, line) {
    super();
    this.session = session;
    this.line = line;
    /** @type {PictureSource | null} */
    this.source = null;
    /** @type {CallState['pictures']} */
    this.shown = null;
  }

  /** For a preview. */
  get stream() {
    return this.source?.stream ?? null;
  }

  get #talking() {
    return TALKING.has(this.session.state.phase);
  }

  /** @param {CallState['pictures']} shown */
  #change(shown) {
    this.shown = shown;
    this.dispatchEvent(new Event('change'));
  }

  /** @param {PictureKind} kind @param {{deviceId?: string, facing?: 'user' | 'environment'}} wish @returns {Promise<boolean>} */
  async show(kind, wish) {
    const { profile, devices } = this.session;
    const settings = profile.data.camera;
    if (!this.#talking || !settings?.enabled) return false;
    const source = this.source ?? new PictureSource(devices, settings);
    try {
      const track = await source.open(kind, wish);
      if (!this.#talking) {
        source.close();
        return false;
      }
      if (this.source !== source) source.addEventListener('ended', () => this.hide());
      this.source = source;
      const { deviceId = '', facingMode = '' } = track.getSettings();
      this.#change({ kind, deviceId, label: track.label, facing: facingMode, sentAt: null, bytes: 0 });
      this.line()?.wantPictures(profile.data.unit_ms ?? Math.round(1000 / (settings.fps || 1)), this.#moments);
      return true;
    } catch (error) {
      if (/** @type {DOMException} */ (error).name === 'NotAllowedError' && kind === 'screen') return false; // the person closed the picker
      this.dispatchEvent(new CustomEvent('problem', { detail: pictureProblem(error, kind) }));
      return false;
    }
  }

  hide() {
    this.line()?.wantPictures(null);
    this.source?.close();
    this.source = null;
    if (this.shown) this.#change(null);
    return true;
  }

  /** Frames a unit: more than one are stacked into a second picture, where the profile's model reads that. */
  get #moments() {
    const { stacks = [1] } = this.session.profile.data.camera ?? {};
    const wanted = this.session.options.choices?.stacked ?? 1;
    return stacks.includes(wanted) ? wanted : 1;
  }

  /** Bytes that a unit's pictures may have on the path in use: as an item they travel in base64, beside the names around them. */
  get #room() {
    const room = this.line()?.room ?? Infinity;
    return this.session.profile.sendPicture ? Math.floor(room * 0.74) - 1_000 : room - 200;
  }

  get #wanted() {
    return this.shown !== null && !this.session.state.held;
  }

  /** One of a unit's moments has come. @param {number} moment */
  async take(moment) {
    if (!this.#wanted) return;
    const blobs = (await this.source?.take(moment, this.#moments, this.#room)) ?? [];
    const jpegs = await Promise.all(blobs.map((blob) => blob.arrayBuffer()));
    if (jpegs.length === 0 || !this.#wanted || !this.shown) return;
    const { profile } = this.session;
    if (profile.sendPicture) profile.sendPicture(jpegs[0], this.session);
    else this.session.sendFrames(jpegs);
    this.#change({ ...this.shown, sentAt: Date.now(), bytes: blobs.reduce((sum, blob) => sum + blob.size, 0) });
    this.dispatchEvent(new CustomEvent('picture', { detail: blobs.at(-1) }));
  }
}

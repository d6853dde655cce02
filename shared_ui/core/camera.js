/**
 * Pictures for the model: a camera or a shared screen, and its newest frame as a JPEG whenever it is asked for.
 *
 * Events: `ended` when the person (or the system) stops the source outside the page.
 * @import { CameraSettings, PictureKind } from '../types.js'
 */
import { composite } from './stack.js';

const READY_MS = 5_000;
const UNIT_MS = 1_000;
const COARSEST = 0.15; // quality: below it a smaller picture tells more than a coarser one

export class PictureSource extends EventTarget {
  /** @param {MediaDevices} devices @param {CameraSettings} settings */
  constructor(devices, settings) {
    super();
    this.devices = devices;
    this.settings = settings;
    /** @type {MediaStream | null} */
    this.stream = null;
    this.video = document.createElement('video');
    this.video.muted = true;
    this.video.playsInline = true;
  }

  /** Opens the source; the one before is let go when the new one shows. @param {PictureKind} kind @param {{deviceId?: string, facing?: 'user' | 'environment'}} [wish] @throws {DOMException} */
  async open(kind, { deviceId, facing = 'user' } = {}) {
    const side = this.settings.max_side || 1280;
    const size = { width: { ideal: side }, height: { ideal: Math.round((side * 9) / 16) } };
    const stream =
      kind === 'screen'
        ? await this.devices.getDisplayMedia({ video: { frameRate: { ideal: 5 } }, audio: false })
        : await this.devices.getUserMedia({ video: { ...size, ...(deviceId ? { deviceId: { exact: deviceId } } : { facingMode: facing }) } });
    const track = stream.getVideoTracks()[0];
    track.onended = () => this.stream === stream && this.dispatchEvent(new Event('ended'));
    this.video.srcObject = stream;
    try {
      await this.video.play();
      await Promise.race([this.#firstFrame(), new Promise((_, fail) => setTimeout(() => fail(new DOMException('The camera gives no picture.', 'NotReadableError')), READY_MS))]);
    } catch (error) {
      for (const each of stream.getTracks()) each.stop();
      this.video.srcObject = this.stream;
      throw error;
    }
    for (const each of this.stream?.getTracks() ?? []) each.stop();
    this.stream = stream;
    return track;
  }

  #firstFrame() {
    return new Promise((resolve) => {
      if (this.video.videoWidth > 0) resolve(undefined);
      else this.video.addEventListener('loadeddata', resolve, { once: true });
    });
  }

  /** The frame that shows now, no larger than the profile wants, or a share of that. Null when there is none. @param {number} [share] @returns {OffscreenCanvas | null} */
  snap(share = 1) {
    const { videoWidth: width, videoHeight: height } = this.video;
    if (!this.stream || !width || !height) return null;
    const scale = share * (this.settings.max_side ? Math.min(1, this.settings.max_side / Math.max(width, height)) : 1);
    const canvas = new OffscreenCanvas(Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale)));
    const brush = canvas.getContext('2d', { alpha: false });
    if (!brush) return null;
    brush.drawImage(this.video, 0, 0, canvas.width, canvas.height);
    return canvas;
  }

  /** As a JPEG; one above `most` bytes is encoded more coarsely. @param {OffscreenCanvas} canvas @param {number} most @returns {Promise<Blob>} */
  async encode(canvas, most) {
    let quality = this.settings.quality;
    for (;;) {
      const blob = await canvas.convertToBlob({ type: 'image/jpeg', quality });
      if (blob.size <= most || quality < COARSEST) return blob;
      quality *= 0.7;
    }
  }

  /** Takes the frame of one of a unit's moments; with the last of them come the unit's pictures: the first frame, and the later ones as one composite. @param {number} moment @param {number} moments @param {number} most bytes in all @returns {Promise<Blob[]>} empty: more moments are to come, or there is no picture */
  async take(moment, moments, most) {
    // A composite has room for each of its frames at half the size.
    const frame = this.snap(moment === 0 ? 1 : 0.5);
    if (!frame) return [];
    if (moments === 1) return [await this.encode(frame, most)];
    if (moment === 0) {
      // Encoded now: at the end of the unit there is time for one picture, not for two.
      this.#unit = { at: performance.now(), size: { width: frame.width, height: frame.height }, first: this.encode(frame, most / 2), later: [] };
      return [];
    }
    const unit = this.#unit;
    unit?.later.push(frame);
    if (moment < moments - 1 || !unit) return [];
    this.#unit = null;
    // A page that was too busy to take its moments in time has nothing to show of this second.
    if (performance.now() - unit.at > UNIT_MS) return [];
    return Promise.all([unit.first, this.encode(composite(unit.later, unit.size), most / 2)]);
  }

  /** @type {{at: number, size: {width: number, height: number}, first: Promise<Blob>, later: OffscreenCanvas[]} | null} a unit that was joined in its middle has none */
  #unit = null;

  close() {
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    this.stream = null;
    this.video.srcObject = null;
  }
}

/** When a picture is due, counted in pieces of sound that reached the server: the model's units are counted in sound too. */

const PIECE_MS = 20;
const LEAD_PIECES = 10; // 200 ms: asked for, drawn, encoded and sent before the unit closes, and at most that stale

export class PictureClock {
  constructor() {
    this.unitPieces = 0; // 0: no pictures are wanted
    this.moments = 1;
    this.pieces = 0;
  }

  /** `moments`: frames to take in each unit; with more than one they are spread evenly and the last asks for all. @param {number | null} unitMs @param {number} [moments] */
  want(unitMs, moments = 1) {
    this.unitPieces = unitMs ? Math.max(1, Math.round(unitMs / PIECE_MS)) : 0;
    this.moments = Math.max(1, moments);
  }

  /** One more piece has gone. @returns {number | null} the moment that is due, from 0 */
  piece() {
    const at = this.pieces++ % Math.max(1, this.unitPieces);
    if (!this.unitPieces) return null;
    if (this.moments === 1) return at === Math.max(0, this.unitPieces - LEAD_PIECES) ? 0 : null;
    const moment = Math.round((at * this.moments) / this.unitPieces);
    return at === Math.round((moment * this.unitPieces) / this.moments) && moment < this.moments ? moment : null;
  }
}

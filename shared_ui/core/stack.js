/** Several moments of one second as one picture: a grid in the order of time, each cell letterboxed, with black seams between. */

const SEAM = 6; // pixels, as the model's makers tile them

/** Columns and rows of a grid for `count` cells. @param {number} count */
export function grid(count) {
  const columns = Math.ceil(Math.sqrt(count));
  return { columns, rows: Math.ceil(count / columns) };
}

/** @param {CanvasImageSource[]} frames all of one size, at least one @param {{width: number, height: number}} size of the composite @returns {OffscreenCanvas} */
export function composite(frames, { width, height }) {
  const { columns, rows } = grid(frames.length);
  const canvas = new OffscreenCanvas(width, height);
  const brush = canvas.getContext('2d', { alpha: false });
  if (!brush) throw new Error('no 2D canvas');
  const cell = { width: (width - SEAM * (columns - 1)) / columns, height: (height - SEAM * (rows - 1)) / rows };
  frames.forEach((frame, i) => {
    const size = /** @type {{width: number, height: number}} */ (frame);
    const scale = Math.min(cell.width / size.width, cell.height / size.height);
    const [w, h] = [size.width * scale, size.height * scale];
    const x = (i % columns) * (cell.width + SEAM) + (cell.width - w) / 2;
    const y = Math.floor(i / columns) * (cell.height + SEAM) + (cell.height - h) / 2;
    brush.drawImage(frame, Math.round(x), Math.round(y), Math.round(w), Math.round(h));
  });
  return canvas;
}

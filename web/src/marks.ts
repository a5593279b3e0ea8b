// Marks on a chart: a ring, or a diamond set off from what lies under it.
import {color} from './theme';

export type Shape = 'ring' | 'diamond';

/** Draws a mark of `size` (its radius) at x, y, all in pixels of the canvas; `ratio` are those of one CSS pixel. */
export function drawMark(
  context: CanvasRenderingContext2D,
  mark: {shape: Shape; x: number; y: number; size: number; color: string},
  panel: string,
  ratio: number,
): void {
  const {x, y, size} = mark;
  context.save();
  context.beginPath();
  context.lineWidth = 2 * ratio;
  if (mark.shape === 'ring') {
    context.arc(x, y, size, 0, 2 * Math.PI);
    context.strokeStyle = color(mark.color);
    context.stroke();
  } else {
    context.moveTo(x, y - size * 1.3);
    context.lineTo(x + size * 1.3, y);
    context.lineTo(x, y + size * 1.3);
    context.lineTo(x - size * 1.3, y);
    context.closePath();
    context.fillStyle = color(mark.color);
    context.strokeStyle = panel;
    context.fill();
    context.stroke();
  }
  context.restore();
}

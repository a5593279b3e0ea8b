// Draws the visible part of the timeline on a canvas.
import {duration, niceStep, shortName} from '../format';
import {color} from '../theme';
import {kRuler, packAt, upperBound, type ClockTrack, type Lane, type Model, type Row} from './model';

export interface View {
  from: number;
  to: number;
}

export interface Mark {
  row: number;
  index: number;
}

export interface Palette {
  text: string;
  muted: string;
  line: string;
  panel: string;
  accent: string;
  clock: string;
  clockFill: string;
  kinds: Map<string, string[]>;
  onSlice: string;
  unknown: string;
  raised: string;
  shade: string;
}

export function palette(): Palette {
  const shades = (name: string, count: number): string[] =>
    Array.from({length: count}, (_unused, index) => color(`--${name}-${index}`));
  return {
    text: color('--text'),
    muted: color('--muted'),
    line: color('--line'),
    panel: color('--panel'),
    raised: color('--raised'),
    shade: color('--shade'),
    accent: color('--accent'),
    clock: color('--clock'),
    clockFill: color('--clock-fill'),
    onSlice: color('--on-slice'),
    unknown: color('--unknown'),
    kinds: new Map([
      ['kernel', shades('kernel', 5)],
      ['collective', shades('collective', 2)],
      ['copy', shades('copy', 2)],
      ['memset', shades('copy', 2)],
      ['host', shades('host', 2)],
      ['api', shades('host', 2)],
      ['sync', shades('host', 2)],
    ]),
  };
}

// Names keep their shade on every page.
function shadeOf(name: string, count: number): number {
  let hash = 2166136261;
  for (let i = 0; i < name.length; ++i) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
  return (hash >>> 8) % count;
}

export function sliceColors(model: Model, colors: Palette): string[] {
  return model.names.map(([name, kind]) => {
    const shades = colors.kinds.get(kind) ?? [colors.unknown];
    return shades[shadeOf(name, shades.length)] ?? colors.unknown;
  });
}

export interface Scene {
  model: Model;
  view: View;
  width: number;
  gutter: number;
  cursor: number | null;
  marked: Mark | null;
  colors: Palette;
  fills: string[];
}

const kFont = '11px system-ui, sans-serif';

export function timeAt(scene: {view: View; width: number; gutter: number}, x: number): number {
  const {view, width, gutter} = scene;
  return view.from + ((x - gutter) / Math.max(1, width - gutter)) * (view.to - view.from);
}

export function xAt(scene: {view: View; width: number; gutter: number}, time: number): number {
  const {view, width, gutter} = scene;
  return gutter + ((time - view.from) / (view.to - view.from)) * (width - gutter);
}

function fitText(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  const each = context.measureText('n').width;
  let keep = Math.floor(room / each) - 1;
  while (keep > 2 && context.measureText(text.slice(0, keep) + '\u2026').width > room) --keep;
  return keep > 2 ? text.slice(0, keep) + '\u2026' : '';
}

function drawRuler(context: CanvasRenderingContext2D, scene: Scene): void {
  const {view, width, gutter, colors, model} = scene;
  // Close enough that a narrow screen has a label too, far enough that neighbours do not touch.
  const step = niceStep(view.to - view.from, (width - gutter) / 70);
  context.fillStyle = colors.muted;
  context.textAlign = 'center';
  const from = view.from + model.origin;
  for (let tick = Math.ceil(from / step) * step; tick <= view.to + model.origin; tick += step) {
    const x = Math.round(xAt(scene, tick - model.origin)) + 0.5;
    context.strokeStyle = colors.line;
    context.beginPath();
    context.moveTo(x, kRuler - 4);
    context.lineTo(x, model.height);
    context.stroke();
    // Enough digits to tell neighbours apart, no more.
    const digits = Math.max(1, Math.ceil(Math.log10(Math.max(tick, step) / step)) + 1);
    if (x > gutter + 20 && x < width - 20) context.fillText(duration(tick, digits), x, kRuler / 2);
  }
  context.textAlign = 'left';
  context.strokeStyle = colors.line;
  context.beginPath();
  context.moveTo(gutter - 0.5, kRuler - 4);
  context.lineTo(gutter - 0.5, model.height);
  context.stroke();
}

function drawLane(context: CanvasRenderingContext2D, scene: Scene, y: number, height: number, lane: Lane): void {
  const {view, width, gutter, fills, colors, model} = scene;
  const first = Math.max(0, upperBound(lane.starts, view.from) - 1);
  const perNs = (width - gutter) / (view.to - view.from);
  let covered = gutter;
  for (let i = first; i < lane.starts.length; ++i) {
    const start = lane.starts[i] ?? 0;
    if (start >= view.to) break;
    const left = Math.max(gutter, gutter + (start - view.from) * perNs);
    const right = Math.min(width, gutter + ((lane.ends[i] ?? 0) - view.from) * perNs);
    if (right < gutter) continue;
    // What is thinner than half a pixel is drawn once a half pixel: a million slices cost no more than the width.
    if (right <= covered && right - left < 0.5) continue;
    const shown = Math.max(0.5, right - left);
    const name = lane.names[i] ?? 0;
    context.fillStyle = fills[name] ?? colors.unknown;
    const inset = shown > 3 ? 0.5 : 0;
    context.fillRect(left + inset, y, shown - 2 * inset, height);
    covered = left + shown;
    if ((lane.counts[i] ?? 1) > 1 && shown > 4) {
      context.fillStyle = colors.panel;
      context.globalAlpha = 0.35;
      context.fillRect(left + inset, y + height - 4, shown - 2 * inset, 1.5);
      context.globalAlpha = 1;
    }
    if (shown > 46) {
      const count = lane.counts[i] ?? 1;
      const label = shortName(model.names[name]?.[0] ?? '');
      context.fillStyle = colors.onSlice;
      context.fillText(fitText(context, count > 1 ? `${count}\u00d7 ${label}` : label, shown - 8), left + 4, y + height / 2);
    }
  }
}

function levelOf(track: ClockTrack, y: number, height: number, hz: number): number {
  return y + height - ((hz - track.low) / (track.high - track.low)) * height;
}

function drawClocks(context: CanvasRenderingContext2D, scene: Scene, y: number, height: number, track: ClockTrack): void {
  const {view, gutter, width, colors} = scene;
  const level = (hz: number): number => levelOf(track, y, height, hz);
  if (track.defaultHz !== null) {
    context.strokeStyle = colors.muted;
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(gutter, Math.round(level(track.defaultHz)) + 0.5);
    context.lineTo(width, Math.round(level(track.defaultHz)) + 0.5);
    context.stroke();
    context.setLineDash([]);
  }
  let before: number | null = null;
  let beforeEnd = -1;
  let labelEnd = gutter;
  for (let i = Math.max(0, upperBound(track.starts, view.from) - 1); i < track.starts.length; ++i) {
    const start = track.starts[i] ?? 0;
    if (start >= view.to) break;
    const end = track.finishes[i] ?? 0;
    const left = Math.max(gutter, xAt(scene, start));
    const right = Math.min(width, xAt(scene, end));
    if (right < gutter) continue;
    const hz = track.clocks[i] ?? NaN;
    if (Number.isNaN(hz)) {
      before = null;
      continue;
    }
    const top = level(hz);
    context.fillStyle = colors.clockFill;
    context.fillRect(left, top, Math.max(0.5, right - left), y + height - top);
    context.strokeStyle = colors.clock;
    context.lineWidth = 1.5;
    context.beginPath();
    if (before !== null && beforeEnd === start) context.moveTo(left, level(before));
    else context.moveTo(left, top);
    context.lineTo(left, top);
    context.lineTo(right, top);
    context.stroke();
    context.lineWidth = 1;
    if (i > 0 && right - left > 3 && before === hz) {
      // A pack begins here without a change of the clock.
      context.strokeStyle = colors.line;
      context.beginPath();
      context.moveTo(Math.round(left) + 0.5, top + 2);
      context.lineTo(Math.round(left) + 0.5, y + height);
      context.stroke();
    }
    const changes = before === null || before !== hz || beforeEnd !== start;
    const label = `${Math.round(hz / 1e6)}`;
    const room = context.measureText(label).width + 6;
    if (changes && left >= labelEnd && right - left > 10 && left + room < width) {
      context.fillStyle = colors.text;
      // Inside the step where it is high enough.
      context.fillText(label, left + 4, y + height - top > 15 ? top + 9 : top - 7);
      labelEnd = left + room;
    }
    before = hz;
    beforeEnd = end;
  }
}

function labelRow(context: CanvasRenderingContext2D, scene: Scene, row: Row): void {
  const {gutter, colors} = scene;
  if (row.kind === 'gpu') {
    context.fillStyle = colors.text;
    context.font = '600 11px system-ui, sans-serif';
    context.fillText(row.label, 8, row.y + row.height / 2 + 1);
    context.font = kFont;
    return;
  }
  context.fillStyle = colors.muted;
  if (row.kind === 'lane') {
    context.fillText(fitText(context, row.lane.label, gutter - 24), 16, row.y + row.height / 2);
    return;
  }
  context.fillText('clock', 16, row.y + row.height / 2 - 6);
  context.fillText('MHz', 16, row.y + row.height / 2 + 7);
  if (row.track.ends === null) return;
  const [low, high] = row.track.ends;
  context.textAlign = 'right';
  for (const hz of low === high ? [high] : [low, high]) {
    context.fillText(`${Math.round(hz / 1e6)}`, gutter - 6, levelOf(row.track, row.y, row.height, hz));
  }
  context.textAlign = 'left';
}

export function draw(context: CanvasRenderingContext2D, scene: Scene): void {
  const {model, width, gutter, colors} = scene;
  context.clearRect(0, 0, width, model.height);
  context.font = kFont;
  context.textBaseline = 'middle';
  context.lineWidth = 1;
  drawRuler(context, scene);
  model.rows.forEach((row, index) => {
    if (row.kind === 'gpu') {
      context.fillStyle = colors.raised;
      context.fillRect(0, row.y, width, row.height);
    }
    if (row.kind === 'lane') {
      context.save();
      context.beginPath();
      context.rect(gutter, row.y, width - gutter, row.height);
      context.clip();
      drawLane(context, scene, row.y, row.height, row.lane);
      context.restore();
    }
    if (row.kind === 'clock') drawClocks(context, scene, row.y, row.height, row.track);
    if (scene.marked?.row === index && row.kind === 'lane') {
      const left = xAt(scene, row.lane.starts[scene.marked.index] ?? 0);
      const right = xAt(scene, row.lane.ends[scene.marked.index] ?? 0);
      if (right >= gutter && left <= width) {
        const from = Math.max(gutter, left);
        context.strokeStyle = colors.text;
        context.lineWidth = 2;
        context.strokeRect(from, row.y + 1, Math.max(2, Math.min(width, right) - from), row.height - 2);
        context.lineWidth = 1;
      }
    }
  });
  if (model.window !== null) drawWindow(context, scene, model.window);
  // Over the shade: a name is read as well where it lies beside what is planned.
  for (const row of model.rows) labelRow(context, scene, row);
  if (scene.cursor !== null) drawCursor(context, scene, scene.cursor);
}

// What is not planned lies in shade; the window is named where there is room.
function drawWindow(context: CanvasRenderingContext2D, scene: Scene, [begin, end]: [number, number]): void {
  const {model, width, gutter, colors} = scene;
  const left = Math.min(width, Math.max(gutter, xAt(scene, begin)));
  const right = Math.min(width, Math.max(gutter, xAt(scene, end)));
  context.fillStyle = colors.shade;
  context.fillRect(gutter, kRuler, left - gutter, model.height - kRuler);
  context.fillRect(right, kRuler, width - right, model.height - kRuler);
  context.fillStyle = colors.accent;
  context.fillRect(left, kRuler - 3, right - left, 3);
  if (right - left > 60) {
    // At its end: names of GPUs stand at the left.
    context.textAlign = 'right';
    context.font = '600 11px system-ui, sans-serif';
    context.fillText('planned', right - 4, kRuler + 11);
    context.textAlign = 'left';
    context.font = kFont;
  }
}

// One line through all tracks, with the time and every GPU's clock at it.
function drawCursor(context: CanvasRenderingContext2D, scene: Scene, time: number): void {
  const {model, width, gutter, colors} = scene;
  const x = Math.round(xAt(scene, time)) + 0.5;
  if (x < gutter || x > width) return;
  context.strokeStyle = colors.accent;
  context.beginPath();
  context.moveTo(x, kRuler - 2);
  context.lineTo(x, model.height);
  context.stroke();
  const tag = (text: string, y: number): void => {
    const room = context.measureText(text).width + 10;
    const left = Math.min(width - room, Math.max(gutter, x - room / 2));
    context.fillStyle = colors.accent;
    context.fillRect(left, y, room, 16);
    context.fillStyle = colors.panel;
    context.fillText(text, left + 5, y + 8.5);
  };
  tag(duration(time + model.origin, 6), 2);
  for (const row of model.rows) {
    if (row.kind !== 'clock') continue;
    const pack = packAt(row.track, time);
    const hz = pack < 0 ? NaN : (row.track.clocks[pack] ?? NaN);
    if (!Number.isNaN(hz)) tag(`${Math.round(hz / 1e6)} MHz`, row.y + row.height - 16);
  }
}

// The timeline as arrays, ready to be searched and drawn.
import type {TimelineData} from '../types';

export interface Lane {
  label: string;
  starts: Float64Array;
  ends: Float64Array;
  names: Uint32Array;
  counts: Uint32Array;
}

export interface ClockTrack {
  ids: string[];
  starts: Float64Array;
  finishes: Float64Array;
  /** Hz; NaN where unknown. */
  clocks: Float64Array;
  defaultHz: number | null;
  low: number;
  high: number;
  /** The lowest and the highest clock that is drawn; null where none is known. */
  ends: [number, number] | null;
}

export type Row =
  | {kind: 'gpu'; y: number; height: number; label: string}
  | {kind: 'clock'; y: number; height: number; gpu: number; track: ClockTrack}
  | {kind: 'lane'; y: number; height: number; gpu: number; lane: Lane};

export interface Model {
  span: number;
  /** What the reader adds to times of the span: the trace's own time at its start. */
  origin: number;
  rows: Row[];
  height: number;
  names: [string, string][];
  bundle: number;
  operations: number;
  tracks: (ClockTrack | null)[];
  /** Begin and end of what is planned, in ns. */
  window: [number, number] | null;
  /** Share of each of kBins equal parts of the span in which something runs, over all lanes. */
  busy: Float32Array;
}

export const kRuler = 22;
const kGpuHeight = 22;
const kClockHeight = 54;
const kLaneHeight = 20;
const kGap = 3;
const kBins = 1200;

function decodeLane(label: string, data: number[]): Lane {
  const count = Math.floor(data.length / 4);
  const lane: Lane = {
    label,
    starts: new Float64Array(count),
    ends: new Float64Array(count),
    names: new Uint32Array(count),
    counts: new Uint32Array(count),
  };
  let end = 0;
  for (let i = 0; i < count; ++i) {
    const start = end + (data[4 * i] ?? 0);
    end = start + (data[4 * i + 1] ?? 0);
    lane.starts[i] = start;
    lane.ends[i] = end;
    lane.names[i] = data[4 * i + 2] ?? 0;
    lane.counts[i] = data[4 * i + 3] ?? 1;
  }
  return lane;
}

function decodeTrack(gpu: TimelineData['gpus'][number]): ClockTrack | null {
  if (gpu.packs.length === 0) return null;
  const clocks = Float64Array.from(gpu.packs, (pack) => pack.clock_hz ?? NaN);
  const known = [...clocks].filter((value) => !Number.isNaN(value));
  if (gpu.default_clock_hz !== null) known.push(gpu.default_clock_hz);
  const high = known.length > 0 ? Math.max(...known) : 1;
  const low = known.length > 0 ? Math.min(...known) : 0;
  return {
    ids: gpu.packs.map((pack) => pack.id),
    starts: Float64Array.from(gpu.packs, (pack) => pack.start_ns),
    finishes: Float64Array.from(gpu.packs, (pack) => pack.end_ns),
    clocks,
    defaultHz: gpu.default_clock_hz,
    // The axis starts below the lowest clock, so that the lowest is seen.
    low: low - 0.25 * Math.max(high - low, 0.02 * high),
    high: high + 0.1 * Math.max(high - low, 0.02 * high),
    ends: known.length > 0 ? [low, high] : null,
  };
}

function busyShare(lanes: Lane[], span: number): Float32Array {
  const busy = new Float32Array(kBins);
  if (span <= 0) return busy;
  const width = span / kBins;
  for (const lane of lanes) {
    for (let i = 0; i < lane.starts.length; ++i) {
      const start = lane.starts[i] ?? 0;
      const end = lane.ends[i] ?? 0;
      const last = Math.min(kBins - 1, Math.floor(end / width));
      for (let bin = Math.max(0, Math.floor(start / width)); bin <= last; ++bin) {
        const part = Math.min(end, (bin + 1) * width) - Math.max(start, bin * width);
        busy[bin] = (busy[bin] ?? 0) + Math.max(0, part) / width;
      }
    }
  }
  const most = Math.max(1e-9, ...busy);
  return busy.map((value) => value / most);
}

export function buildModel(data: TimelineData): Model {
  const rows: Row[] = [];
  const lanes: Lane[] = [];
  const tracks: (ClockTrack | null)[] = [];
  let y = kRuler + kGap;
  const place = (height: number): number => {
    const at = y;
    y += height + kGap;
    return at;
  };
  data.gpus.forEach((gpu, index) => {
    const own = gpu.id === '';
    const label = own ? gpu.name : gpu.name === '' ? `GPU ${gpu.id}` : `GPU ${gpu.id}  \u00b7  ${gpu.name}`;
    rows.push({kind: 'gpu', y: place(kGpuHeight), height: kGpuHeight, label});
    const track = decodeTrack(gpu);
    tracks.push(track);
    if (track !== null) rows.push({kind: 'clock', y: place(kClockHeight), height: kClockHeight, gpu: index, track});
    for (const stream of gpu.streams) {
      const lane = decodeLane(stream.name, stream.slices);
      if (!own) lanes.push(lane);
      rows.push({kind: 'lane', y: place(kLaneHeight), height: kLaneHeight, gpu: index, lane});
    }
    y += 4;
  });
  return {
    span: Math.max(1, data.span_ns),
    origin: data.start_ns,
    rows,
    height: y,
    names: data.names,
    bundle: data.bundle_ns,
    operations: data.operations,
    tracks,
    window: data.window === null ? null : [data.window.start_ns, data.window.end_ns],
    busy: busyShare(lanes, data.span_ns),
  };
}

/** The first index whose value is above `at`; the values ascend. */
export function upperBound(values: Float64Array, at: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The slice at time `at`, or within `reach` of it; -1: none. */
export function sliceAt(lane: Lane, at: number, reach: number): number {
  const after = upperBound(lane.starts, at);
  let best = -1;
  let distance = reach;
  for (const index of [after - 1, after]) {
    if (index < 0 || index >= lane.starts.length) continue;
    const away = Math.max(0, (lane.starts[index] ?? 0) - at, at - (lane.ends[index] ?? 0));
    if (away <= distance) {
      best = index;
      distance = away;
    }
  }
  return best;
}

export function packAt(track: ClockTrack, at: number): number {
  const index = upperBound(track.starts, at) - 1;
  return index >= 0 && at < (track.finishes[index] ?? 0) ? index : -1;
}

// The page data, as report/page.cpp writes it. Documented in docs/formats/page.md. Unknown is null.

export interface Figure {
  label: string;
  value: number | null;
  unit: string;
  note: string;
  significant: number;
}

export interface StreamData {
  name: string;
  /** Four numbers a slice: start after the end of the one before, duration (both ns), index into names, count. */
  slices: number[];
}

export interface PackData {
  id: string;
  start_ns: number;
  end_ns: number;
  clock_hz: number | null;
}

export interface GpuData {
  /** Empty: no GPU, but a row of its own (the critical path). */
  id: string;
  name: string;
  default_clock_hz: number | null;
  streams: StreamData[];
  packs: PackData[];
}

export interface TimelineData {
  span_ns: number;
  /** When the span begins, from the first event of the trace on: the times of slack lists and of --time-range. */
  start_ns: number;
  /** Operations before bundling. */
  operations: number;
  /** Neighbours closer than this are drawn as one bundle; 0: nothing is bundled. */
  bundle_ns: number;
  /** Name and kind. */
  names: [string, string][];
  /** What is planned, where that is not everything. */
  window: {start_ns: number; end_ns: number} | null;
  gpus: GpuData[];
}

export interface OperatingPoint {
  clock_hz: number | null;
  time_s: number;
  energy_j: number;
}

export interface FrontierData {
  points: {time_s: number; energy_j: number; lower_bound_j: number | null}[];
  uniform: OperatingPoint[];
  default: OperatingPoint | null;
  best_uniform: OperatingPoint | null;
  plan: OperatingPoint | null;
  deadline_s: number | null;
  lower_bound_j: number | null;
}

export interface KernelData {
  name: string;
  kind: string;
  count: number;
  time_s: number;
  energy_j: number | null;
  slack_s: number | null;
  sensitivity: number | null;
  origin: string;
}

/** Clock, memory clock, power limit, parameter, time and energy against the baseline, power, valid (1 or 0). */
export type StudyPoint = [
  number | null,
  number | null,
  number | null,
  number | null,
  number | null,
  number | null,
  number | null,
  number,
];

export interface StudyWorkload {
  name: string;
  gpu: string;
  network: string;
  batch: string;
  algorithm: string;
  points: StudyPoint[];
  /** Indices into points. */
  baseline: number | null;
  best: number | null;
  energy_saved: number | null;
  energy_saved_low: number | null;
  energy_saved_high: number | null;
  slowdown: number | null;
  edge: string;
}

export interface StudyData {
  parameter: string;
  clocks_are_offsets: boolean;
  left_out: number;
  workloads: StudyWorkload[];
}

export interface SweepPoint {
  setting: string;
  /** Asked for, else achieved. */
  clock_hz: number | null;
  time_s: number;
  energy_j: number;
  energy_low_j: number;
  energy_high_j: number;
  baseline: boolean;
  best: boolean;
  valid: boolean;
  reason: string;
}

/** The points of one combination of parameters. */
export interface SweepGroup {
  label: string;
  points: SweepPoint[];
}

export interface SweepData {
  groups: SweepGroup[];
}

export interface PageData {
  schema: 'ergon.page/1';
  figures: Figure[];
  timeline: TimelineData | null;
  frontier: FrontierData | null;
  energy_components: {label: string; parts: [string, number][]}[];
  kernels: KernelData[];
  kernels_left_out: number;
  kernels_of: string;
  coverage: {title: string; base: string; parts: [string, number][]; note: string}[];
  study: StudyData | null;
  sweep: SweepData | null;
}

// What the figures of a study share: the chosen workload, and the axes of its settings.
import {signal} from '@preact/signals';
import type {StudyData, StudyPoint, StudyWorkload} from '../types';

/** Index of the workload that the figures show. */
export const chosen = signal(0);

export const kClock = 0;
export const kMemory = 1;
export const kLimit = 2;
export const kParameter = 3;
export const kTime = 4;
export const kEnergy = 5;
export const kValid = 7;
export type Axis = 0 | 1 | 2 | 3;

export function at(point: StudyPoint, index: number): number | null {
  return point[index] ?? null;
}

/** Distinct values of a setting, ascending. */
export function levels(points: StudyPoint[], axis: Axis): number[] {
  const found = new Set<number>();
  for (const p of points) {
    const v = at(p, axis);
    if (v !== null) found.add(v);
  }
  return [...found].sort((a, b) => a - b);
}

/** The setting that curves are drawn over: the first that varies. */
export function mainAxis(workload: StudyWorkload): Axis {
  for (const axis of [kClock, kLimit, kParameter, kMemory] as Axis[]) {
    if (levels(workload.points, axis).length > 1) return axis;
  }
  return kClock;
}

export function axisName(data: StudyData, axis: Axis): string {
  if (axis === kClock) return data.clocks_are_offsets ? 'core clock, offset (MHz)' : 'core clock (MHz)';
  if (axis === kMemory) return data.clocks_are_offsets ? 'memory clock, offset (MHz)' : 'memory clock (MHz)';
  return axis === kLimit ? 'power limit (W)' : data.parameter;
}

/** As the text has it: one decimal from ten percent on, else two; nothing is known to less. */
export function percent(share: number): string {
  const value = 100 * share;
  return Math.abs(value) < 0.005 ? '0 %' : `${value.toFixed(Math.abs(value) >= 10 ? 1 : 2)} %`;
}

export function axisScale(axis: Axis): number {
  return axis === kClock || axis === kMemory ? 1e6 : 1;
}

/** "1410 / 5000 MHz, 300 W" */
export function settingText(point: StudyPoint, offsets: boolean): string {
  const parts: string[] = [];
  const mhz = (hz: number): string => `${offsets && hz >= 0 ? '+' : ''}${Math.round(hz / 1e4) / 100}`;
  const clock = at(point, kClock);
  const memory = at(point, kMemory);
  if (clock !== null || memory !== null) {
    const both = [clock, memory].flatMap((v) => (v === null ? [] : [mhz(v)])).join(' / ');
    parts.push(`${clock === null ? 'memory ' : ''}${both} MHz`);
  }
  const limit = at(point, kLimit);
  if (limit !== null) parts.push(`${limit} W`);
  const parameter = at(point, kParameter);
  if (parameter !== null) parts.push(`${parameter}`);
  return parts.length > 0 ? parts.join(', ') : 'default clocks';
}

export function title(workload: StudyWorkload): string {
  return workload.gpu === '' ? workload.name : `${workload.name} (${workload.gpu})`;
}

/** Lines over the main axis: points that agree in every other setting. */
export interface Slice {
  label: string;
  points: {x: number; point: StudyPoint; index: number}[];
  ofBaseline: boolean;
}
export function slices(data: StudyData, workload: StudyWorkload): Slice[] {
  const axis = mainAxis(workload);
  const others = ([kClock, kMemory, kLimit, kParameter] as Axis[]).filter((a) => a !== axis);
  const varied = others.filter((a) => levels(workload.points, a).length > 1);
  const found = new Map<string, Slice>();
  const key = (p: StudyPoint): string => others.map((a) => at(p, a)).join('|');
  const base = workload.baseline === null ? undefined : workload.points[workload.baseline];
  workload.points.forEach((point, index) => {
    const x = at(point, axis);
    if (x === null) return;
    let slice = found.get(key(point));
    if (slice === undefined) {
      const label = varied
        .map((a) => {
          const v = at(point, a);
          if (v === null) return a === kMemory ? 'memory default' : 'default';
          const name = a === kMemory ? 'memory ' : a === kClock ? 'core ' : '';
          return `${name}${v / axisScale(a)} ${a === kLimit ? 'W' : a === kParameter ? data.parameter : 'MHz'}`;
        })
        .join(', ');
      slice = {label, points: [], ofBaseline: base !== undefined && key(base) === key(point)};
      found.set(key(point), slice);
    }
    slice.points.push({x, point, index});
  });
  const all = [...found.values()];
  for (const s of all) s.points.sort((a, b) => a.x - b.x);
  // The baseline's line first, the others by their settings.
  const rank = (s: Slice): number => {
    const p = s.points[0]?.point;
    return p === undefined ? 0 : others.reduce<number>((sum, a) => sum + (at(p, a) ?? 0), 0);
  };
  return all.sort((a, b) => Number(b.ofBaseline) - Number(a.ofBaseline) || rank(b) - rank(a));
}

// The points of a sweep: time against energy, and energy over the core clock, each with its 95 % interval.
import {useMemo, useState} from 'preact/hooks';
import {axisUnit, figure} from './format';
import {MarkKey} from './legend';
import {Plot} from './study/plot';
import type {Line, Mark} from './study/plot';
import type {SweepData, SweepPoint} from './types';

interface Chart {
  lines: Line[];
  marks: Mark[];
  x: string;
  y: string;
}

function tipOf(point: SweepPoint): string {
  const half = (point.energy_high_j - point.energy_low_j) / 2;
  const parts = [`${figure(point.time_s, 4)} s`, `${figure(point.energy_j, 5)} J \u00b1 ${figure(half, 2)} J`];
  if (point.baseline) parts.push('baseline');
  if (point.best) parts.push('least energy');
  if (!point.valid) parts.push(`does not count: ${point.reason}`);
  return parts.join(' \u00b7 ');
}

/** Points at `place`, with a whisker each. Two at one place would hide each other: they differ by a hair. */
function chartOf(points: SweepPoint[], place: (point: SweepPoint) => number | null, x: string, joined: boolean): Chart {
  const unit = axisUnit(Math.max(...points.map((p) => p.energy_j)), 'J');
  const kinds: [(p: SweepPoint) => boolean, Line][] = [
    [
      (p) => p.valid && !p.baseline,
      {label: 'counts', points: [], tips: [], color: '--accent', width: joined ? 1.5 : 0, dots: 'full'},
    ],
    [(p) => p.valid && p.baseline, {label: 'baseline', points: [], tips: [], color: '--text', width: 0, dots: 'full'}],
    [(p) => !p.valid, {label: 'does not count', points: [], tips: [], color: '--unknown', width: 0, dots: 'hollow'}],
  ];
  const whiskers: Line[] = [];
  const marks: Mark[] = [];
  const seen = new Set<number>();
  for (const point of points) {
    let at = place(point);
    if (at === null) continue;
    while (seen.has(at)) at += 1e-7 * Math.abs(at) + 1e-9;
    const end = at + 1e-8 * Math.abs(at) + 1e-10;
    seen.add(at);
    const energy = point.energy_j / unit.scale;
    const line = kinds.find(([fits]) => fits(point))?.[1];
    if (line === undefined) continue;
    const tip = tipOf(point);
    line.points.push([at, energy]);
    line.tips.push(`${point.setting}: ${tip}`);
    whiskers.push({
      label: point.setting,
      points: [
        [at, point.energy_low_j / unit.scale],
        [end, point.energy_high_j / unit.scale],
      ],
      tips: [tip, tip],
      color: line.color,
      width: 1.5,
      dots: 'none',
    });
    if (point.baseline && point.valid) marks.push({x: at, y: energy, shape: 'ring', color: '--text'});
    if (point.best) marks.push({x: at, y: energy, shape: 'diamond', color: '--accent'});
  }
  const lines = kinds.map(([, line]) => line).filter((line) => line.points.length > 0);
  return {lines: [...whiskers, ...lines], marks, x, y: `energy (${unit.unit})`};
}

function hasClocks(points: SweepPoint[]): boolean {
  return new Set(points.filter((p) => !p.baseline).map((p) => p.clock_hz)).size > 1;
}

export function Sweep({data}: {data: SweepData}) {
  const [chosen, choose] = useState(0);
  const group = data.groups[chosen];
  const points = group?.points ?? [];
  const charts = useMemo(() => {
    if (points.length === 0) return [];
    const unit = axisUnit(Math.max(...points.map((p) => p.time_s)), 's');
    const out = [{name: 'Time against energy', ...chartOf(points, (p) => p.time_s / unit.scale, `time (${unit.unit})`, false)}];
    if (hasClocks(points)) {
      const over = chartOf(points, (p) => (p.clock_hz === null ? null : p.clock_hz / 1e6), 'core clock (MHz)', false);
      out.push({name: 'Energy over the core clock', ...over});
    }
    return out;
  }, [points]);
  if (group === undefined || points.length === 0) return <p class="muted">No point has a known energy.</p>;
  const best = points.find((p) => p.best);
  return (
    <div class="study sweep">
      <div class="toolbar">
        {data.groups.length > 1 && (
          <label>
            parameters{' '}
            <select value={String(chosen)} onChange={(event) => choose(Number((event.target as HTMLSelectElement).value))}>
              {data.groups.map((g, index) => (
                <option key={index} value={String(index)}>
                  {g.label}
                </option>
              ))}
            </select>
          </label>
        )}
        <ul class="legend">
          <li>
            <svg width="14" height="12" aria-hidden="true">
              <circle cx="7" cy="6" r="3" fill="var(--accent)" />
            </svg>
            counts
          </li>
          <li>
            <MarkKey shape="ring" />
            baseline
          </li>
          {best !== undefined && (
            <li>
              <MarkKey shape="diamond" />
              least energy{best.clock_hz === null ? '' : `, ${Math.round(best.clock_hz / 1e6)} MHz`}
            </li>
          )}
          {points.some((p) => !p.valid) && (
            <li>
              <svg width="14" height="12" aria-hidden="true">
                <circle cx="7" cy="6" r="3" fill="none" stroke="var(--unknown)" stroke-width="1.5" />
              </svg>
              does not count
            </li>
          )}
          <li>line: 95 % interval</li>
        </ul>
      </div>
      <div class="sweep-plots">
        {charts.map((chart) => (
          <Plot key={chart.name} lines={chart.lines} marks={chart.marks} x={chart.x} y={chart.y} label={chart.name} level={null} />
        ))}
      </div>
    </div>
  );
}

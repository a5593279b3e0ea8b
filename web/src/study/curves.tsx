// Energy and time over the clock (or limit, or batch) of one workload, before all others; and both against each other.
import {useMemo} from 'preact/hooks';
import {figure} from '../format';
import {MarkKey} from '../legend';
import type {StudyData, StudyPoint, StudyWorkload} from '../types';
import {Plot} from './plot';
import type {Line, Mark} from './plot';
import {at, axisName, axisScale, chosen, kEnergy, kTime, kValid, mainAxis, settingText, slices, title} from './state';

function tipOf(data: StudyData, point: StudyPoint): string {
  const time = at(point, kTime);
  const energy = at(point, kEnergy);
  const parts = [settingText(point, data.clocks_are_offsets)];
  if (energy !== null) parts.push(`energy x${figure(energy, 3)}`);
  if (time !== null) parts.push(`time x${figure(time, 3)}`);
  if (point[kValid] === 0) parts.push('not valid');
  return parts.join(' \u00b7 ');
}

function marksOf(workload: StudyWorkload, place: (point: StudyPoint) => [number, number] | null): Mark[] {
  const out: Mark[] = [];
  const add = (index: number | null, shape: Mark['shape'], color: string): void => {
    const point = index === null ? undefined : workload.points[index];
    const position = point === undefined ? null : place(point);
    if (position !== null) out.push({x: position[0], y: position[1], shape, color});
  };
  add(workload.baseline, 'ring', '--text');
  add(workload.best, 'diamond', '--accent');
  return out;
}

function curveLines(data: StudyData, selected: StudyWorkload, what: number): Line[] {
  const axis = mainAxis(selected);
  const scale = axisScale(axis);
  const lines: Line[] = [];
  for (const other of data.workloads) {
    if (other === selected || mainAxis(other) !== axis) continue;
    const line = slices(data, other)[0];
    if (line === undefined || !line.ofBaseline) continue;
    const points = line.points.flatMap(({x, point}): [number, number][] => {
      const y = at(point, what);
      return y === null || point[kValid] === 0 ? [] : [[x / scale, y]];
    });
    if (points.length > 1)
      lines.push({label: title(other), points, tips: [], color: '--line', width: 1, dots: 'none', faint: true});
  }
  const rejected: Line = {label: 'not valid', points: [], tips: [], color: '--unknown', width: 0, dots: 'hollow'};
  slices(data, selected).forEach((slice, number) => {
    const line: Line = {
      label: slice.label === '' ? title(selected) : slice.label,
      points: [],
      tips: [],
      color: `--part-${number % 8}`,
      width: 2,
      dots: 'full',
    };
    for (const {x, point} of slice.points) {
      const y = at(point, what);
      if (y === null) continue;
      const into = point[kValid] === 0 ? rejected : line;
      into.points.push([x / scale, y]);
      into.tips.push(tipOf(data, point));
    }
    if (line.points.length > 0) lines.push(line);
  });
  // Two rejected points at one place of the axis would make one vanish: they differ by a hair.
  const seen = new Set<number>();
  rejected.points = rejected.points.map(([x, y]) => {
    let place = x;
    while (seen.has(place)) place += 1e-6 * Math.abs(x) + 1e-9;
    seen.add(place);
    return [place, y];
  });
  if (rejected.points.length > 0) lines.push(rejected);
  return lines;
}

function paretoLines(data: StudyData, selected: StudyWorkload): Line[] {
  const valid: Line = {label: 'settings', points: [], tips: [], color: '--uniform', width: 0, dots: 'full'};
  const rejected: Line = {label: 'not valid', points: [], tips: [], color: '--unknown', width: 0, dots: 'hollow'};
  const front: Line = {label: 'Pareto front', points: [], tips: [], color: '--accent', width: 2, dots: 'full'};
  for (const point of selected.points) {
    const x = at(point, kTime);
    const y = at(point, kEnergy);
    if (x === null || y === null) continue;
    const into = point[kValid] === 0 ? rejected : valid;
    into.points.push([x, y]);
    into.tips.push(tipOf(data, point));
  }
  const order = valid.points.map((_, index) => index);
  order.sort((a, b) => {
    const p = valid.points[a] ?? [0, 0];
    const q = valid.points[b] ?? [0, 0];
    return p[0] - q[0] || p[1] - q[1];
  });
  let least = Infinity;
  for (const index of order) {
    const p = valid.points[index];
    if (p === undefined || p[1] >= least) continue;
    least = p[1];
    front.points.push(p);
    front.tips.push(valid.tips[index] ?? '');
  }
  return [valid, rejected, front].filter((l) => l.points.length > 0);
}

export function Curves({data}: {data: StudyData}) {
  const selected = data.workloads[chosen.value] ?? data.workloads[0];
  const energy = useMemo(() => (selected === undefined ? [] : curveLines(data, selected, kEnergy)), [data, selected]);
  const time = useMemo(() => (selected === undefined ? [] : curveLines(data, selected, kTime)), [data, selected]);
  const both = useMemo(() => (selected === undefined ? [] : paretoLines(data, selected)), [data, selected]);
  const marks = useMemo(() => {
    if (selected === undefined) return {energy: [], time: [], both: []};
    const axis = mainAxis(selected);
    const over = (what: number) =>
      marksOf(selected, (p) => {
        const x = at(p, axis);
        const y = at(p, what);
        return x === null || y === null ? null : [x / axisScale(axis), y];
      });
    const pair = marksOf(selected, (p) => {
      const x = at(p, kTime);
      const y = at(p, kEnergy);
      return x === null || y === null ? null : [x, y];
    });
    return {energy: over(kEnergy), time: over(kTime), both: pair};
  }, [selected]);
  if (selected === undefined) return <p class="muted">No workload.</p>;
  const name = axisName(data, mainAxis(selected));
  const named = energy.filter((l) => l.faint !== true && l.label !== 'not valid');
  return (
    <div class="study">
      <div class="toolbar">
        <label>
          workload{' '}
          <select
            value={String(chosen.value)}
            onChange={(event) => {
              chosen.value = Number((event.target as HTMLSelectElement).value);
            }}
          >
            {data.workloads.map((w, index) => (
              <option key={index} value={String(index)}>
                {title(w)}
              </option>
            ))}
          </select>
        </label>
        <ul class="legend">
          {named.length > 1 &&
            named.map((l) => (
              <li key={l.label}>
                <span class="key" style={{background: `var(${l.color})`}} />
                {l.label}
              </li>
            ))}
          <li>
            <MarkKey shape="ring" />
            baseline
          </li>
          <li>
            <MarkKey shape="diamond" />
            best
          </li>
          {both.some((l) => l.label === 'Pareto front') && (
            <li>
              <svg width="18" height="12" aria-hidden="true">
                <path d="M0 6H18" stroke="var(--accent)" stroke-width="2" />
                <circle cx="9" cy="6" r="3" fill="var(--accent)" />
              </svg>
              Pareto front: no setting is both faster and more frugal
            </li>
          )}
          {both.some((l) => l.label === 'settings') && (
            <li>
              <svg width="10" height="12" aria-hidden="true">
                <circle cx="5" cy="6" r="3" fill="var(--uniform)" />
              </svg>
              other settings
            </li>
          )}
          {both.some((l) => l.label === 'not valid') && (
            <li>
              <svg width="10" height="12" aria-hidden="true">
                <circle cx="5" cy="6" r="3" fill="none" stroke="var(--unknown)" stroke-width="1.5" />
              </svg>
              not valid
            </li>
          )}
          {data.workloads.length > 1 && <li>grey: the other workloads</li>}
        </ul>
      </div>
      <div class="study-plots">
        <Plot lines={energy} marks={marks.energy} x={name} y="energy / baseline" label="Energy over the setting" level={1} />
        <Plot lines={time} marks={marks.time} x={name} y="time / baseline" label="Time over the setting" level={1} />
        <Plot lines={both} marks={marks.both} x="time / baseline" y="energy / baseline" label="Time against energy" level={1} />
      </div>
    </div>
  );
}

// Time against energy: the frontier with its lower bound, every single clock, and the plan.
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import uPlot from 'uplot';
import {axisUnit, figure} from './format';
import {drawMark, type Shape} from './marks';
import {color, theme} from './theme';
import type {FrontierData, OperatingPoint} from './types';

interface Series {
  label: string;
  /** Time and energy in base units, by time. */
  points: [number, number][];
  color: string;
  width: number;
  dash?: number[];
  size: number;
  mark: 'none' | 'dot' | 'ring' | 'diamond';
  /** Clocks of the points, where they have one. */
  clocks?: (number | null)[];
}

function seriesOf(data: FrontierData): Series[] {
  const out: Series[] = [];
  const sorted = [...data.points].sort((a, b) => a.time_s - b.time_s);
  // Where every deadline has the same plan there is no line to draw.
  const still = sorted.every((p) => p.time_s === sorted[0]?.time_s && p.energy_j === sorted[0]?.energy_j);
  const bound = still ? [] : sorted.flatMap((p): [number, number][] => (p.lower_bound_j === null ? [] : [[p.time_s, p.lower_bound_j]]));
  if (bound.length > 1) {
    out.push({label: 'lower bound', points: bound, color: '--muted', width: 1.5, dash: [5, 4], size: 0, mark: 'none'});
  }
  if (sorted.length > 0 && !still) {
    const points = sorted.map((p): [number, number] => [p.time_s, p.energy_j]);
    out.push({label: 'frontier', points, color: '--accent', width: 2, size: 4, mark: 'dot'});
  }
  // Clocks of one time stand one above the other, the dearest first.
  const uniform = [...data.uniform].sort((a, b) => a.time_s - b.time_s || b.energy_j - a.energy_j);
  if (uniform.length > 0) {
    out.push({
      label: 'single clocks',
      points: uniform.map((p): [number, number] => [p.time_s, p.energy_j]),
      clocks: uniform.map((p) => p.clock_hz),
      color: '--uniform',
      width: 1,
      dash: [2, 3],
      size: 4,
      mark: 'dot',
    });
  }
  const single = (label: string, point: OperatingPoint | null, name: string, mark: Series['mark']): void => {
    if (point === null) return;
    out.push({
      label,
      points: [[point.time_s, point.energy_j]],
      clocks: [point.clock_hz],
      color: name,
      width: 0,
      size: 11,
      mark,
    });
  };
  single('default', data.default, '--text', 'ring');
  single('best single', data.best_uniform, '--uniform', 'ring');
  single('plan', data.plan, '--accent', 'diamond');
  return out;
}

/** The times of interest: the frontier and the named points; slow single clocks may lie outside. */
function focus(data: FrontierData): [number, number] {
  const times = [
    ...data.points.map((p) => p.time_s),
    ...[data.default, data.best_uniform, data.plan].flatMap((p) => (p === null ? [] : [p.time_s])),
    ...(data.deadline_s === null ? [] : [data.deadline_s]),
  ];
  if (times.length < 2) times.push(...data.uniform.map((p) => p.time_s));
  const low = Math.min(...times);
  const high = Math.max(...times);
  const room = Math.max(high - low, low * 0.01) * 0.06;
  return [low - room, high + room];
}

/** Lines, dots and marks of all series. uPlot knows one value a time, and clocks of one time are several. */
function drawSeries(plot: uPlot, series: Series[], x: number, y: number, panel: string): void {
  const context = plot.ctx;
  const ratio = uPlot.pxRatio;
  const place = ([time, energy]: [number, number]): [number, number] => [
    plot.valToPos(time / x, 'x', true),
    plot.valToPos(energy / y, 'y', true),
  ];
  context.save();
  context.beginPath();
  context.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
  context.clip();
  for (const s of series) {
    const at = s.points.map(place);
    if (s.width > 0) {
      context.strokeStyle = color(s.color);
      context.lineWidth = s.width * ratio;
      context.setLineDash((s.dash ?? []).map((length) => length * ratio));
      context.beginPath();
      for (const [left, top] of at) context.lineTo(left, top);
      context.stroke();
      context.setLineDash([]);
    }
    if (s.mark !== 'dot') continue;
    context.fillStyle = color(s.color);
    for (const [left, top] of at) {
      context.beginPath();
      context.arc(left, top, (s.size / 2) * ratio, 0, 2 * Math.PI);
      context.fill();
    }
  }
  context.restore();
  // A mark that a later one would hide gets as much larger.
  const marks = series.flatMap((s) =>
    s.mark === 'ring' || s.mark === 'diamond' ? s.points.map((p) => ({s, shape: s.mark as Shape, at: place(p)})) : [],
  );
  marks.forEach(({s, shape, at: [left, top]}, index) => {
    const over = marks.slice(index + 1).filter(({at}) => Math.hypot(at[0] - left, at[1] - top) < 6 * ratio).length;
    drawMark(context, {shape, x: left, y: top, size: (s.size / 2 + 4 * over) * ratio, color: s.color}, panel, ratio);
  });
}

interface Nearest {
  left: number;
  top: number;
  label: string;
  time: number;
  energy: number;
  clock: number | null;
}

export function Frontier({data}: {data: FrontierData}) {
  const place = useRef<HTMLDivElement>(null);
  const [all, setAll] = useState(false);
  const [nearest, setNearest] = useState<Nearest | null>(null);
  const series = useMemo(() => seriesOf(data), [data]);
  const range = useMemo(() => focus(data), [data]);
  const outside = data.uniform.some((p) => p.time_s > range[1]);

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const times = series.flatMap((s) => s.points.map((p) => p[0]));
    const energies = series.flatMap((s) => s.points.map((p) => p[1]));
    const x = axisUnit(Math.max(...times), 's');
    const y = axisUnit(Math.max(...energies), 'J');
    const tables = series.map((s): uPlot.AlignedData => [
      s.points.map((p) => p[0] / x.scale),
      s.points.map((p) => p[1] / y.scale),
    ]);
    const joined = uPlot.join(tables);
    const panel = color('--panel');
    const axis = (label: string): uPlot.Axis => ({
      label,
      labelFont: '11px system-ui, sans-serif',
      font: '11px system-ui, sans-serif',
      stroke: color('--muted'),
      grid: {stroke: color('--line'), width: 1},
      ticks: {stroke: color('--line'), width: 1, size: 4},
      labelSize: 16,
      labelGap: 2,
      gap: 4,
    });
    const xRange: [number, number] | null = all ? null : [range[0] / x.scale, range[1] / x.scale];
    const inside = series.flatMap((s) =>
      s.points.filter((p) => all || (p[0] >= range[0] && p[0] <= range[1])).map((p) => p[1] / y.scale),
    );
    const low = Math.min(...inside);
    const high = Math.max(...inside);
    const room = Math.max(high - low, high * 0.01) * 0.08;
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: 300,
        legend: {show: false},
        cursor: {drag: {x: false, y: false}, points: {show: false}},
        scales: {
          x: {time: false, ...(xRange === null ? {} : {range: xRange})},
          y: {range: [low - room, high + room]},
        },
        axes: [{...axis(`time (${x.unit})`), size: 26}, {...axis(`energy (${y.unit})`), size: 46}],
        series: [
          {},
          ...series.map(
            (s): uPlot.Series => ({
              label: s.label,
              paths: () => null,
              points: {show: false},
            }),
          ),
        ],
        hooks: {
          draw: [
            (u: uPlot) => {
              if (data.deadline_s !== null) {
                const at = u.valToPos(data.deadline_s / x.scale, 'x', true);
                const context = u.ctx;
                context.save();
                context.strokeStyle = color('--deadline');
                context.fillStyle = color('--deadline');
                context.setLineDash([6 * uPlot.pxRatio, 4 * uPlot.pxRatio]);
                context.beginPath();
                context.moveTo(at, u.bbox.top);
                context.lineTo(at, u.bbox.top + u.bbox.height);
                context.stroke();
                context.font = `${11 * uPlot.pxRatio}px system-ui, sans-serif`;
                const onLeft = at - u.bbox.left > 70 * uPlot.pxRatio;
                context.textAlign = onLeft ? 'right' : 'left';
                context.textBaseline = 'bottom';
                const aside = (onLeft ? -5 : 5) * uPlot.pxRatio;
                context.fillText('deadline', at + aside, u.bbox.top + u.bbox.height - 4 * uPlot.pxRatio);
                context.restore();
              }
              drawSeries(u, series, x.scale, y.scale, panel);
            },
          ],
          setCursor: [
            (u: uPlot) => {
              const {left, top} = u.cursor;
              if (left === undefined || top === undefined || left < 0) {
                setNearest(null);
                return;
              }
              let best: Nearest | null = null;
              let distance = 30;
              for (const s of series) {
                s.points.forEach(([time, energy], index) => {
                  const px = u.valToPos(time / x.scale, 'x');
                  const py = u.valToPos(energy / y.scale, 'y');
                  const away = Math.hypot(px - left, py - top);
                  // Later series lie on top.
                  if (away > distance) return;
                  distance = away;
                  best = {
                    left: px + u.bbox.left / uPlot.pxRatio,
                    top: py + u.bbox.top / uPlot.pxRatio,
                    label: s.label,
                    time,
                    energy,
                    clock: s.clocks?.[index] ?? null,
                  };
                });
              }
              setNearest(best);
            },
          ],
        },
      },
      joined,
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize({width: element.clientWidth, height: 300}));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [series, range, all, theme.value]);

  return (
    <div class="frontier">
      <div class="toolbar">
        <ul class="legend">
          {series.map((s) => (
            <li key={s.label}>
              <svg width="18" height="10" aria-hidden="true">
                {s.width > 0 && (
                  <line
                    x1="0"
                    x2="18"
                    y1="5"
                    y2="5"
                    stroke={`var(${s.color})`}
                    stroke-width={s.width}
                    stroke-dasharray={s.dash?.join(' ')}
                  />
                )}
                {s.mark === 'dot' && <circle cx="9" cy="5" r="2.5" fill={`var(${s.color})`} />}
                {s.mark === 'ring' && (
                  <circle cx="9" cy="5" r="4" fill="none" stroke={`var(${s.color})`} stroke-width="2" />
                )}
                {s.mark === 'diamond' && <path d="M9 0L14 5L9 10L4 5Z" fill={`var(${s.color})`} />}
              </svg>
              {s.label}
            </li>
          ))}
        </ul>
        {outside && (
          <button type="button" class="push" aria-pressed={all} onClick={() => setAll(!all)}>
            All clocks
          </button>
        )}
      </div>
      <div class="plot" ref={place} role="img" aria-label="Time against energy; the same figures stand in the tables">
        {nearest !== null && (
          <div class="tip" style={{left: `${nearest.left + 12}px`, top: `${nearest.top + 12}px`}}>
            <div class="tip-title">{nearest.label}</div>
            <dl>
              <div>
                <dt>time</dt>
                <dd>{figure(nearest.time * 1e3, 5)} ms</dd>
              </div>
              <div>
                <dt>energy</dt>
                <dd>{figure(nearest.energy, 5)} J</dd>
              </div>
              {nearest.clock !== null && (
                <div>
                  <dt>clock</dt>
                  <dd>{figure(nearest.clock / 1e6, 4)} MHz</dd>
                </div>
              )}
            </dl>
          </div>
        )}
      </div>
    </div>
  );
}

// One chart of a study: lines over a setting or over time, marks on baseline and best, a tip for what is nearest.
import {useEffect, useRef, useState} from 'preact/hooks';
import uPlot from 'uplot';
import {drawMark, type Shape} from '../marks';
import {color, theme} from '../theme';

export interface Line {
  label: string;
  points: [number, number][];
  /** Shown in the tip, one a point. */
  tips: string[];
  color: string;
  width: number;
  dots: 'none' | 'full' | 'hollow';
  faint?: boolean;
}
export interface Mark {
  x: number;
  y: number;
  shape: Shape;
  color: string;
}

interface Tip {
  left: number;
  top: number;
  label: string;
  text: string;
}

export function Plot(props: {
  lines: Line[];
  marks: Mark[];
  x: string;
  y: string;
  label: string;
  /** A level that is drawn across: the baseline. */
  level: number | null;
}) {
  const {lines, marks} = props;
  const place = useRef<HTMLDivElement>(null);
  const [tip, setTip] = useState<Tip | null>(null);

  useEffect(() => {
    const element = place.current;
    if (element === null || lines.length === 0) return;
    const strong = lines.filter((l) => l.faint !== true).flatMap((l) => l.points);
    const xs = strong.map((p) => p[0]);
    const ys = [...strong.map((p) => p[1]), ...(props.level === null ? [] : [props.level])];
    const spread = (values: number[], share: number): [number, number] => {
      const low = Math.min(...values);
      const high = Math.max(...values);
      const room = Math.max(high - low, Math.abs(high) * 0.02, 1e-9) * share;
      return [low - room, high + room];
    };
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
    const panel = color('--panel');
    const table = uPlot.join(
      lines.map((l): uPlot.AlignedData => {
        const sorted = [...l.points].sort((a, b) => a[0] - b[0]);
        return [sorted.map((p) => p[0]), sorted.map((p) => p[1])];
      }),
    );
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: 260,
        legend: {show: false},
        cursor: {drag: {x: false, y: false}, points: {show: false}},
        scales: {x: {time: false, range: spread(xs, 0.05)}, y: {range: spread(ys, 0.08)}},
        axes: [{...axis(props.x), size: 26}, {...axis(props.y), size: 42}],
        series: [
          {},
          ...lines.map(
            (l): uPlot.Series => ({
              stroke: color(l.color),
              width: l.width,
              spanGaps: true,
              points: {
                show: l.dots !== 'none',
                size: 6,
                fill: l.dots === 'hollow' ? panel : color(l.color),
                stroke: color(l.color),
                width: l.dots === 'hollow' ? 1.5 : 0,
              },
            }),
          ),
        ],
        hooks: {
          draw: [
            (u: uPlot) => {
              const context = u.ctx;
              const ratio = uPlot.pxRatio;
              if (props.level !== null) {
                const y = u.valToPos(props.level, 'y', true);
                context.save();
                context.strokeStyle = color('--muted');
                context.setLineDash([4 * ratio, 4 * ratio]);
                context.beginPath();
                context.moveTo(u.bbox.left, y);
                context.lineTo(u.bbox.left + u.bbox.width, y);
                context.stroke();
                context.restore();
              }
              for (const mark of marks) {
                const x = u.valToPos(mark.x, 'x', true);
                const y = u.valToPos(mark.y, 'y', true);
                drawMark(context, {shape: mark.shape, x, y, size: 6 * ratio, color: mark.color}, panel, ratio);
              }
            },
          ],
          setCursor: [
            (u: uPlot) => {
              const {left, top} = u.cursor;
              if (left === undefined || top === undefined || left < 0) {
                setTip(null);
                return;
              }
              let best: Tip | null = null;
              let distance = 26;
              for (const l of lines) {
                if (l.faint === true) continue;
                l.points.forEach(([vx, vy], index) => {
                  const px = u.valToPos(vx, 'x');
                  const py = u.valToPos(vy, 'y');
                  const away = Math.hypot(px - left, py - top);
                  if (away > distance) return;
                  distance = away;
                  best = {
                    left: px + u.bbox.left / uPlot.pxRatio,
                    top: py + u.bbox.top / uPlot.pxRatio,
                    label: l.label,
                    text: l.tips[index] ?? '',
                  };
                });
              }
              setTip(best);
            },
          ],
        },
      },
      table,
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize({width: element.clientWidth, height: 260}));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [lines, marks, props.x, props.y, props.level, theme.value]);

  return (
    <div class="plot" ref={place} role="img" aria-label={`${props.label}; the same figures stand in the tables`}>
      {tip !== null && (
        <div class="tip" style={{left: `${Math.max(0, tip.left - 60)}px`, top: `${tip.top + 12}px`}}>
          <div class="tip-title">{tip.label}</div>
          {tip.text}
        </div>
      )}
    </div>
  );
}

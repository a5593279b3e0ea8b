// The timeline with its controls: zoom and pan by mouse, wheel and keyboard, one cursor for all tracks.
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {clock, duration} from '../format';
import {theme} from '../theme';
import type {TimelineData} from '../types';
import {draw, palette, sliceColors, timeAt, type Mark, type Scene, type View} from './draw';
import {buildModel, packAt, sliceAt, type Model} from './model';
import {Overview} from './overview';

const kNarrowest = 200; // ns in view at most zoom
const kStep = 0.15;

interface Hover extends Mark {
  x: number;
  y: number;
}

function clamp(view: View, span: number): View {
  const width = Math.min(span, Math.max(kNarrowest, view.to - view.from));
  const from = Math.min(Math.max(0, view.from), span - width);
  return {from, to: from + width};
}

function zoomed(view: View, factor: number, at: number, span: number): View {
  const width = Math.min(span, Math.max(kNarrowest, (view.to - view.from) * factor));
  const share = (at - view.from) / (view.to - view.from);
  return clamp({from: at - share * width, to: at + (1 - share) * width}, span);
}

/** What a mark stands on, as words. */
function describe(model: Model, mark: Mark): {title: string; facts: [string, string][]} | null {
  const row = model.rows[mark.row];
  if (row === undefined || row.kind === 'gpu') return null;
  if (row.kind === 'clock') {
    const hz = row.track.clocks[mark.index] ?? NaN;
    const start = row.track.starts[mark.index] ?? 0;
    return {
      title: `pack ${row.track.ids[mark.index] ?? ''}`,
      facts: [
        ['clock', Number.isNaN(hz) ? 'unknown' : clock(hz)],
        ['from', duration(start + model.origin, 6)],
        ['lasts', duration((row.track.finishes[mark.index] ?? 0) - start)],
      ],
    };
  }
  const [name, kind] = model.names[row.lane.names[mark.index] ?? 0] ?? ['', ''];
  const start = row.lane.starts[mark.index] ?? 0;
  const count = row.lane.counts[mark.index] ?? 1;
  const facts: [string, string][] = [
    ['kind', kind],
    ['from', duration(start + model.origin, 6)],
    [count > 1 ? 'together' : 'lasts', duration((row.lane.ends[mark.index] ?? 0) - start)],
    ['on', row.lane.label],
  ];
  const track = model.tracks[row.gpu] ?? null;
  const pack = track === null ? -1 : packAt(track, start);
  if (track !== null && pack >= 0) {
    const hz = track.clocks[pack] ?? NaN;
    facts.push(['pack', `${track.ids[pack] ?? ''}${Number.isNaN(hz) ? '' : ` at ${clock(hz)}`}`]);
  }
  return {title: count > 1 ? `${count} operations, most time in ${name}` : name, facts};
}

function markAt(model: Model, scene: Scene, x: number, y: number): Mark | null {
  const rowIndex = model.rows.findIndex((row) => y >= row.y && y < row.y + row.height);
  const row = model.rows[rowIndex];
  if (row === undefined || row.kind === 'gpu' || x < scene.gutter) return null;
  const time = timeAt(scene, x);
  const reach = (2 * (scene.view.to - scene.view.from)) / Math.max(1, scene.width - scene.gutter);
  const index = row.kind === 'lane' ? sliceAt(row.lane, time, reach) : packAt(row.track, time);
  return index < 0 ? null : {row: rowIndex, index};
}

/** The next operation of a lane (or the first one in view), for the keyboard. */
function stepMark(model: Model, view: View, mark: Mark | null, along: number, across: number): Mark | null {
  const lanes = model.rows.flatMap((row, index) => (row.kind === 'lane' && row.lane.starts.length > 0 ? [index] : []));
  if (lanes.length === 0) return null;
  const place = mark === null ? -1 : lanes.indexOf(mark.row);
  const target = Math.min(lanes.length - 1, Math.max(0, (place < 0 ? 0 : place) + across));
  const rowIndex = lanes[target] ?? 0;
  const row = model.rows[rowIndex];
  if (row === undefined || row.kind !== 'lane') return null;
  const last = row.lane.starts.length - 1;
  if (place >= 0 && across === 0 && mark !== null) {
    return {row: rowIndex, index: Math.min(last, Math.max(0, mark.index + along))};
  }
  const current = mark === null ? undefined : model.rows[mark.row];
  const time = current?.kind === 'lane' && mark !== null ? (current.lane.starts[mark.index] ?? view.from) : view.from;
  const near = sliceAt(row.lane, time, Infinity);
  return {row: rowIndex, index: Math.max(0, near)};
}

const kKinds: [string, string][] = [
  ['kernel', '--kernel-1'],
  ['collective', '--collective-0'],
  ['copy', '--copy-0'],
  ['host', '--host-0'],
];

/** What the colours mean; only the kinds that occur. */
function Legend({model}: {model: Model}) {
  const present = new Set(model.names.map(([, kind]) => (kind === 'memset' ? 'copy' : kind)));
  const shown = kKinds.filter(([kind]) => present.has(kind));
  const hasDefault = model.tracks.some((track) => track !== null && track.defaultHz !== null);
  return (
    <ul class="legend">
      {shown.map(([kind, name]) => (
        <li key={kind}>
          <span class="key" style={{background: `var(${name})`}} />
          {kind === 'copy' ? 'copy, memset' : kind === 'kernel' ? 'kernel (a shade a name)' : kind}
        </li>
      ))}
      {hasDefault && (
        <li>
          <svg width="18" height="10" aria-hidden="true">
            <line x1="0" x2="18" y1="5" y2="5" stroke="var(--muted)" stroke-dasharray="3 3" />
          </svg>
          default clock
        </li>
      )}
    </ul>
  );
}

export function Timeline({data}: {data: TimelineData}) {
  const model = useMemo(() => buildModel(data), [data]);
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(800);
  const [view, setView] = useState<View>({from: 0, to: model.span});
  const [cursor, setCursor] = useState<number | null>(null);
  const [hover, setHover] = useState<Hover | null>(null);
  const [marked, setMarked] = useState<Mark | null>(null);
  const dragging = useRef<{x: number; view: View; moved: boolean} | null>(null);
  const colors = useMemo(() => palette(), [theme.value]);
  const fills = useMemo(() => sliceColors(model, colors), [model, colors]);
  const gutter = width < 600 ? 84 : 132;
  const scene: Scene = {model, view, width, gutter, cursor, marked, colors, fills};

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(240, Math.floor(element.clientWidth))));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const context = canvas.current?.getContext('2d') ?? null;
    if (canvas.current === null || context === null) return;
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    const pixels = Math.round(width * ratio);
    const lines = Math.round(model.height * ratio);
    if (canvas.current.width !== pixels || canvas.current.height !== lines) {
      canvas.current.width = pixels;
      canvas.current.height = lines;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw(context, scene);
  }, [view, width, cursor, marked, colors, model]);

  // Passive listeners cannot keep the page from zooming.
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const wheel = (event: WheelEvent): void => {
      const across = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey && !across) return;
      event.preventDefault();
      setView((now) => {
        const at = timeAt({view: now, width, gutter}, event.offsetX);
        if (event.ctrlKey || event.metaKey) return zoomed(now, Math.exp(event.deltaY * 0.0025), at, model.span);
        const shift = ((across ? event.deltaX : event.deltaY) / width) * (now.to - now.from);
        return clamp({from: now.from + shift, to: now.to + shift}, model.span);
      });
    };
    element.addEventListener('wheel', wheel, {passive: false});
    return () => element.removeEventListener('wheel', wheel);
  }, [width, gutter, model]);

  const show = (mark: Mark | null): void => {
    setMarked(mark);
    const row = mark === null ? undefined : model.rows[mark.row];
    if (mark === null || row === undefined || row.kind !== 'lane') return;
    const start = row.lane.starts[mark.index] ?? 0;
    const end = row.lane.ends[mark.index] ?? 0;
    setCursor(start);
    setView((now) => {
      if (start >= now.from && end <= now.to) return now;
      const span = Math.max(now.to - now.from, (end - start) * 1.2);
      const middle = (start + end) / 2;
      return clamp({from: middle - span / 2, to: middle + span / 2}, model.span);
    });
  };
  const zoom = (factor: number): void => {
    const at = cursor !== null && cursor >= view.from && cursor <= view.to ? cursor : (view.from + view.to) / 2;
    setView(zoomed(view, factor, at, model.span));
  };
  const pan = (share: number): void => {
    const shift = share * (view.to - view.from);
    setView(clamp({from: view.from + shift, to: view.to + shift}, model.span));
  };
  const fit = (): void => setView({from: 0, to: model.span});

  const keys: Record<string, () => void> = {
    ArrowLeft: () => pan(-kStep),
    ArrowRight: () => pan(kStep),
    '+': () => zoom(0.6),
    '=': () => zoom(0.6),
    '-': () => zoom(1 / 0.6),
    '0': fit,
    Home: fit,
    n: () => show(stepMark(model, view, marked, 1, 0)),
    p: () => show(stepMark(model, view, marked, -1, 0)),
    ArrowDown: () => show(stepMark(model, view, marked, 0, 1)),
    ArrowUp: () => show(stepMark(model, view, marked, 0, -1)),
    Escape: () => {
      setMarked(null);
      setCursor(null);
    },
  };

  const move = (event: PointerEvent): void => {
    const drag = dragging.current;
    if (drag !== null) {
      const shift = ((drag.x - event.offsetX) / Math.max(1, width - gutter)) * (drag.view.to - drag.view.from);
      drag.moved = drag.moved || Math.abs(drag.x - event.offsetX) > 3;
      setView(clamp({from: drag.view.from + shift, to: drag.view.to + shift}, model.span));
      setHover(null);
      return;
    }
    setCursor(event.offsetX >= gutter ? timeAt(scene, event.offsetX) : null);
    const mark = markAt(model, scene, event.offsetX, event.offsetY);
    setHover(mark === null ? null : {...mark, x: event.offsetX, y: event.offsetY});
  };
  const shown = hover ?? null;
  const tip = shown === null ? null : describe(model, shown);
  const told = marked === null ? null : describe(model, marked);

  return (
    <div class="timeline">
      <div class="toolbar">
        <div class="segments" role="group" aria-label="View of the timeline">
          <button type="button" onClick={() => zoom(0.6)} aria-label="Zoom in" title="Zoom in (+)">
            +
          </button>
          <button type="button" onClick={() => zoom(1 / 0.6)} aria-label="Zoom out" title="Zoom out (-)">
            {'\u2212'}
          </button>
          <button type="button" onClick={() => pan(-0.5)} aria-label="Earlier" title="Earlier (left)">
            {'\u2190'}
          </button>
          <button type="button" onClick={() => pan(0.5)} aria-label="Later" title="Later (right)">
            {'\u2192'}
          </button>
          <button type="button" onClick={fit} title="Everything (0)">
            Fit
          </button>
        </div>
        <Legend model={model} />
        <span class="muted push" role="status" data-testid="timeline-range">
          {duration(view.from + model.origin, 5)} {'\u2013'} {duration(view.to + model.origin, 5)}
        </span>
      </div>
      <Overview model={model} view={view} gutter={gutter} onView={(next) => setView(clamp(next, model.span))} />
      <div class="canvas-box" ref={box}>
        <canvas
          ref={canvas}
          style={{width: `${width}px`, height: `${model.height}px`}}
          tabIndex={0}
          role="application"
          aria-label="Timeline of GPU streams, packs and clocks"
          aria-describedby="timeline-help timeline-told"
          onKeyDown={(event) => {
            const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
            if (action === undefined) return;
            event.preventDefault();
            action();
          }}
          onPointerDown={(event) => {
            if (event.button !== 0) return;
            dragging.current = {x: event.offsetX, view, moved: false};
            event.currentTarget.setPointerCapture(event.pointerId);
          }}
          onPointerMove={move}
          onPointerUp={(event) => {
            const moved = dragging.current?.moved ?? false;
            dragging.current = null;
            if (!moved) setMarked(markAt(model, scene, event.offsetX, event.offsetY));
          }}
          onPointerLeave={() => {
            setHover(null);
            setCursor(null);
          }}
          onDblClick={(event) => setView(zoomed(view, 0.3, timeAt(scene, event.offsetX), model.span))}
        />
        {shown !== null && tip !== null && (
          <div
            class="tip"
            style={{
              left: `${Math.min(shown.x + 14, width - 330)}px`,
              top: `${Math.min(shown.y + 16, Math.max(0, model.height - 40))}px`,
            }}
          >
            <div class="tip-title">{tip.title}</div>
            <dl>
              {tip.facts.map(([label, value]) => (
                <div key={label}>
                  <dt>{label}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
          </div>
        )}
      </div>
      <p class="muted" id="timeline-help">
        Drag to move, Ctrl and wheel to zoom, double-click to zoom in. Keys: left and right move, + and {'\u2212'} zoom, 0
        shows everything, n and p step through operations, up and down change the stream. Times count from the first
        event of the trace, as those of --time-range do.
      </p>
      <p class="told" id="timeline-told" aria-live="polite" data-testid="timeline-told">
        {told === null
          ? 'No operation is selected.'
          : `${told.title}: ${told.facts.map(([label, value]) => `${label} ${value}`).join(', ')}`}
      </p>
      {model.bundle > 0 && (
        <p class="muted">
          {model.operations} operations; neighbours closer than {duration(model.bundle, 3)} are drawn as one bundle
          (underlined).
        </p>
      )}
    </div>
  );
}

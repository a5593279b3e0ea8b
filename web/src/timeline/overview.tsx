// The whole span in one strip: how busy the GPUs are, and what part is in view. Drag to move.
import {useEffect, useRef} from 'preact/hooks';
import {color, theme} from '../theme';
import type {View} from './draw';
import type {Model} from './model';

const kHeight = 30;

export function Overview(props: {model: Model; view: View; gutter: number; onView: (view: View) => void}) {
  const {model, view, gutter, onView} = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const dragging = useRef(false);

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d') ?? null;
    if (element === null || context === null) return;
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    const width = element.clientWidth;
    element.width = Math.round(width * ratio);
    element.height = Math.round(kHeight * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, kHeight);
    context.fillStyle = color('--kernel-1');
    model.busy.forEach((share, bin) => {
      const left = (bin / model.busy.length) * width;
      const height = share * (kHeight - 6);
      context.fillRect(left, kHeight - height, width / model.busy.length + 0.5, height);
    });
    const from = (view.from / model.span) * width;
    const to = (view.to / model.span) * width;
    context.fillStyle = color('--shade');
    context.fillRect(0, 0, from, kHeight);
    context.fillRect(to, 0, width - to, kHeight);
    context.strokeStyle = color('--accent');
    context.strokeRect(from + 0.5, 0.5, Math.max(2, to - from - 1), kHeight - 1);
  });

  const moveTo = (event: PointerEvent & {currentTarget: HTMLCanvasElement}): void => {
    const middle = (event.offsetX / Math.max(1, event.currentTarget.clientWidth)) * model.span;
    const half = (view.to - view.from) / 2;
    onView({from: middle - half, to: middle + half});
  };

  return (
    <div class="overview" style={{paddingLeft: `${gutter}px`}} data-theme-of={theme.value}>
      <canvas
        ref={canvas}
        aria-hidden="true"
        style={{height: `${kHeight}px`}}
        onPointerDown={(event) => {
          dragging.current = true;
          event.currentTarget.setPointerCapture(event.pointerId);
          moveTo(event);
        }}
        onPointerMove={(event) => {
          if (dragging.current) moveTo(event);
        }}
        onPointerUp={() => {
          dragging.current = false;
        }}
      />
    </div>
  );
}

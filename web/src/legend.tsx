// The marks of marks.ts as a legend shows them.
import type {Shape} from './marks';

export function MarkKey({shape}: {shape: Shape}) {
  return (
    <svg width="14" height="12" aria-hidden="true">
      {shape === 'ring' ? (
        <circle cx="7" cy="6" r="4" fill="none" stroke="var(--text)" stroke-width="2" />
      ) : (
        <path d="M7 0L13 6L7 12L1 6Z" fill="var(--accent)" />
      )}
    </svg>
  );
}

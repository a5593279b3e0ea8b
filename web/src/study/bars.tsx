// Energy saved by each workload: one bar, its interval, and what it costs in time.
import {useMemo, useState} from 'preact/hooks';
import type {StudyData, StudyWorkload} from '../types';
import {chosen, percent, settingText, title} from './state';

const kShown = 30;

interface Row {
  workload: StudyWorkload;
  index: number;
}

/** By network, then batch as a number, then algorithm: as the tables of a paper are. */
function ordered(data: StudyData): Row[] {
  const rows = data.workloads.map((workload, index) => ({workload, index}));
  const grouped = rows.some((r) => r.workload.network !== '' || r.workload.algorithm !== '');
  const text = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  return rows.sort((a, b) => {
    const v = a.workload;
    const w = b.workload;
    if (!grouped) return (w.energy_saved ?? -Infinity) - (v.energy_saved ?? -Infinity) || a.index - b.index;
    return (
      text(v.gpu, w.gpu) ||
      text(v.network, w.network) ||
      Number(v.batch) - Number(w.batch) ||
      text(v.algorithm, w.algorithm) ||
      a.index - b.index
    );
  });
}

export function Bars({data}: {data: StudyData}) {
  const [all, setAll] = useState(false);
  const rows = useMemo(() => ordered(data), [data]);
  const algorithms = useMemo(() => [...new Set(data.workloads.map((w) => w.algorithm))].sort(), [data]);
  const largest = Math.max(
    0.05,
    ...data.workloads.map((w) => Math.max(w.energy_saved ?? 0, w.energy_saved_high ?? 0)),
  );
  const shown = all ? rows : rows.slice(0, kShown);
  return (
    <div class="study-bars">
      <div class="toolbar" hidden={algorithms.length < 2 && rows.length <= kShown}>
        {algorithms.length > 1 && (
          <ul class="legend">
            {algorithms.map((name, index) => (
              <li key={name}>
                <span class={`key c${index % 8}`} />
                {name === '' ? 'other' : name}
              </li>
            ))}
          </ul>
        )}
        {rows.length > kShown && (
          <button type="button" class="push" aria-pressed={all} onClick={() => setAll(!all)}>
            {all ? `First ${kShown}` : `All ${rows.length}`}
          </button>
        )}
      </div>
      <p class="muted">
        Bar: energy saved at the best sampled point
        {data.workloads.some((w) => w.energy_saved_low !== null) && '; line: its 95 % interval'}
      </p>
      <ol>
        {shown.map(({workload: w, index}) => {
          const saved = w.energy_saved;
          const best = w.best === null ? undefined : w.points[w.best];
          const color = algorithms.length > 1 ? algorithms.indexOf(w.algorithm) % 8 : 0;
          return (
            <li key={index}>
              <button
                type="button"
                aria-pressed={chosen.value === index}
                onClick={() => {
                  chosen.value = index;
                }}
              >
                <span class="study-name" title={title(w)}>
                  {title(w)}
                </span>
                <span class="study-track">
                  {saved !== null && (
                    <span class={`study-fill c${color}`} style={{width: `${(100 * Math.max(0, saved)) / largest}%`}} />
                  )}
                  {w.energy_saved_low !== null && w.energy_saved_high !== null && (
                    <span
                      class="study-whisker"
                      style={{
                        left: `${(100 * Math.max(0, w.energy_saved_low)) / largest}%`,
                        width: `${(100 * Math.max(0, w.energy_saved_high - Math.max(0, w.energy_saved_low))) / largest}%`,
                      }}
                    />
                  )}
                </span>
                <span class="study-figure">
                  {saved === null ? 'no optimum' : percent(saved)}
                  <small>
                    {w.slowdown === null || saved === null ? '' : ` slowdown ${percent(w.slowdown)}`}
                  </small>
                </span>
                <span class="study-at">
                  {best === undefined ? '' : settingText(best, data.clocks_are_offsets)}
                  {w.edge !== '' && <em title="the best point is the last one sampled: a better one may lie beyond">{w.edge}</em>}
                </span>
              </button>
            </li>
          );
        })}
      </ol>
      {data.left_out > 0 && <p class="muted">{data.left_out} more workloads stand in the JSON only.</p>}
    </div>
  );
}

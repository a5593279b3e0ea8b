// Energy against the baseline over two settings of the chosen workload, as a table that is coloured.
import {figure} from '../format';
import type {StudyData, StudyWorkload} from '../types';
import {at, axisName, axisScale, chosen, kClock, kEnergy, kLimit, kMemory, kTime, kValid, levels, title} from './state';
import type {Axis} from './state';

/** The two settings that vary; null where only one does. */
function axes(workload: StudyWorkload): [Axis, Axis] | null {
  const varied = ([kClock, kMemory, kLimit] as Axis[]).filter((a) => levels(workload.points, a).length > 1);
  const [first, second] = varied;
  return first === undefined || second === undefined ? null : [first, second];
}

export function hasHeat(data: StudyData): boolean {
  return data.workloads.some((w) => axes(w) !== null);
}

export function Heat({data}: {data: StudyData}) {
  const workload = data.workloads[chosen.value];
  const pair = workload === undefined ? null : axes(workload);
  if (workload === undefined || pair === null) {
    return <p class="muted">The chosen workload was measured over one setting only.</p>;
  }
  const [across, down] = pair;
  const columns = levels(workload.points, across);
  const rows = levels(workload.points, down).reverse();
  const ratios = workload.points.flatMap((p) => {
    const e = at(p, kEnergy);
    return e === null || p[kValid] === 0 ? [] : [e];
  });
  const low = Math.min(...ratios);
  const high = Math.max(...ratios);
  const find = (x: number, y: number): number =>
    workload.points.findIndex((p) => at(p, across) === x && at(p, down) === y);
  return (
    <div class="study-heat">
      <p class="muted">
        {title(workload)}: energy / baseline; across: {axisName(data, across)}, down: {axisName(data, down)}
      </p>
      <div class="table-scroll">
        <table>
          <thead>
            <tr>
              <th scope="col" />
              {columns.map((c) => (
                <th scope="col" key={c}>
                  {Math.round(c / axisScale(across))}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((r) => (
              <tr key={r}>
                <th scope="row">{Math.round(r / axisScale(down))}</th>
                {columns.map((c) => {
                  const index = find(c, r);
                  const point = index < 0 ? undefined : workload.points[index];
                  const energy = point === undefined ? null : at(point, kEnergy);
                  if (point === undefined || energy === null) return <td key={c} class="unknown" />;
                  const valid = point[kValid] !== 0;
                  const share = high > low ? (high - energy) / (high - low) : 0;
                  const time = at(point, kTime);
                  const mark = index === workload.best ? ' best' : index === workload.baseline ? ' base' : '';
                  return (
                    <td
                      key={c}
                      class={`${valid ? '' : 'unknown'}${mark}`}
                      style={valid ? {background: `color-mix(in srgb, var(--accent) ${Math.round(share * 62)}%, var(--panel))`} : {}}
                      title={`time x${time === null ? '?' : figure(time, 4)}${valid ? '' : ', not valid'}`}
                    >
                      {figure(energy, 3)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="muted">Darker needs less energy. Framed: the best point; dashed: the baseline.</p>
    </div>
  );
}

// The script of the page: what lies in it is readable without, this makes it answer questions.
import {render} from 'preact';
import 'uplot/dist/uPlot.min.css';
import './style/page.css';
import './style/tables.css';
import './style/charts.css';
import './style/provenance.css';
import './style/study.css';
import './style/sweep.css';
import {pageData} from './data';
import {downloadCsv, downloadJson} from './download';
import {Frontier} from './frontier';
import {Bars} from './study/bars';
import {Curves} from './study/curves';
import {Heat, hasHeat} from './study/heat';
import {Sweep} from './sweep';
import {startTables} from './tables';
import {startTheme, theme, toggleTheme} from './theme';
import {Timeline} from './timeline/view';

function Actions() {
  const dark = theme.value === 'dark';
  return (
    <>
      <button type="button" onClick={downloadJson}>
        JSON
      </button>
      <button type="button" onClick={downloadCsv}>
        CSV
      </button>
      <button type="button" onClick={toggleTheme} aria-label={dark ? 'Light colours' : 'Dark colours'}>
        {dark ? '\u2600' : '\u263e'}
      </button>
    </>
  );
}

/** Shows a section that needs the script, and fills it. */
function mount(id: string, content: preact.ComponentChild): void {
  const place = document.getElementById(id);
  if (place === null) return;
  place.closest('section')?.removeAttribute('hidden');
  render(content, place);
}

startTheme();
const page = pageData();
mount('actions', <Actions />);
if (page.frontier !== null) mount('frontier', <Frontier data={page.frontier} />);
if (page.timeline !== null) mount('timeline', <Timeline data={page.timeline} />);
if (page.study !== null) {
  mount('study-curves', <Curves data={page.study} />);
  mount('study-bars', <Bars data={page.study} />);
  if (hasHeat(page.study)) mount('study-heat', <Heat data={page.study} />);
}
if (page.sweep !== null) mount('sweep', <Sweep data={page.sweep} />);
startTables();
document.documentElement.dataset.ready = 'yes';

// Static tables become sortable and filterable. The rows stay the ones that lie in the page.
import {render} from 'preact';
import {useEffect, useState} from 'preact/hooks';

type Direction = 'ascending' | 'descending';

function sortBy(table: HTMLTableElement, column: number, direction: Direction): void {
  const body = table.tBodies[0];
  if (body === undefined) return;
  const numeric = table.tHead?.rows[0]?.cells[column]?.classList.contains('num') ?? false;
  const key = (row: HTMLTableRowElement): number | string | null => {
    const cell = row.cells[column];
    if (cell === undefined) return null;
    const raw = cell.dataset.v ?? cell.textContent ?? '';
    if (!numeric) return raw.toLowerCase();
    return raw === '' ? null : Number(raw);
  };
  const rows = [...body.rows].map((row, order) => ({row, order, key: key(row)}));
  const sign = direction === 'ascending' ? 1 : -1;
  rows.sort((a, b) => {
    if (a.key === null || b.key === null) {
      // What is unknown stands last either way.
      return a.key === b.key ? a.order - b.order : a.key === null ? 1 : -1;
    }
    if (a.key === b.key) return a.order - b.order;
    return (a.key < b.key ? -1 : 1) * sign;
  });
  body.append(...rows.map((item) => item.row));
  for (const cell of table.tHead?.rows[0]?.cells ?? []) cell.removeAttribute('aria-sort');
  table.tHead?.rows[0]?.cells[column]?.setAttribute('aria-sort', direction);
}

function makeSortable(table: HTMLTableElement): void {
  const head = table.tHead?.rows[0];
  if (head === undefined) return;
  [...head.cells].forEach((cell, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'sort';
    button.append(...cell.childNodes);
    cell.append(button);
    button.addEventListener('click', () => {
      const first: Direction = cell.classList.contains('num') ? 'descending' : 'ascending';
      const other: Direction = first === 'ascending' ? 'descending' : 'ascending';
      sortBy(table, column, cell.getAttribute('aria-sort') === first ? other : first);
    });
  });
}

function matcher(text: string): (name: string) => boolean {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word.length > 0);
  return (name) => words.every((word) => name.includes(word));
}

/** Hides the rows that do not hold every word; returns how many are left. */
function filterRows(table: HTMLTableElement, text: string): number {
  const matches = matcher(text);
  let shown = 0;
  for (const row of table.tBodies[0]?.rows ?? []) {
    const ok = matches((row.textContent ?? '').toLowerCase());
    row.hidden = !ok;
    if (ok) ++shown;
  }
  return shown;
}

function Toolbar({table}: {table: HTMLTableElement}) {
  const total = table.tBodies[0]?.rows.length ?? 0;
  const [shown, setShown] = useState(total);
  const presets = [...(table.tHead?.rows[0]?.cells ?? [])]
    .map((cell, column) => ({label: cell.dataset.preset ?? '', column}))
    .filter((preset) => preset.label !== '');
  const [active, setActive] = useState(presets.length > 0 ? 0 : -1);
  useEffect(() => {
    if (presets[0] !== undefined) sortBy(table, presets[0].column, 'descending');
  }, []);
  return (
    <div class="toolbar">
      {presets.length > 0 && (
        <div class="segments" role="group" aria-label="Order">
          {presets.map((preset, index) => (
            <button
              type="button"
              key={preset.label}
              aria-pressed={active === index}
              onClick={() => {
                setActive(index);
                sortBy(table, preset.column, 'descending');
              }}
            >
              {preset.label}
            </button>
          ))}
        </div>
      )}
      <input
        type="search"
        placeholder="Filter rows"
        aria-label={`Filter ${table.dataset.title ?? 'rows'}`}
        onInput={(event) => setShown(filterRows(table, event.currentTarget.value))}
      />
      <span class="muted" role="status">
        {shown === total ? `${total} rows` : `${shown} of ${total} rows`}
      </span>
    </div>
  );
}

/** Where a table is wider than its box, a line says that it scrolls. */
function sayScrolls(box: HTMLElement): void {
  const hint = document.createElement('p');
  hint.className = 'muted scrolls';
  hint.textContent = 'Scroll sideways for more columns \u2192';
  hint.hidden = true;
  box.after(hint);
  const look = (): void => {
    hint.hidden = box.scrollWidth <= box.clientWidth + 2;
  };
  new ResizeObserver(look).observe(box);
  look();
}

/** A number that is copied alone takes its unit along. */
function copyWithUnit(event: ClipboardEvent): void {
  const selection = document.getSelection();
  if (selection === null || selection.rangeCount === 0 || event.clipboardData === null) return;
  const node = selection.getRangeAt(0).commonAncestorContainer;
  const element = node instanceof Element ? node : node.parentElement;
  const unit = element?.closest<HTMLElement>('[data-u]')?.dataset.u;
  const text = selection.toString().trim();
  if (unit === undefined || text === '' || !/^[-\d.e+]+$/.test(text)) return;
  event.clipboardData.setData('text/plain', `${text} ${unit}`);
  event.preventDefault();
}

export function startTables(): void {
  for (const table of document.querySelectorAll<HTMLTableElement>('table[data-title]')) {
    makeSortable(table);
    const box = table.closest('.table-box');
    if (box instanceof HTMLElement) sayScrolls(box);
    const rows = table.tBodies[0]?.rows.length ?? 0;
    const place = table.closest('.table-box')?.previousElementSibling;
    if (rows > 8 && place instanceof HTMLElement && place.classList.contains('toolbar-place')) {
      render(<Toolbar table={table} />, place);
    }
  }
  document.addEventListener('copy', copyWithUnit);
}

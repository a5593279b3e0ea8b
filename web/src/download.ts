// The answer as JSON, the tables as CSV, without a server.
import {answerText, commandName} from './data';

function save(name: string, type: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], {type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/** A table of the page; figures with all their digits, unknown ones empty. */
export function tableCsv(table: HTMLTableElement): string {
  const lines: string[] = [];
  for (const row of table.rows) {
    const cells = [...row.cells].map((cell) => csvField(cell.dataset.v ?? (cell.textContent ?? '').trim()));
    lines.push(cells.join(','));
  }
  return lines.join('\n') + '\n';
}

export function downloadJson(): void {
  save(`ergon-${commandName()}.json`, 'application/json', answerText());
}

export function downloadCsv(): void {
  const parts: string[] = [];
  for (const table of document.querySelectorAll<HTMLTableElement>('table[data-title]')) {
    parts.push(`# ${table.dataset.title ?? ''}\n${tableCsv(table)}`);
  }
  save(`ergon-${commandName()}.csv`, 'text/csv', parts.join('\n'));
}

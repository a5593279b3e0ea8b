// Reads the two JSON documents that lie in the page.
import type {PageData} from './types';

function text(id: string): string {
  return document.getElementById(id)?.textContent ?? '';
}

export function pageData(): PageData {
  return JSON.parse(text('ergon-page')) as PageData;
}

/** The answer as the command prints it with -f json. */
export function answerText(): string {
  return text('ergon-answer');
}

export function commandName(): string {
  return document.documentElement.dataset.command ?? 'answer';
}

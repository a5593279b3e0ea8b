// Dark and light: the system's choice, until the reader makes one.
import {signal} from '@preact/signals';

export type Theme = 'light' | 'dark';

const kKey = 'ergon-theme';
const system = window.matchMedia('(prefers-color-scheme: dark)');

function stored(): Theme | null {
  try {
    const value = localStorage.getItem(kKey);
    return value === 'light' || value === 'dark' ? value : null;
  } catch {
    return null; // storage may be forbidden to files
  }
}

export const theme = signal<Theme>(stored() ?? (system.matches ? 'dark' : 'light'));

function apply(): void {
  document.documentElement.dataset.theme = theme.value;
}

export function startTheme(): void {
  apply();
  system.addEventListener('change', () => {
    if (stored() !== null) return;
    theme.value = system.matches ? 'dark' : 'light';
    apply();
  });
}

export function toggleTheme(): void {
  theme.value = theme.value === 'dark' ? 'light' : 'dark';
  apply();
  try {
    localStorage.setItem(kKey, theme.value);
  } catch {
    // the choice lasts as long as the page
  }
}

/** A colour of the style sheet. */
export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Numbers with units, and short names.

/** `digits` significant digits, no exponent in the usual range. */
export function figure(value: number, digits = 4): string {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size < 1e-6 || size >= 1e15) return value.toExponential(digits - 1);
  const decimals = Math.min(20, Math.max(0, digits - 1 - Math.floor(Math.log10(size))));
  return value.toFixed(decimals);
}

const kTimes: [number, string][] = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, '\u00b5s'],
  [1, 'ns'],
];

/** A duration in ns with a unit that keeps it short. */
export function duration(ns: number, digits = 4): string {
  for (const [size, unit] of kTimes) {
    if (Math.abs(ns) >= size) return `${figure(ns / size, digits)} ${unit}`;
  }
  return `${figure(ns, digits)} ns`;
}

export function clock(hz: number): string {
  return `${figure(hz / 1e6, 4)} MHz`;
}

/** Unit and divisor that suit a set of values in a base unit, for an axis. */
export function axisUnit(largest: number, base: string): {unit: string; scale: number} {
  const steps: [number, string][] = [
    [1e6, 'M'],
    [1e3, 'k'],
    [1, ''],
    [1e-3, 'm'],
    [1e-6, '\u00b5'],
    [1e-9, 'n'],
  ];
  for (const [scale, prefix] of steps) {
    // Hours of work are still told in seconds.
    if (base === 's' && scale > 1) continue;
    if (largest >= scale) return {unit: prefix + base, scale};
  }
  return {unit: base, scale: 1};
}

/** The part of a kernel's name that people say: no return type, namespaces, template arguments, parameters. */
export function shortName(name: string): string {
  let text = name.replace(/^(void|static|__global__)\s+/, '');
  const end = text.search(/[<(]/);
  if (end > 0) text = text.slice(0, end);
  const colon = text.lastIndexOf('::');
  if (colon >= 0) text = text.slice(colon + 2);
  return text.length > 0 ? text : name;
}

/** Steps of 1, 2 or 5 times a power of ten, about `count` in the range. */
export function niceStep(range: number, count: number): number {
  const raw = range / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const rest = raw / power;
  return power * (rest <= 1 ? 1 : rest <= 2 ? 2 : rest <= 5 ? 5 : 10);
}

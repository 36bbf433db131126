// Text for people. What came from a capture is shown as what it is: controls and marks of direction by their escapes.

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]/g;
const PAIR = /[\ud800-\udbff][\udc00-\udfff]/;

export function shown(text: string): string {
  if (PAIR.test(text)) return Array.from(text, (one) => (one.length === 2 ? one : escaped(one))).join("");
  return escaped(text);
}

function escaped(text: string): string {
  return text.replace(HIDDEN, (one) => {
    const code = one.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

export const count = (number: number): string => number.toLocaleString("en-US");

export function plural(number: number, noun: string, several = `${noun}s`): string {
  return `${count(number)} ${number === 1 ? noun : several}`;
}

// Seconds since the first frame, to the microsecond.
export function seconds(ns: number): string {
  return (ns / 1e9).toFixed(6);
}

// Milliseconds to the microsecond, so that a column of them is of one unit.
export function milliseconds(ns: number): string {
  return (ns / 1e6).toFixed(3);
}

export function span(ns: number): string {
  const size = Math.abs(ns);
  if (size < 1e3) return `${ns} ns`;
  if (size < 1e6) return `${+(ns / 1e3).toPrecision(4)} µs`;
  if (size < 1e9) return `${+(ns / 1e6).toPrecision(4)} ms`;
  if (size < 120e9) return `${+(ns / 1e9).toPrecision(5)} s`;
  if (size < 7200e9) return `${+(ns / 60e9).toPrecision(4)} min`;
  return `${+(ns / 3600e9).toPrecision(4)} h`;
}

// A time since 1970 in UTC, to the microsecond.
export function utc(base: bigint, relative: number): string {
  const ns = base + BigInt(Math.round(relative));
  const micro = ns / 1000n;
  const date = new Date(Number(micro / 1000n)).toISOString();
  return `${date.slice(0, 23)}${String(micro % 1000n).padStart(3, "0")}Z`.replace("T", " ");
}

export function bytesWords(size: number): string {
  if (size < 1024) return `${size} bytes`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let unit = -1;
  let value = size;
  while (value >= 1024 && unit < 3) {
    value /= 1024;
    unit++;
  }
  return `${value.toFixed(value < 10 ? 2 : 1)} ${units[unit]}`;
}

export function valueText(value: unknown): string {
  if (typeof value === "object" && value !== null && "$int" in value) return String((value as { $int: string }).$int);
  return String(value);
}

export function compact(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1e15) return value.toExponential(3);
  if (Number.isInteger(value)) return count(value);
  return size >= 1e5 ? fixed(value, 1) : size >= 0.001 ? String(+value.toPrecision(6)) : value.toExponential(2);
}

const fixed = (value: number, digits: number): string =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

const LETTERS: [number, string][] = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e7, "M"]];

// The numbers of an axis, in ascending order: one letter for all, and as many digits as tell neighbours apart (2.081005G, 2.081010G).
export function ticks(values: number[]): string[] {
  const most = Math.max(0, ...values.map(Math.abs));
  const step = Math.min(...values.slice(1).map((value, at) => value - values[at]!), most);
  if (most !== 0 && most < 1e-4) return values.map((value) => value.toExponential(digitsOf(step / 10 ** Math.floor(Math.log10(most)))));
  const [least, letter] = LETTERS.find(([from]) => most >= from) ?? [1, ""];
  const power = letter === "M" ? 1e6 : least;
  const digits = digitsOf(step / power);
  return values.map((value) => (value === 0 ? "0" : `${fixed(value / power, digits)}${letter}`));
}

// How many digits behind the point write this number out.
function digitsOf(step: number): number {
  let digits = 0;
  while (digits < 15 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-3 * step * 10 ** digits) digits++;
  return digits;
}

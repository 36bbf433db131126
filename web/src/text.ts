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

export function plural(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

// Seconds since the first frame, to the microsecond.
export function seconds(ns: number): string {
  return (ns / 1e9).toFixed(6);
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
  return size >= 1e5 ? value.toFixed(1) : size >= 0.001 ? String(+value.toPrecision(6)) : value.toExponential(2);
}

const SHORT = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 6 });

// A number for an axis: 621.948M.
export function short(value: number): string {
  const size = Math.abs(value);
  return size !== 0 && (size >= 1e15 || size < 1e-4) ? value.toExponential(2) : SHORT.format(value);
}

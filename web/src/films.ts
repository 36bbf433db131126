// Films of machines: what each counterset held, poll by poll, in blocks that are read when they are asked for (docs/report.md).

import { block, bytesBlock } from "./data";

export interface FilmColumn {
  names: string[]; unit: string; type: string | null; decimals: number; scale: number; is_hex: boolean; needs_two: boolean; size: number;
}
interface RawFilm {
  panel: string; title: string; name: string; client: string; handles: string[]; usual: [title: string, column: number | null][]; columns: FilmColumn[];
  rows: [name: string | null, identity: string, spans: number[]][]; calls: number[]; times: number[]; whole: boolean[]; blocks: [first: number, polls: number][];
  first_block: number;
}
interface RawFilms {
  machines: { ip: string; films: number[]; moments: number[] }[]; films: RawFilm[]; says: [has: boolean, words: string][]; left_out: number;
}
interface BlockHead { rows: number[]; columns: number; polls: number; layouts: number[]; exact: Record<string, string> }

export const SHOWN = 0;
export const NOT_ASKED = 1;

// Polls of a block, decoded: states and values of each column, row and poll; where the bytes of each cell are, layout by layout.
export class Frame {
  readonly rows: Map<number, number>;
  readonly states: Int32Array;
  readonly values: Float64Array;
  readonly places: Int32Array;
  readonly polls: number;
  readonly columns: number;
  readonly exact: Record<string, string>;
  private readonly layouts: number[];
  private readonly largest: number[] = [];

  constructor(head: BlockHead, data: Uint8Array, readonly first: number) {
    this.rows = new Map(head.rows.map((row, at) => [row, at]));
    [this.polls, this.columns, this.layouts, this.exact] = [head.polls, head.columns, head.layouts, head.exact];
    const cells = head.columns * head.rows.length;
    let at = 0;
    // Zigzag and seven bits a byte, as differences along a run.
    const read = (into: Int32Array | Float64Array, run: number) => {
      let value = 0;
      for (let place = 0; place < into.length; place++) {
        if (place % run === 0) value = 0;
        let byte = data[at++]!;
        let folded = byte & 127;
        for (let scale = 128; byte > 127; scale *= 128) {
          byte = data[at++]!;
          folded += (byte & 127) * scale;
        }
        value += folded % 2 === 1 ? -(folded + 1) / 2 : folded / 2;
        into[place] = value;
      }
      return into;
    };
    this.states = read(new Int32Array(cells * head.polls), head.polls) as Int32Array;
    this.values = read(new Float64Array(cells * head.polls), head.polls) as Float64Array;
    this.places = read(new Int32Array(cells * head.layouts.length), cells) as Int32Array;
  }

  private cell(row: number, column: number): number {
    const at = this.rows.get(row);
    return at === undefined || column >= this.columns ? -1 : column * this.rows.size + at;
  }

  state(row: number, column: number, poll: number): number {
    const cell = this.cell(row, column);
    return cell < 0 ? NOT_ASKED : this.states[cell * this.polls + poll - this.first]!;
  }

  value(row: number, column: number, poll: number): number {
    return this.values[this.cell(row, column) * this.polls + poll - this.first]!;
  }

  // The largest number of a column without its sign, over all polls.
  most(column: number): number {
    let most = this.largest[column];
    if (most === undefined) {
      most = 0;
      const run = this.rows.size * this.polls;
      for (let at = column * run; at < Math.min(this.values.length, (column + 1) * run); at++) most = Math.max(most, Math.abs(this.values[at]!));
      this.largest[column] = most;
    }
    return most;
  }

  // What is no number of a browser: texts, and numbers beyond 2**51.
  text(row: number, column: number, poll: number): string | undefined {
    return this.exact[String(this.cell(row, column) * this.polls + poll - this.first)];
  }

  // Where the bytes of a cell begin in the buffer of the answer; -1 where that is not known.
  place(row: number, column: number, poll: number): number {
    const cell = this.cell(row, column);
    return cell < 0 ? -1 : this.places[this.layoutAt(poll) + cell]!;
  }

  // Where the first bytes of a row begin; 0 where that is not known.
  firstPlace(row: number, poll: number): number {
    const [layout, at] = [this.layoutAt(poll), this.rows.get(row)];
    let first = Infinity;
    if (at !== undefined) {
      for (let column = 0; column < this.columns; column++) {
        const start = this.places[layout + column * this.rows.size + at]!;
        if (start >= 0 && start < first) first = start;
      }
    }
    return first === Infinity ? 0 : first;
  }

  // Where the places of the layout of a poll begin.
  private layoutAt(poll: number): number {
    let layout = 0;
    while (layout + 1 < this.layouts.length && this.layouts[layout + 1]! <= poll - this.first) layout++;
    return layout * this.rows.size * this.columns;
  }
}

// What is kept decoded, some 3 MB each.
const MOST = 24;

function summed(differences: number[]): Float64Array {
  let value = 0;
  return Float64Array.from(differences, (one) => (value += one));
}

export interface FilmRow { number: number; name: string | null; identity: string; spans: number[] }

export class Film {
  readonly calls: Float64Array;
  readonly times: Float64Array;
  readonly rows: FilmRow[];
  private readonly known = new Map<number, Promise<Frame>>();
  private readonly read = new Map<number, Frame>();

  constructor(readonly raw: RawFilm, readonly number: number) {
    this.calls = summed(raw.calls);
    this.times = summed(raw.times);
    this.rows = raw.rows.map(([name, identity, spans], number) => ({ number, name, identity, spans }));
  }

  // The last poll of the film at a time; -1 before the first.
  pollAt(time: number): number {
    return upTo(this.times, time);
  }

  private blockOf(poll: number): number {
    return this.raw.blocks.findIndex(([first, polls]) => poll >= first && poll < first + polls);
  }

  // The block of a poll if it is here.
  here(poll: number): Frame | undefined {
    return this.read.get(this.blockOf(poll));
  }

  frame(poll: number): Promise<Frame> {
    const at = this.blockOf(poll);
    let made = this.known.get(at);
    if (made === undefined) {
      made = bytesBlock<BlockHead>(`film-${this.raw.first_block + at}`).then((found) => {
        const frame = new Frame(found!.head, found!.data, this.raw.blocks[at]![0]);
        this.read.set(at, frame);
        return frame;
      });
      this.known.set(at, made);
      if (this.known.size > MOST) {
        const oldest = this.known.keys().next().value!;
        this.known.delete(oldest);
        this.read.delete(oldest);
      }
    }
    return made;
  }

  // The block of a poll, and those beside it, so that a step finds them here.
  prefetch(poll: number): void {
    const at = this.blockOf(poll);
    for (const beside of [at + 1, at - 1]) {
      const block = this.raw.blocks[beside];
      if (block !== undefined) void this.frame(block[0]);
    }
  }

  // The names of instances at a poll as counter paths write them: the second of a name in the answer is `#1`.
  namesAt(poll: number, frame: Frame): Map<number, string> {
    const there = this.rows.filter((row) => row.name !== null && this.isThere(row, poll));
    const starts = new Map(there.map((row) => [row, frame.firstPlace(row.number, poll)]));
    there.sort((one, other) => starts.get(one)! - starts.get(other)! || one.number - other.number);
    const seen = new Map<string, number>();
    return new Map(there.map((row) => {
      const nth = seen.get(row.name!) ?? 0;
      seen.set(row.name!, nth + 1);
      return [row.number, nth === 0 ? row.name! : `${row.name}#${nth}`];
    }));
  }

  isThere(row: FilmRow, poll: number): boolean {
    const spans = row.spans;
    for (let at = 0; at < spans.length; at += 2) if (spans[at]! <= poll && poll <= spans[at + 1]!) return true;
    return false;
  }

  // Whether a poll is the first with an instance, or the first without it, where both it and the one before asked for all.
  change(row: FilmRow, poll: number): "started" | "ended" | null {
    if (poll < 1 || !this.raw.whole[poll] || !this.raw.whole[poll - 1]) return null;
    for (let at = 0; at < row.spans.length; at += 2) {
      if (row.spans[at] === poll) return "started";
      if (row.spans[at + 1] === poll - 1) return "ended";
    }
    return null;
  }
}

function upTo(times: Float64Array, time: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export interface Machine { ip: string; films: Film[]; moments: Float64Array }
export interface Films { machines: Machine[]; says: [has: boolean, words: string][]; leftOut: number }

let known: Promise<Films> | null = null;
export function filmsOf(): Promise<Films> {
  known ??= block<RawFilms>("films").then((raw) => {
    const films = raw!.films.map((one, number) => new Film(one, number));
    const machines = raw!.machines.map((one) => ({ ip: one.ip, films: one.films.map((number) => films[number]!), moments: summed(one.moments) }));
    return { machines, says: raw!.says, leftOut: raw!.left_out };
  });
  return known;
}

// The moment that a time belongs to.
export const momentAt = (machine: Machine, time: number): number => Math.max(0, upTo(machine.moments, time));

// Made once: a table has hundreds of numbers, and each would make its own.
const formats = new Map<string, Intl.NumberFormat>();

// A cell as a performance monitor shows it.
export function cellText(column: FilmColumn, value: number): string {
  if (column.is_hex && column.decimals === 0) return value.toString(16).toUpperCase();
  const useGrouping = !column.names.some((name) => /\bid\b/i.test(name));
  const key = `${column.decimals} ${useGrouping}`;
  let format = formats.get(key);
  if (format === undefined) {
    format = new Intl.NumberFormat("en-US", { minimumFractionDigits: column.decimals, maximumFractionDigits: column.decimals, useGrouping });
    formats.set(key, format);
  }
  return format.format(value / 10 ** column.decimals);
}

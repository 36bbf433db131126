// The calls of the page: the columns of the list, the layers of one call, and which calls pass a filter.

import { block, remembered, type DetailBlock, type Head, type RawLayer, type Shape, type Value } from "./data";
import { type Bound, type CallParts, type Depth, type Field, type Knowledge, type Resolve, type Vocabulary, compile, depthOf, knowledge, ofRecord } from "./filter";

interface Columns {
  base: string; texts: string[]; time: number[]; client: number[]; server: number[]; user: number[]; claimed_user: number[]; interface: number[]; method: number[];
  handle: number[]; asked: number[]; answered: number[]; status: number[]; outcome: number[]; state: number[]; reason: number[];
  latency: (number | null)[]; frames: string[]; opnum: (number | null)[]; code: (number | null)[]; fault: (number | null)[]; full: number[];
  uuid: number[]; name: number[]; key: number[];
}
export type TextColumn =
  | "client" | "server" | "user" | "claimed_user" | "interface" | "method" | "handle" | "asked" | "answered" | "status" | "outcome" | "state" | "reason" | "full"
  | "uuid" | "name" | "key";

export interface Track { client: string; server: string; handle: string | null; name: string; count: number }

// What of a field the list itself has.
const QUICK: Record<string, (rows: Rows, at: number) => unknown> = {
  number: (_, at) => at + 1,
  time_ns: (rows, at) => rows.base + BigInt(rows.columns.time[at]!),
  time_relative_ns: (rows, at) => rows.columns.time[at],
  "client.ip": (rows, at) => endpoint(rows.text("client", at)!)[0],
  "client.port": (rows, at) => endpoint(rows.text("client", at)!)[1],
  "server.ip": (rows, at) => endpoint(rows.text("server", at)!)[0],
  "server.port": (rows, at) => endpoint(rows.text("server", at)!)[1],
  opnum: (rows, at) => rows.columns.opnum[at],
  method: (rows, at) => rows.text("full", at),
  state: (rows, at) => rows.text("state", at),
  reason: (rows, at) => rows.text("reason", at),
  status: (rows, at) => rows.columns.code[at],
  fault: (rows, at) => rows.columns.fault[at],
  latency_ns: (rows, at) => rows.columns.latency[at],
  "auth.user": (rows, at) => rows.text("user", at),
  "auth.claimed_user": (rows, at) => rows.text("claimed_user", at),
  "interface.uuid": (rows, at) => rows.text("uuid", at),
  "interface.name": (rows, at) => rows.text("name", at),
  handle: (rows, at) => rows.text("handle", at),
  handle_uuid: (rows, at) => rows.text("key", at),
};
export const QUICK_PATHS: ReadonlySet<string> = new Set(Object.keys(QUICK));

function endpoint(text: string): [string, number] {
  const colon = text.lastIndexOf(":");
  return [text.slice(0, colon).replace(/^\[|\]$/g, ""), Number(text.slice(colon + 1))];
}

export class Rows {
  readonly count: number;
  readonly base: bigint;
  readonly tracks: Track[] = [];
  readonly trackOf: Int32Array;
  readonly methods: { name: string; count: number }[] = [];
  readonly methodOf: Int32Array;

  constructor(readonly columns: Columns) {
    this.count = columns.time.length;
    this.base = BigInt(columns.base);
    this.trackOf = new Int32Array(this.count);
    this.methodOf = new Int32Array(this.count);
    const tracks = new Map<string, number>();
    const methods = new Map<number, number>();
    for (let at = 0; at < this.count; at++) {
      const client = endpoint(this.text("client", at)!)[0];
      const server = endpoint(this.text("server", at)!)[0];
      const handle = this.text("handle", at);
      const key = `${client}|${server}|${handle}`;
      let track = tracks.get(key);
      if (track === undefined) {
        track = tracks.size;
        tracks.set(key, track);
        this.tracks.push({ client, server, handle, name: `${client} → ${server}${handle === null ? "" : ` ${handle}`}`, count: 0 });
      }
      this.tracks[track]!.count++;
      this.trackOf[at] = track;
      const method = columns.method[at]!;
      let number = methods.get(method);
      if (number === undefined) {
        number = methods.size;
        methods.set(method, number);
        this.methods.push({ name: columns.texts[method]!, count: 0 });
      }
      this.methods[number]!.count++;
      this.methodOf[at] = number;
    }
    // The commonest first: they take the first colours.
    const order = this.methods.map((_, number) => number).sort((one, other) => this.methods[other]!.count - this.methods[one]!.count);
    const place = new Int32Array(order.length);
    order.forEach((number, rank) => (place[number] = rank));
    this.methods.sort((one, other) => other.count - one.count);
    for (let at = 0; at < this.count; at++) this.methodOf[at] = place[this.methodOf[at]!]!;
  }

  text(column: TextColumn, at: number): string | null {
    const number = this.columns[column][at]!;
    return number < 0 ? null : this.columns.texts[number]!;
  }

  resolve(at: number): Resolve {
    return (field: Field) =>
      field.paths.flatMap((path) => {
        const value = QUICK[path]!(this, at);
        return value === null || value === undefined ? [] : [value];
      });
  }
}

export async function rowsOf(): Promise<Rows> {
  return new Rows((await block<Columns>("rows"))!);
}

let known: Promise<Knowledge> | null = null;
export function fieldsKnown(): Promise<Knowledge> {
  known ??= block<Vocabulary>("fields").then((raw) => knowledge(raw!));
  return known;
}

// The calls that pass, as positions; null for no filter. `progress` hears how many were looked at.
export async function passing(source: string, rows: Rows, head: Head, signal: AbortSignal): Promise<Int32Array | null> {
  if (source.trim() === "") return null;
  const bound: Bound = compile(source, await fieldsKnown());
  const depth: Depth = depthOf(bound, QUICK_PATHS);
  const found: number[] = [];
  if (depth === "rows") {
    for (let at = 0; at < rows.count; at++) if (bound.passes(rows.resolve(at))) found.push(at);
    return Int32Array.from(found);
  }
  for (let number = 0; number * head.heads < rows.count; number++) {
    const records = (await remembered<Record<string, unknown>[]>(`heads-${number}`)) ?? [];
    const buffers = depth === "buffers" ? await remembered<unknown[][]>(`buffers-${number}`) : null;
    if (signal.aborted) throw new DOMException("another filter was given", "AbortError");
    records.forEach((record, at) => {
      const parts: CallParts = { record, buffers: buffers?.[at] ?? null };
      if (bound.passes(ofRecord(parts))) found.push(number * head.heads + at);
    });
  }
  return Int32Array.from(found);
}

// ---------------------------------------------------------------------------------------------------------------- layers

export interface Run { at: number; stop: number; frame: number; file: number; start: number; length: number }
export interface TreeNode {
  name: string; spelling: string; type: string; start: number; length: number; reference: string; value: Value; meaning: string | null;
  children: TreeNode[];
}
export interface Layer {
  id: string; side: "request" | "response"; kind: RawLayer["kind"]; title: string; data: Uint8Array; runs: Run[]; steps: string[];
  undone: string[]; parent: string | null; offset: number; notes: string[]; problem: string | null; tree: TreeNode | null;
  // Whether the capture has several files, so that a frame is named with its own.
  several: boolean;
}
export interface SideDetail { name: "request" | "response"; missing: string | null; kind: string | null; problem: string | null; lacking: string | null; layers: Layer[] }
export interface CallDetail { facts: [string, string, string][]; sides: SideDetail[]; layers: Map<string, Layer> }

// A call taken apart; null where the page has only its line of the list.
export async function detailOf(number: number, head: Head): Promise<CallDetail | null> {
  const at = number - 1;
  const found = await remembered<DetailBlock>(`details-${Math.floor(at / head.details)}`);
  const raw = found?.calls[at % head.details];
  if (found === null || raw === undefined) return null;
  const layers = new Map<string, Layer>();
  const sides = raw.sides.map((side) => ({
    ...side,
    layers: side.layers.map((layer) => {
      const made = layerOf(layer, side.name, found, layers, head.overview.files.length > 1);
      layers.set(made.id, made);
      return made;
    }),
  }));
  return { facts: raw.facts, sides, layers };
}

function layerOf(raw: RawLayer, side: "request" | "response", { shapes, frames }: DetailBlock, before: Map<string, Layer>, several: boolean): Layer {
  const data = bytesOf(raw, frames, before);
  const runs = raw.runs.map(([at, stop, frame, file, start, length]) => ({ at, stop, frame, file, start, length }) as Run);
  const { id, kind, title, steps, undone, parent, offset, notes, problem } = raw;
  const tree = raw.shape === undefined ? null : treeOf(shapes[raw.shape]!, data, raw.values!, new Map(raw.meanings), { at: 0 });
  return { id, side, kind, title, data, runs, steps, undone, parent, offset, notes, problem, tree, several };
}

// The bytes of a layer: its own, those of the layer it lies in, or those of the frames that carried it.
function bytesOf(raw: RawLayer, frames: Record<string, string>, before: Map<string, Layer>): Uint8Array {
  if (raw.parent !== null) return before.get(raw.parent)!.data.subarray(raw.offset, raw.offset + raw.length);
  if (raw.hex !== undefined) return fromHex(raw.hex);
  return fromHex(raw.runs.map(([, , frame, file, start, length]) => frames[`${file}:${frame}`]!.slice(2 * start!, 2 * (start! + length!))).join(""));
}

function treeOf(shape: Shape, data: Uint8Array, values: Value[], meanings: Map<number, string>, next: { at: number }): TreeNode {
  const [name, spelling, type, start, length, reference, children] = shape;
  const at = next.at++;
  const value = type === "bytes" ? toHex(data.subarray(start, start + length)) : values[at]!;
  const meaning = meanings.get(at) ?? null;
  return { name, spelling, type, start, length, reference, value, meaning, children: children.map((one) => treeOf(one, data, values, meanings, next)) };
}

function fromHex(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length / 2);
  for (let at = 0; at < bytes.length; at++) bytes[at] = parseInt(text.slice(2 * at, 2 * at + 2), 16);
  return bytes;
}

export const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export function toHex(data: Uint8Array, between = ""): string {
  return Array.from(data, (byte) => HEX[byte]).join(between);
}

export function framesOf(layer: Layer, start: number, stop: number): string[] {
  const hit = layer.runs.filter((run) => Math.max(run.at, start) < Math.min(run.stop, stop));
  const numbers = hit.sort((one, other) => one.file - other.file || one.frame - other.frame);
  return [...new Set(numbers.map((run) => (layer.several ? `${run.file + 1}:${run.frame}` : String(run.frame))))];
}

// The innermost field that covers a byte.
export function nodeAt(tree: TreeNode, position: number): TreeNode | null {
  if (position < tree.start || position >= tree.start + tree.length) {
    // A structure may have parts beyond its own span.
    for (const child of tree.children) {
      const found = nodeAt(child, position);
      if (found !== null) return found;
    }
    return null;
  }
  for (const child of tree.children) {
    const found = nodeAt(child, position);
    if (found !== null) return found;
  }
  return tree;
}

// The calls of the page: the columns of the list, the layers of one call, and which calls pass a filter.

import {
  block, detailBlock, remembered, type DetailBlock, type FactOutline, type Form, type Head, type LayerKind, type LayerOutline, type RawLayer, type RawSide,
  type Shared, type SideOutline, type Template, type Value,
} from "./data";
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

export function endpoint(text: string): [string, number] {
  const colon = text.lastIndexOf(":");
  return [text.slice(0, colon).replace(/^\[|\]$/g, ""), Number(text.slice(colon + 1))];
}

// What a call is about, which gives it its colour; the same in every capture.
export const MEANINGS = ["counter values", "which counters there are", "query handles", "registry", "services", "other interfaces"] as const;
const OTHER = MEANINGS.indexOf("other interfaces");

export class Rows {
  readonly count: number;
  readonly base: bigint;
  readonly tracks: Track[] = [];
  readonly trackOf: Int32Array;
  // How many calls are about each of MEANINGS, and which of these a call is about.
  readonly meant: number[] = MEANINGS.map(() => 0);
  readonly meaningOf: Uint8Array;

  // `names` are those of machines by address, as far as the capture gives one.
  constructor(readonly columns: Columns, readonly names: ReadonlyMap<string, string> = new Map()) {
    this.count = columns.time.length;
    this.base = BigInt(columns.base);
    this.trackOf = new Int32Array(this.count);
    this.meaningOf = new Uint8Array(this.count);
    const tracks = new Map<string, number>();
    const performance = new Set<number>();
    for (let at = 0; at < this.count; at++) {
      const client = endpoint(this.text("client", at)!)[0];
      const server = endpoint(this.text("server", at)!)[0];
      const handle = this.text("handle", at);
      const key = `${client}|${server}|${handle}`;
      let track = tracks.get(key);
      if (track === undefined) {
        track = tracks.size;
        tracks.set(key, track);
        this.tracks.push({ client, server, handle, name: `${this.machine(client)} → ${this.machine(server)}${handle === null ? "" : ` ${handle}`}`, count: 0 });
      }
      this.tracks[track]!.count++;
      this.trackOf[at] = track;
      const meaning = this.meaning(at, performance);
      this.meaningOf[at] = meaning;
      this.meant[meaning]!++;
    }
  }

  // A machine by its name, or its address where no name is known.
  machine(ip: string): string {
    return this.names.get(ip) ?? ip;
  }

  // One end of a call, by the name of its machine.
  end(column: "client" | "server", at: number): string {
    const [ip, port] = endpoint(this.text(column, at)!);
    const name = this.names.get(ip);
    return name === undefined ? this.text(column, at)! : `${name}:${port}`;
  }

  // What a call is about; registry keys that were opened for performance data are kept in `performance`.
  private meaning(at: number, performance: Set<number>): number {
    const full = this.text("full", at) ?? "";
    const handle = this.columns.handle[at]!;
    switch (this.text("name", at)) {
      case "PerflibV2":
        if (full.endsWith("QueryCounterData")) return 0;
        return /Enumerate|RegistrationInfo/.test(full) ? 1 : 2;
      case "winreg":
        if (full.startsWith("OpenPerformance")) performance.add(handle);
        if (!performance.has(handle)) return 3;
        return full.includes("QueryValue") || full.includes("QueryMultipleValues") ? 0 : 2;
      case "svcctl":
        return 4;
      default:
        return OTHER;
    }
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

export async function rowsOf(head: Head): Promise<Rows> {
  const names = new Map(head.overview.hosts.flatMap((host): [string, string][] => (host.names.length > 0 ? [[host.ip, host.names[0]![0]]] : [])));
  return new Rows((await block<Columns>("rows"))!, names);
}

let known: Promise<Knowledge> | null = null;
export function fieldsKnown(): Promise<Knowledge> {
  known ??= block<Vocabulary>("fields").then((raw) => knowledge(raw!));
  return known;
}

// The calls that pass, as positions; null for no filter. `unread` counts calls whose buffers the filter asks about and the page does not have.
export interface Passing { found: Int32Array | null; unread: number }
export async function passing(source: string, rows: Rows, head: Head, signal: AbortSignal): Promise<Passing> {
  if (source.trim() === "") return { found: null, unread: 0 };
  const bound: Bound = compile(source, await fieldsKnown());
  const depth: Depth = depthOf(bound, QUICK_PATHS);
  const found: number[] = [];
  let unread = 0;
  if (depth === "rows") {
    for (let at = 0; at < rows.count; at++) if (bound.passes(rows.resolve(at))) found.push(at);
    return { found: Int32Array.from(found), unread };
  }
  for (let number = 0; number * head.heads < rows.count; number++) {
    const records = (await remembered<Record<string, unknown>[]>(`heads-${number}`)) ?? [];
    const buffers = depth === "buffers" ? await remembered<unknown[][]>(`buffers-${number}`) : null;
    if (signal.aborted) throw new DOMException("another filter was given", "AbortError");
    records.forEach((record, at) => {
      const parts: CallParts = { record, buffers: buffers?.[at] ?? null };
      if (depth === "buffers" && parts.buffers === null && hasBuffer(record)) unread++;
      if (bound.passes(ofRecord(parts))) found.push(number * head.heads + at);
    });
  }
  return { found: Int32Array.from(found), unread };
}

function hasBuffer(record: Record<string, unknown>): boolean {
  return [record.request, record.response].some((side) => (side as { has_buffer?: boolean } | null | undefined)?.has_buffer === true);
}

// ---------------------------------------------------------------------------------------------------------------- layers

// Where the bytes of a layer are that lies in no other one: in the frames, or with those of the side's own.
const IN_FRAMES = -1;

export interface Run { at: number; stop: number; frame: number; file: number; start: number; length: number }
export interface TreeNode {
  name: string; spelling: string; type: string; start: number; length: number; reference: string; value: Value; meaning: string | null;
  children: TreeNode[];
}
export interface Layer {
  id: string; side: "request" | "response"; kind: LayerKind; title: string; data: Uint8Array; runs: Run[]; steps: string[];
  undone: string[]; parent: string | null; offset: number; notes: string[]; problem: string | null; tree: TreeNode | null;
  // Whether the capture has several files, so that a frame is named with its own.
  several: boolean;
}
export interface SideDetail { name: "request" | "response"; missing: string | null; kind: string | null; problem: string | null; lacking: string | null; layers: Layer[] }
export interface CallDetail { facts: [string, string, string][]; sides: SideDetail[]; layers: Map<string, Layer> }

// A call taken apart; null where the page has only its line of the list.
export async function detailOf(number: number, head: Head): Promise<CallDetail | null> {
  const at = number - 1;
  const found = await remembered(`details-${Math.floor(at / head.details)}`, detailBlock);
  const raw = found?.calls[at % head.details];
  if (found === null || raw === undefined || raw === null) return null;
  const shared = (await remembered<Shared>(`shared-${found.shared}`))!;
  const layers = new Map<string, Layer>();
  const [[outline, ...texts], ...rawSides] = raw;
  const textOf = (text: number | string): string => (typeof text === "string" ? text : shared.texts[text]!);
  const facts = (shared.outlines[outline] as FactOutline).map(([layer, label], at): [string, string, string] => [layer, label, textOf(texts[at]!)]);
  const several = head.overview.files.length > 1;
  const sides = rawSides.map((side): SideDetail => {
    const [outline, some] = shared.outlines[side[0]] as Template;
    const [name, missing, kind, problem, lacking] = shared.outlines[outline] as SideOutline;
    const own = [...side[2]];
    const made = some.map((one) => {
      const layer = layerOf(one, name, side, own, found, shared, layers, several);
      layers.set(layer.id, layer);
      return layer;
    });
    return { name, missing, kind, problem, lacking, layers: made };
  });
  return { facts, sides, layers };
}

// `own` are the places of the bytes of the side that lie in no frame, of which no layer took its bytes yet.
function layerOf(
  raw: RawLayer, side: "request" | "response", [, frames, , meant]: RawSide, own: number[], found: DetailBlock, shared: Shared, before: Map<string, Layer>,
  several: boolean,
): Layer {
  const [outline, form, length, at, numbers, words] = raw;
  const [id, kind, title, steps, undone, parent, notes, problem] = shared.outlines[outline] as LayerOutline;
  const runs: Run[] = [];
  const parts: Uint8Array[] = [];
  for (let from = 0; from < numbers.length; from += 5) {
    const [first, stop, of, start, long] = numbers.slice(from, from + 5) as [number, number, number, number, number];
    const [file, frame, place] = found.frames.slice(4 * frames[of]!) as [number, number, number];
    runs.push({ at: first, stop, frame, file, start, length: long });
    parts.push(found.data.subarray(place + start, place + start + long));
  }
  let data = joined(parts);
  if (parent !== null) data = before.get(parent)!.data.subarray(at, at + length);
  else if (at !== IN_FRAMES) {
    const place = own.shift()!;
    data = found.data.subarray(place, place + length);
  }
  const meanings = new Map<number, string>();
  const said = words < 0 ? [] : (shared.outlines[meant[words]!] as number[]);
  for (let from = 0; from < said.length; from += 2) meanings.set(said[from]!, shared.texts[said[from + 1]!]!);
  const tree = form < 0 ? null : treeOf(shared.forms[form]!, data, meanings, { at: 0 });
  const named = kind === "frame" ? `Frame ${runs[0]!.frame}` : title;
  return { id, side, kind, title: named, data, runs, steps, undone, parent, offset: parent === null ? 0 : at, notes, problem, tree, several };
}

function joined(parts: Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function treeOf(form: Form, data: Uint8Array, meanings: Map<number, string>, next: { at: number }): TreeNode {
  const [name, spelling, type, start, length, reference, reads, known, meaning, fields] = form;
  const position = next.at++;
  const value = type === "bytes" ? toHex(data.subarray(start, start + length)) : reads === "" ? known : valueAt(data.subarray(start, start + length), reads);
  return {
    name, spelling, type, start, length, reference, value, meaning: meanings.get(position) ?? meaning,
    children: fields.map((one) => treeOf(one, data, meanings, next)),
  };
}

// The value of a field by how it follows from its bytes: a number of either byte order, with a sign or without, a GUID ([MS-DTYP] section 2.3.4).
function valueAt(bytes: Uint8Array, reads: Form[6]): Value {
  if (reads === "guid-le" || reads === "guid-be") {
    const little = reads === "guid-le" ? [3, 2, 1, 0, 5, 4, 7, 6] : [0, 1, 2, 3, 4, 5, 6, 7];
    const text = toHex(Uint8Array.from([...little, 8, 9, 10, 11, 12, 13, 14, 15], (at) => bytes[at]!));
    return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join("-");
  }
  let number = 0n;
  for (const byte of reads.endsWith("le") ? Array.from(bytes).reverse() : bytes) number = (number << 8n) | BigInt(byte);
  if (reads.startsWith("signed")) number = BigInt.asIntN(8 * bytes.length, number);
  return BigInt.asIntN(54, number) === number ? Number(number) : { $int: String(number) };
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

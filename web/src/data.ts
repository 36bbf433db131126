// The blocks of data in the page: JSON, deflated and in base64 (docs/report.md). Each is read when it is asked for.

export interface FileView { name: string; size: number | null; sha256: string | null }
export interface HostView { ip: string; roles: string[]; names: [string, string][]; users: string[]; systems: string[] }
export interface IdentityView { user: string | null; client: string; server: string; security: string; calls: number; failed: number; unread: number }
export interface ProblemView { kind: string; layer: string; text: string; count: number; frames: string[]; frames_left_out: number }
export interface IncompleteView { state: string; reason: string | null; count: number }
export interface AccountLine {
  machine: string; severity: "high" | "medium" | "info"; kind: string; words: string; count: number; observations: number;
  first_time_ns: unknown; last_time_ns: unknown; call_numbers: number[]; frames: number[];
}
export interface ProcessView { server: string; name: string; pid: number | null; parent: string; oddities: string[]; answers: number; first_time_ns: unknown; last_time_ns: unknown; call: number }
export interface Overview {
  account: AccountLine[]; processes: ProcessView[]; processes_left_out?: number; files: FileView[]; frames: number; bytes: number; redacted: boolean; first_time_ns: unknown; last_time_ns: unknown; calls: number;
  failed: number; unanswered: number; unread: number; methods: Record<string, number>; sessions: string[]; hosts: HostView[]; identities: IdentityView[]; decrypted: string[];
  undecrypted: string | null; hint: string | null; incomplete: IncompleteView[]; problems: ProblemView[];
}
export interface Head {
  title: string; tool: string; show: string; overview: Overview; base: string; heads: number; details: number; profile: string;
  // Of a capture that grows: which page of it this is, and whether it is the last.
  live: { version: number; ended: boolean } | null;
}
// What a limit left out of a counterset; of no group: blocks without instances. `instances` is the greatest number in one answer.
export interface SeriesLeftOut { server: string; group: string | null; kept: number; instances: number; readings: number }
// How many calls have layers.
export interface Tail { details: number; left_out?: { series?: SeriesLeftOut[]; readings?: number; polls?: number } }
export interface Finding {
  rule: string; name: string; severity: "error" | "warning" | "info"; verdict: string; confidence: string; requirements: string[];
  section: string; statement: string; actor: string; message: string; expected: string | null; seen: string | null;
  call: number | null; layer: string | null; start: number; stop: number; field: string | null; frames: string[]; excused: boolean;
}
export interface Audit { findings: Finding[]; coverage: { section: string; verdicts: Record<string, number> }[]; nothing: string | null }
// In the page, findings that are alike have all but call and frames in common: `alike` has these without both.
interface AuditBlock extends Omit<Audit, "findings"> { findings: [alike: number, call: number | null, frames: string[]][]; alike: Finding[] }
export interface Series {
  number: number; source: string; server: string; client: string; handle: string; group: string; instance: string | null; counter: string;
  path: string; added: string | null; type: string | null; unit: string | null; hidden: boolean; calls: number[]; times_ns: number[];
  values: (number | null | { $int: string })[]; reasons: [number, string][];
}
export type Value = number | string | boolean | null | { $int: string };
// A field of a tree. `reads` says how its value follows from its bytes; empty where the value is here.
export type Form = [
  name: string, spelling: string, type: string, start: number, length: number, reference: string, reads: "" | "le" | "be" | "signed-le" | "signed-be" | "guid-le" | "guid-be" | "bytes",
  value: Value, meaning: string | null, fields: Form[],
];
export type LayerKind = "frame" | "tcp" | "smb" | "pdu" | "sealed" | "stub" | "buffer";
// What is equal of several layers, sides or facts.
export type LayerOutline = [
  id: string, kind: LayerKind, title: string, steps: string[], undone: string[], parent: string | null, notes: string[], problem: string | null,
];
export type SideOutline = [name: "request" | "response", missing: string | null, kind: string | null, problem: string | null, lacking: string | null];
export type FactOutline = [layer: string, label: string][];
export interface Shared { texts: string[]; outlines: unknown[]; forms: Form[] }
// Outline, form (-1: none), length, place of the bytes in the layer it lies in (-1: in the frames, -2: the next of the side's own), five numbers a
// run, whose frame is a position among those of the side, and a position among the side's meanings (-1: none).
export type RawLayer = [outline: number, form: number, length: number, at: number, runs: number[], words: number];
// What sides have in common: the number of the outline, and the layers.
export type Template = [outline: number, layers: RawLayer[]];
// A template, positions among the frames of the block, places of the bytes that lie in no frame, and outlines with position and text of each meaning.
export type RawSide = [template: number, frames: number[], own: number[], words: number[]];
export type RawCall = [facts: [outline: number, ...texts: (number | string)[]], ...sides: RawSide[]];
// Of a frame: file, number, place of the bytes (-1: not here), length.
// A call without layers is null.
export interface DetailBlock { shared: number; frames: number[]; calls: (RawCall | null)[]; data: Uint8Array }
// Read once: it has the findings, and whoever draws asks for it.
let known: Head | null = null;
export function head(): Head {
  return (known ??= JSON.parse(document.getElementById("head")!.textContent!) as Head);
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

async function inflated(base64: string): Promise<Response> {
  return new Response(new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate-raw")));
}

// The blocks of calls come last in the file: one that is not there yet may still be on its way.
function parsed(): Promise<void> {
  if (document.readyState !== "loading") return Promise.resolve();
  return new Promise((done) => document.addEventListener("DOMContentLoaded", () => done(), { once: true }));
}

async function content(name: string): Promise<Response | null> {
  let found = document.getElementById(name);
  if (found === null) {
    await parsed();
    found = document.getElementById(name);
  }
  return found === null ? null : inflated(found.textContent!);
}

// A block by its name, null where the page has none of that name.
export async function block<T>(name: string): Promise<T | null> {
  const found = await content(name);
  return found === null ? null : ((await found.json()) as T);
}

// The findings, each whole.
export async function auditOf(): Promise<Audit> {
  const { findings, alike, ...rest } = (await block<AuditBlock>("audit"))!;
  return { ...rest, findings: findings.map(([number, call, frames]) => ({ ...alike[number]!, call, frames })) };
}

// A block that has bytes behind its JSON: the length of the JSON, the JSON, the bytes.
export async function bytesBlock<T>(name: string): Promise<{ head: T; data: Uint8Array } | null> {
  const found = await content(name);
  if (found === null) return null;
  const bytes = await found.arrayBuffer();
  const length = new DataView(bytes).getUint32(0, true);
  return { head: JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length))) as T, data: new Uint8Array(bytes, 4 + length) };
}

// A block of calls taken apart.
export async function detailBlock(name: string): Promise<DetailBlock | null> {
  const found = await bytesBlock<DetailBlock>(name);
  return found === null ? null : { ...found.head, data: found.data };
}

const MOST = 8;
const recent = new Map<string, Promise<unknown>>();

// The same, of which the last few are remembered.
export function remembered<T>(name: string, read: (name: string) => Promise<T | null> = block<T>): Promise<T | null> {
  const known = recent.get(name);
  if (known !== undefined) {
    recent.delete(name);
    recent.set(name, known);
    return known as Promise<T | null>;
  }
  const made = read(name);
  recent.set(name, made);
  if (recent.size > MOST) recent.delete(recent.keys().next().value!);
  return made;
}

// The blocks of data in the page: JSON, deflated and in base64 (docs/report.md). Each is read when it is asked for.

export interface FileView { name: string; size: number | null; sha256: string | null }
export interface HostView { ip: string; roles: string[]; names: [string, string][]; users: string[]; systems: string[] }
export interface IdentityView { user: string | null; client: string; server: string; security: string; calls: number; failed: number; unread: number }
export interface ProblemView { kind: string; layer: string; text: string; count: number; frames: string[]; frames_left_out: number }
export interface IncompleteView { state: string; reason: string | null; count: number }
export interface Overview {
  files: FileView[]; frames: number; bytes: number; first_time_ns: unknown; last_time_ns: unknown; calls: number;
  failed: number; unanswered: number; unread: number; methods: Record<string, number>; sessions: string[]; hosts: HostView[]; identities: IdentityView[]; decrypted: string[];
  undecrypted: string | null; hint: string | null; incomplete: IncompleteView[]; problems: ProblemView[];
}
export interface Head {
  title: string; tool: string; show: string; overview: Overview; base: string; heads: number; details: number; profile: string;
}
export interface Finding {
  rule: string; name: string; severity: "error" | "warning" | "info"; verdict: string; confidence: string; requirements: string[];
  section: string; statement: string; actor: string; message: string; expected: string | null; seen: string | null;
  call: number | null; layer: string | null; start: number; stop: number; field: string | null; frames: string[]; excused: boolean;
}
export interface Audit { findings: Finding[]; coverage: { section: string; verdicts: Record<string, number> }[]; nothing: string | null }
export interface Series {
  number: number; source: string; server: string; client: string; handle: string; group: string; instance: string | null; counter: string;
  path: string; added: string | null; type: string | null; unit: string | null; hidden: boolean; calls: number[]; times_ns: number[];
  values: (number | null | { $int: string })[]; reasons: [number, string][];
}
export type Value = number | string | boolean | null | { $int: string };
// A field of a tree. `reads` says how its value follows from its bytes; empty where the value is here.
export type Form = [
  name: string, spelling: string, type: string, start: number, length: number, reference: string, reads: "" | "le" | "be" | "guid-le" | "guid-be" | "bytes",
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
// Outline, form (-1: none), length, place of the bytes (-1: in the frames), six numbers a run, and meanings as position and text.
export type RawLayer = [outline: number, form: number, length: number, at: number, runs: number[], words: number[]];
export type RawCall = [facts: number[], ...sides: [number, ...RawLayer[]][]];
export interface DetailBlock { shared: number; frames: number[]; calls: RawCall[]; data: Uint8Array }
export function head(): Head {
  return JSON.parse(document.getElementById("head")!.textContent!) as Head;
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

// A block of calls taken apart: the length of its JSON, its JSON, its bytes.
export async function detailBlock(name: string): Promise<DetailBlock | null> {
  const found = await content(name);
  if (found === null) return null;
  const bytes = await found.arrayBuffer();
  const length = new DataView(bytes).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length))) as DetailBlock;
  return { ...head, data: new Uint8Array(bytes, 4 + length) };
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

// The decoded tree of a call, and its bytes: a field lights its bytes and the reverse.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type CallDetail, HEX, type Layer, type SideDetail, type TreeNode, framesOf, nodeAt } from "./calls";
import { type Entry, Menu, copied } from "./menu";
import { shown, valueText } from "./text";
import { Virtual } from "./virtual";

// A range of bytes of a layer, and the field it was chosen by. What was found under the pointer in the bytes is brought to sight in the tree.
// `whole`: the field that these bytes are in, however long it is.
export interface Place { layer: string; start: number; stop: number; node?: TreeNode; inBytes?: boolean; whole?: boolean }

interface Line {
  id: string; depth: number; words: string; value: string; meaning: string; reference: string; place: Place | null; children: (() => Line[]) | null; open: boolean;
  kind: "group" | "layer" | "field" | "fact" | "note" | "problem";
}

const LONG = 200;

function fieldLine(node: TreeNode, layer: Layer, depth: number, path: string): Line {
  const name = node.spelling || node.name;
  const isStruct = node.children.length > 0;
  let value = "";
  if (!isStruct && node.value !== null) {
    value = node.type === "bytes" && node.length > 16 ? `${node.length} bytes` : valueText(node.value);
    if (value.length > LONG) value = `${value.slice(0, LONG)}… (${node.length} bytes)`;
    if (node.type === "text") value = `"${value}"`;
  }
  return {
    id: path, depth, words: name, value, meaning: node.meaning ?? "", reference: node.reference, kind: "field",
    place: { layer: layer.id, start: node.start, stop: node.start + node.length, node },
    children: isStruct ? () => node.children.map((child, at) => fieldLine(child, layer, depth + 1, `${path}.${at}`)) : null,
    open: depth < 4 && node.children.length <= 40,
  };
}

function layerLine(layer: Layer, several: number, depth = 1): Line {
  const steps = layer.steps.length > 0 ? ` · ${layer.steps.join(", ")}` : "";
  const undone = layer.kind === "sealed" ? (layer.undone.length > 0 ? ` · decrypted by ${layer.undone.join(", ")}` : " · not decrypted") : "";
  const frames = framesOf(layer, 0, layer.data.length);
  const where = frames.length > 6 ? `frames ${frames.slice(0, 6).join(", ")} and ${frames.length - 6} more` : `frame${frames.length === 1 ? "" : "s"} ${frames.join(", ")}`;
  const below = (): Line[] => [
    ...(layer.tree?.children ?? []).map((node, at) => fieldLine(node, layer, depth + 1, `${layer.id}.${at}`)),
    ...layer.notes.map((note, at): Line => plain(`${layer.id}.note${at}`, depth + 1, "note", note)),
    ...(layer.problem !== null && layer.kind !== "sealed" ? [plain(`${layer.id}.problem`, depth + 1, "problem", `damaged: ${layer.problem}`)] : []),
  ];
  return {
    id: layer.id, depth, words: layer.title, value: `${layer.data.length} bytes, ${where}`, meaning: `${undone || steps}`.replace(/^ · /, ""), reference: "",
    kind: "layer", place: { layer: layer.id, start: 0, stop: layer.data.length }, children: below().length > 0 ? below : null,
    open: layer.kind === "stub" || layer.kind === "buffer" || (layer.kind === "pdu" && several === 0),
  };
}

function plain(id: string, depth: number, kind: Line["kind"], words: string, value = ""): Line {
  return { id, depth, words, value, meaning: "", reference: "", place: null, children: null, open: false, kind };
}

// The layers of a side; many frames or fragments stand under one line.
function layerLines(side: SideDetail): Line[] {
  const readable = side.layers.filter((layer) => ["sealed", "stub", "buffer"].includes(layer.kind) && (layer.tree !== null || layer.kind === "sealed")).length;
  return KINDS.flatMap((kind) => {
    const some = side.layers.filter((layer) => layer.kind === kind);
    if (some.length <= 3) return some.map((layer) => layerLine(layer, readable));
    const size = some.reduce((sum, layer) => sum + layer.data.length, 0);
    return [{
      id: `${side.name}.${kind}s`, depth: 1, words: `${some.length} ${LAYERS_WORDS[kind]}`, value: `${size} bytes`, meaning: "", reference: "", kind: "group" as const, place: null,
      open: false, children: () => some.map((layer) => layerLine(layer, readable, 2)),
    }];
  });
}

function linesOf(detail: CallDetail): Line[] {
  const groups = new Map<string, [string, string][]>();
  for (const [layer, label, text] of detail.facts) groups.set(layer, [...(groups.get(layer) ?? []), [label, text]]);
  const facts = [...groups].map(([name, items]): Line => ({
    id: `fact.${name}`, depth: 0, words: name === "frames" ? "Frames" : name, kind: "group", open: false, place: null, meaning: "", reference: "",
    value: items.slice(0, 4).map(([label, text]) => (name === "frames" || name === "SMB" ? `${label} ${text}` : text)).join(" · "),
    children: () => items.map(([label, text], at) => plain(`fact.${name}.${at}`, 1, "fact", label, text)),
  }));
  const sides = detail.sides.map((side): Line => {
    const notes = [
      ...(side.problem !== null ? [plain(`${side.name}.problem`, 1, "problem", `the stub does not decode: ${side.problem}`)] : []),
      ...(side.missing !== null ? [plain(`${side.name}.missing`, 1, "problem", `stub: ${side.missing}`)] : []),
    ];
    return {
      id: side.name, depth: 0, words: side.name === "request" ? "Request" : "Response", kind: "group", value: "", meaning: "", reference: "", place: null, open: true,
      children: () => [...layerLines(side), ...notes],
    };
  });
  const lacking = [...new Set(detail.sides.flatMap((side) => side.lacking ?? []))];
  const without = lacking.map((why, at) => plain(`lacking.${at}`, 0, "note", `frames, TCP payload and SMB messages are not shown: ${why}`));
  return [...facts, ...without, ...sides];
}

// What may be taken of a range of bytes.
function bytesEntries(layer: Layer, start: number, stop: number): Entry[] {
  const some = layer.data.subarray(start, stop);
  return [
    { words: `Copy as hex (${some.length} bytes)`, act: () => copied(Array.from(some, (byte) => HEX[byte]).join(" ")) },
    { words: "Copy as text", act: () => copied(Array.from(some, (byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·")).join("")) },
  ];
}

interface TreeProps {
  // The command line that shows the call.
  command: string;
  detail: CallDetail; place: Place | null; hover: Place | null; onPlace: (place: Place) => void; onHover: (place: Place | null) => void;
}

export const TREE_HEIGHT = 22;

export function Tree({ detail, command, place, hover, onPlace, onHover }: TreeProps) {
  const [menu, setMenu] = useState<{ x: number; y: number; entries: Entry[] } | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const [toggled, setToggled] = useState(new Map<string, boolean>());
  const [current, setCurrent] = useState<string | null>(null);
  const top = useMemo(() => linesOf(detail), [detail]);
  const isOpen = (line: Line) => toggled.get(line.id) ?? line.open;

  const lines = useMemo(() => {
    const flat: Line[] = [];
    const visit = (some: Line[]) => {
      for (const line of some) {
        flat.push(line);
        if (line.children !== null && isOpen(line)) visit(line.children());
      }
    };
    visit(top);
    return flat;
  }, [top, toggled]);

  // What was chosen elsewhere (in the bytes, by a finding) is opened and shown here.
  useEffect(() => {
    if (place === null) return;
    const way = wayTo(top, place);
    if (way.length === 0) return;
    setCurrent(way.at(-1)!.id);
    const shut = way.slice(0, -1).filter((line) => !isOpen(line));
    if (shut.length > 0) setToggled((before) => new Map([...before, ...shut.map((line) => [line.id, true] as const)]));
  }, [place, top]);

  // What lies under the pointer in the bytes is brought to sight, if its structure is open.
  const over = hover?.inBytes && hover.node !== undefined ? lines.findIndex((line) => line.kind === "field" && line.place?.node === hover.node) : -1;

  const toggle = (line: Line, open = !isOpen(line)) => setToggled((before) => new Map(before).set(line.id, open));
  const at = lines.findIndex((line) => line.id === current);
  const choose = (line: Line | undefined) => {
    if (line === undefined) return;
    setCurrent(line.id);
    if (line.place !== null) onPlace(line.place);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const line = lines[at];
    if (event.key === "ArrowDown" || event.key === "j") choose(lines[Math.min(lines.length - 1, at + 1)]);
    else if (event.key === "ArrowUp" || event.key === "k") choose(lines[Math.max(0, at - 1)]);
    else if (event.key === "Home") choose(lines[0]);
    else if (event.key === "End") choose(lines.at(-1));
    else if (event.key === "ArrowRight" && line?.children) (isOpen(line) ? choose(lines[at + 1]) : toggle(line, true));
    else if (event.key === "ArrowLeft" && line !== undefined) {
      if (line.children !== null && isOpen(line)) toggle(line, false);
      else choose(lines.slice(0, at).reverse().find((one) => one.depth < line.depth));
    } else if ((event.key === "Enter" || event.key === " ") && line?.children) toggle(line);
    else return;
    event.preventDefault();
  };

  const entriesOf = (line: Line): Entry[] => {
    const layer = line.place === null ? undefined : detail.layers.get(line.place.layer);
    return [
      ...(line.value === "" ? [] : [{ words: "Copy the value", act: () => copied(line.value) }]),
      { words: "Copy the line", act: () => copied([line.words, line.value, line.meaning].filter(Boolean).join(" ")) },
      ...(layer === undefined ? [] : bytesEntries(layer, line.place!.start, line.place!.stop)),
      { words: "Copy as command", act: () => copied(command) },
    ];
  };

  const row = (number: number) => {
    const line = lines[number]!;
    const is = line.id === current;
    const lit = hover !== null && line.place !== null && line.kind === "field" && hover.node === line.place.node;
    return (
      <div
        key={line.id}
        id={`tree-${line.id}`}
        class={`line k-${line.kind}${is ? " selected" : ""}${lit ? " lit" : ""}`}
        role="treeitem"
        aria-level={line.depth + 1}
        aria-selected={is}
        aria-expanded={line.children === null ? undefined : isOpen(line)}
        style={{ paddingLeft: `${8 + 14 * line.depth}px` }}
        onClick={() => choose(line)}
        onDblClick={() => line.children !== null && toggle(line)}
        onContextMenu={(event) => { event.preventDefault(); choose(line); setMenu({ x: event.clientX, y: event.clientY, entries: entriesOf(line) }); }}
        onMouseEnter={() => onHover(line.place)}
        onMouseLeave={() => onHover(null)}
      >
        <span class="twist" aria-hidden="true" onClick={(event) => { event.stopPropagation(); if (line.children !== null) toggle(line); }}>
          {line.children === null ? "" : isOpen(line) ? "▾" : "▸"}
        </span>
        <span class="name">{shown(line.words)}</span>
        {line.value !== "" && <span class="value">{shown(line.value)}</span>}
        {line.meaning !== "" && <span class="meaning">{shown(line.meaning)}</span>}
        {line.reference !== "" && <span class="reference" title={line.reference} aria-label={line.reference}>§</span>}
      </div>
    );
  };

  return (
    <>
      <Virtual
        count={lines.length}
        height={TREE_HEIGHT}
        current={over >= 0 ? over : at < 0 ? null : at}
        row={row}
        box={box}
        attributes={{ id: "tree", role: "tree", tabIndex: 0, "aria-label": "Decoded fields", "aria-activedescendant": at < 0 ? undefined : `tree-${current}`, onKeyDown }}
      />
      {menu !== null && <Menu {...menu} onEnd={() => { setMenu(null); box.current?.focus(); }} />}
    </>
  );
}

// The lines that lead to a place: side, layer, structures, the field itself.
function wayTo(lines: Line[], place: Place): Line[] {
  for (const line of lines) {
    if (line.kind === "field" && line.place !== null && place.node !== undefined && line.place.node === place.node) return [line];
    if (line.kind === "layer" && line.place!.layer === place.layer && place.node === undefined) return [line];
    if (line.children === null || line.id.startsWith("fact.")) continue;
    if (line.kind === "layer" && line.place!.layer !== place.layer) continue;
    if (line.kind === "field" && !covers(line.place!, place)) continue;
    const below = wayTo(line.children(), place);
    if (below.length > 0) return [line, ...below];
  }
  return [];
}

function covers(outer: Place, inner: Place): boolean {
  return outer.start <= inner.start && inner.stop <= outer.stop;
}

// ---------------------------------------------------------------------------------------------------------------- bytes

interface BytesProps {
  detail: CallDetail; place: Place | null; hover: Place | null; layer: string; onLayer: (id: string) => void;
  onPlace: (place: Place) => void; onHover: (place: Place | null) => void; width: number;
}

const KINDS = ["frame", "tcp", "smb", "pdu", "sealed", "stub", "buffer"] as const;
const LAYERS_WORDS: Record<Layer["kind"], string> = {
  frame: "frames", tcp: "TCP payloads", smb: "SMB messages", pdu: "PDUs", sealed: "sealed stubs", stub: "stubs", buffer: "buffers",
};
const LAYER_WORDS: Record<Layer["kind"], string> = { frame: "Frame", tcp: "TCP", smb: "SMB", pdu: "PDU", sealed: "Sealed", stub: "Stub", buffer: "lpData" };

export function Bytes({ detail, place, hover, layer: id, onLayer, onPlace, onHover, width }: BytesProps) {
  const layer = detail.layers.get(id) ?? null;
  const tabs = detail.sides.flatMap((side) =>
    KINDS.flatMap((kind) => {
      const some = side.layers.filter((one) => one.kind === kind);
      return some.length === 0 ? [] : [{ side: side.name, kind, some }];
    }),
  );
  const onTabKey = (event: KeyboardEvent) => {
    const at = tabs.findIndex((tab) => tab.some.some((one) => one.id === id));
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = tabs[at + step];
    if (step === 0 || next === undefined) return;
    event.preventDefault();
    onLayer(next.some[0]!.id);
    (event.currentTarget as HTMLElement).querySelector<HTMLElement>(`[data-tab="${next.side}.${next.kind}"]`)?.focus();
  };
  const group = tabs.find((tab) => tab.some.some((one) => one.id === id));
  const strip = useRef<HTMLDivElement>(null);
  useEffect(() => strip.current?.querySelector(".on")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [id, detail]);
  return (
    <div class="bytes-pane">
      <div class="tabs" role="tablist" aria-label="Layers" onKeyDown={onTabKey} ref={strip}>
        {detail.sides.map((side) => (
          <div class="tab-row" role="presentation">
            <small aria-hidden="true">{side.name}</small>
            {tabs.filter((tab) => tab.side === side.name).map((tab) => {
              const is = tab === group;
              return (
                <button
                  type="button" role="tab" class={`tab${is ? " on" : ""}`} aria-selected={is} aria-label={`${tab.side} ${LAYER_WORDS[tab.kind]}`}
                  aria-controls="bytes" tabIndex={is ? 0 : -1} data-tab={`${tab.side}.${tab.kind}`} onClick={() => onLayer(tab.some[0]!.id)}
                >
                  {LAYER_WORDS[tab.kind]}{tab.some.length > 1 ? ` ×${tab.some.length}` : ""}
                </button>
              );
            })}
          </div>
        ))}
      </div>
      {group !== undefined && group.some.length > 1 && (
        <label class="several">
          Fragment{" "}
          <select value={id} onChange={(event) => onLayer((event.target as HTMLSelectElement).value)}>
            {group.some.map((one) => <option value={one.id}>{one.title}, {one.data.length} bytes</option>)}
          </select>
        </label>
      )}
      {layer === null ? <p class="empty">Nothing of this call was captured.</p> : (
        <Dump layer={layer} place={place} hover={hover} onPlace={onPlace} onHover={onHover} width={width} />
      )}
      {layer !== null && <Where layer={layer} place={[hover, place].find((one) => one !== null && one.layer === layer.id) ?? null} />}
    </div>
  );
}

// Where the chosen bytes were captured.
function Where({ layer, place }: { layer: Layer; place: Place | null }) {
  const [start, stop] = place === null ? [0, layer.data.length] : [place.start, place.stop];
  const frames = framesOf(layer, start, stop);
  const many = frames.length > 8 ? `${frames.slice(0, 8).join(", ")} and ${frames.length - 8} more` : frames.join(", ");
  const field = place?.node === undefined ? "" : `${place.node.spelling || place.node.name}: `;
  return (
    <p class="where" role="status">
      {shown(field)}bytes {start} to {stop} of {layer.data.length}, frame{frames.length === 1 ? "" : "s"} {many || "none"}
      {layer.steps.length > 0 ? `, ${layer.steps.join(", ")}` : ""}
    </p>
  );
}

function Dump({ layer, place, hover, onPlace, onHover, width }: Omit<BytesProps, "detail" | "onLayer" | "layer"> & { layer: Layer }) {
  const { data } = layer;
  const [menu, setMenu] = useState<{ x: number; y: number; entries: Entry[] } | null>(null);
  const chosen = place !== null && place.layer === layer.id ? place : null;
  const lit = hover !== null && hover.layer === layer.id ? hover : null;
  const positionOf = (event: Event): number | null => {
    const found = (event.target as HTMLElement).dataset?.at;
    return found === undefined ? null : Number(found);
  };
  const placeAt = (position: number): Place => {
    const node = layer.tree === null ? null : nodeAt(layer.tree, position);
    return node === null || node === layer.tree
      ? { layer: layer.id, start: position, stop: position + 1 }
      : { layer: layer.id, start: node.start, stop: node.start + node.length, node };
  };
  const onMouseOver = (event: MouseEvent) => {
    const at = positionOf(event);
    onHover(at === null ? null : { ...placeAt(at), inBytes: true });
  };
  const onClick = (event: MouseEvent) => {
    const at = positionOf(event);
    if (at !== null) onPlace(placeAt(at));
  };
  const onContextMenu = (event: MouseEvent) => {
    event.preventDefault();
    const at = positionOf(event);
    const { start, stop } = at === null ? { start: 0, stop: data.length } : chosen !== null && at >= chosen.start && at < chosen.stop ? chosen : placeAt(at);
    setMenu({ x: event.clientX, y: event.clientY, entries: bytesEntries(layer, start, stop) });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: width, ArrowUp: -width };
    const step = steps[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey || data.length === 0) return;
    event.preventDefault();
    const here = chosen === null ? 0 : step > 0 ? chosen.stop - 1 + step : chosen.start + step;
    onPlace(placeAt(Math.min(data.length - 1, Math.max(0, here))));
  };
  const marks = (at: number) => {
    const is = chosen !== null && at >= chosen.start && at < chosen.stop;
    const over = lit !== null && at >= lit.start && at < lit.stop;
    return is || over ? `${is ? "chosen" : ""}${over ? " lit" : ""}` : undefined;
  };
  const row = (number: number) => {
    const start = number * width;
    const stop = Math.min(start + width, data.length);
    const hex = [];
    const text = [];
    for (let at = start; at < stop; at++) {
      const byte = data[at]!;
      const mark = marks(at);
      const gap = at - start === width / 2 ? " gap" : "";
      hex.push(<b data-at={at} class={`${mark ?? ""}${gap}` || undefined}>{HEX[byte]}</b>);
      text.push(<i data-at={at} class={mark}>{byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·"}</i>);
    }
    return (
      <div class="dump" key={number}>
        <span class="offset">{start.toString(16).padStart(6, "0")}</span>
        <span class="hex">{hex}</span>
        <span class="ascii">{text}</span>
      </div>
    );
  };
  const current = chosen === null ? null : Math.floor(chosen.start / width);
  return (
    <>
      <Virtual
        count={Math.ceil(data.length / width)}
        height={20}
        current={current}
        row={row}
        attributes={{
          id: "bytes", role: "tabpanel", tabIndex: 0, style: { "--bytes": width }, "aria-label": `Bytes of ${layer.title}`, onMouseOver, onMouseLeave: () => onHover(null), onClick, onContextMenu, onKeyDown,
        }}
      />
      {menu !== null && <Menu {...menu} onEnd={() => setMenu(null)} />}
    </>
  );
}

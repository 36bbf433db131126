// The call list: sortable, of any length, with the keyboard. Columns are as wide as what is in them, and may be resized and hidden.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Rows, type TextColumn, endpoint } from "./calls";
import { type Entry, Menu, copied } from "./menu";
import { count, milliseconds, seconds, shown } from "./text";
import { Virtual } from "./virtual";

export const ROW_HEIGHT = 24;

export interface Sort { column: string; down: boolean }

interface Column {
  id: string; title: string; class: string; cell: (rows: Rows, at: number) => string; order: (rows: Rows, at: number) => number | string;
  // The least room there must be for the column to be shown, in pixels; those that give way share what the others leave.
  from: number; gives?: number;
}

const text = (column: TextColumn) => (rows: Rows, at: number) => rows.text(column, at) ?? "";

const COLUMNS: Column[] = [
  { id: "number", title: "#", class: "c-number", from: 0, cell: (_, at) => String(at + 1), order: (_, at) => at },
  { id: "time", title: "Time, s", class: "c-time", from: 0, cell: (rows, at) => seconds(rows.columns.time[at]!), order: (rows, at) => rows.columns.time[at]! },
  { id: "client", title: "Client", class: "c-end", from: 1100, cell: (rows, at) => rows.end("client", at), order: (rows, at) => rows.end("client", at) },
  { id: "server", title: "Server", class: "c-end", from: 1100, cell: server, order: server },
  { id: "handle", title: "Handle", class: "c-handle", from: 700, cell: text("handle"), order: text("handle") },
  { id: "method", title: "Method", class: "c-method", from: 0, cell: text("method"), order: text("method") },
  { id: "asked", title: "Asked", class: "c-asked", from: 700, gives: 2, cell: text("asked"), order: text("asked") },
  { id: "outcome", title: "Outcome", class: "c-outcome", from: 0, gives: 2, cell: outcome, order: text("status") },
  { id: "latency", title: "Latency, ms", class: "c-latency", from: 900, cell: latency, order: (rows, at) => rows.columns.latency[at] ?? -1 },
  { id: "frames", title: "Frames", class: "c-frames", from: 1100, cell: (rows, at) => rows.columns.frames[at]!, order: (rows, at) => parseInt(rows.columns.frames[at]!) || 0 },
];
// A column is made as wide as what is in these rows, spread evenly over the list.
const MEASURED = 400;
const [LEAST, MOST, PADDING] = [40, 330, 18];

// A server is its machine; the port is said where there is no name.
function server(rows: Rows, at: number): string {
  const [ip] = endpoint(rows.text("server", at)!);
  return rows.names.has(ip) ? rows.machine(ip) : rows.text("server", at)!;
}

// That a call succeeded goes without saying where there is more to say.
function outcome(rows: Rows, at: number): string {
  const [status, answered] = [rows.text("status", at)!, rows.text("answered", at)!];
  if (rows.text("outcome", at) === "ok") return answered || "ok";
  const reason = rows.text("state", at) === "complete" ? null : rows.text("reason", at);
  return [status, answered, reason].filter(Boolean).join(", ");
}

// What was asked about which object. Neighbours are often about one object: where the room is small, its name is cut, not the rest.
function Asked({ words }: { words: string }) {
  const [, object, rest] = /^([^:]+)(: .+)$/.exec(words) ?? [null, "", words];
  return <span class="asked"><span>{object}</span><span>{rest}</span></span>;
}

function latency(rows: Rows, at: number): string {
  const ns = rows.columns.latency[at];
  return ns === null || ns === undefined ? "" : milliseconds(ns);
}

export function sorted(rows: Rows, passing: Int32Array | null, sort: Sort): Int32Array {
  const order = passing === null ? Int32Array.from({ length: rows.count }, (_, at) => at) : Int32Array.from(passing);
  if (sort.column !== "number") {
    const { order: key } = COLUMNS.find((column) => column.id === sort.column)!;
    const keys = new Map<number, number | string>();
    for (const at of order) keys.set(at, key(rows, at));
    order.sort((one, other) => {
      const [left, right] = [keys.get(one)!, keys.get(other)!];
      return left < right ? -1 : left > right ? 1 : one - other;
    });
  }
  return sort.down ? order.reverse() : order;
}

// How wide each column is to be, for what is in it.
function measured(rows: Rows): Map<string, number> {
  const drawing = document.createElement("canvas").getContext("2d")!;
  drawing.font = getComputedStyle(document.body).font;
  const step = Math.max(1, Math.floor(rows.count / MEASURED));
  return new Map(COLUMNS.map((column) => {
    let widest = drawing.measureText(`${column.title} ▾`).width;
    for (let at = 0; at < rows.count; at += step) widest = Math.max(widest, drawing.measureText(column.cell(rows, at)).width);
    const more = column.id === "method" || column.id === "number" ? 18 : 0;
    return [column.id, Math.min(column.gives ? 2 * MOST : MOST, Math.max(LEAST, Math.ceil(widest * 1.04) + PADDING + more))];
  }));
}

interface Props {
  rows: Rows; order: Int32Array; selected: number | null; marked: ReadonlySet<number>; sort: Sort;
  // The command line that shows a call, to which its number is added.
  show: string;
  onSelect: (number: number) => void; onSort: (sort: Sort) => void; onOpen: () => void; onFilter: (text: string) => void;
}

// Chosen by hand, for as long as the page is open.
const widths = new Map<string, number>();
const hidden = new Set<string>();

export function CallList({ rows, order, selected, marked, sort, show, onSelect, onSort, onOpen, onFilter }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(1280);
  const [, redraw] = useState(0);
  const [menu, setMenu] = useState<{ x: number; y: number; entries: Entry[] } | null>(null);
  const natural = useMemo(() => measured(rows), [rows]);
  const places = useMemo(() => {
    const found = new Int32Array(rows.count).fill(-1);
    order.forEach((at, place) => (found[at] = place));
    return found;
  }, [rows, order]);
  const current = selected === null ? null : places[selected - 1]!;
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setRoom(box.current!.clientWidth));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);

  const columns = COLUMNS.filter((column) => room >= column.from && !hidden.has(column.id));
  const template = columns.map(({ id, gives }) => {
    const width = widths.get(id);
    if (width !== undefined) return `${width}px`;
    if (gives !== undefined) return `minmax(90px, ${natural.get(id)! * gives}fr)`;
    return `${id === "method" ? Math.min(natural.get(id)!, Math.max(110, Math.floor(room / 4))) : natural.get(id)}px`;
  }).join(" ");

  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor((box.current!.clientHeight - ROW_HEIGHT) / ROW_HEIGHT) - 1);
    const steps: Record<string, number> = {
      ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -order.length, End: order.length,
    };
    const step = steps[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") onOpen();
    else if (event.key === "ContextMenu" && selected !== null) {
      const { left, top } = (document.getElementById(`call-${selected}`) ?? box.current!).getBoundingClientRect();
      setMenu({ x: left + 40, y: top + ROW_HEIGHT, entries: entriesOf(selected - 1) });
    } else if (step !== undefined && order.length > 0) {
      const from = current === null || current < 0 ? (step > 0 ? -1 : order.length) : current;
      onSelect(order[Math.min(order.length - 1, Math.max(0, from + step))]! + 1);
    } else return;
    event.preventDefault();
  };

  // What may be done with a call: filters made of it, and what may be taken elsewhere.
  const entriesOf = (at: number): Entry[] => {
    const [handle, ip] = [rows.text("handle", at), endpoint(rows.text("client", at)!)[0]];
    const filters = [
      `method == ${rows.text("full", at)}`, `client.ip == ${ip}`, ...(handle === null ? [] : [`handle == ${handle}`]),
      ...(rows.columns.code[at] === null ? [] : [`status == ${rows.columns.code[at]}`]),
    ];
    return [
      ...filters.map((filter) => ({ words: `Filter: ${filter}`, act: () => onFilter(filter) })),
      { words: "Copy as filter", act: () => copied(`number == ${at + 1}`) },
      { words: "Copy as command", act: () => copied(`${show} ${at + 1}`) },
      { words: "Copy the line", act: () => copied(columns.map((column) => shown(column.cell(rows, at))).join("\t")) },
    ];
  };
  const columnEntries = (): Entry[] => [
    ...COLUMNS.slice(1).map((column) => ({
      words: column.title, is: !hidden.has(column.id),
      act: () => {
        if (!hidden.delete(column.id)) hidden.add(column.id);
        redraw((before) => before + 1);
      },
    })),
    { words: "As wide as what is in them", act: () => { widths.clear(); hidden.clear(); redraw((before) => before + 1); } },
  ];

  const resized = (event: PointerEvent, id: string) => {
    const handle = event.currentTarget as HTMLElement;
    const begin = { x: event.clientX, width: handle.parentElement!.getBoundingClientRect().width };
    handle.setPointerCapture(event.pointerId);
    handle.onpointermove = (move) => {
      widths.set(id, Math.max(LEAST, begin.width + move.clientX - begin.x));
      redraw((before) => before + 1);
    };
    handle.onpointerup = () => (handle.onpointermove = null);
    event.preventDefault();
  };

  const header = (
    <div
      class="row header" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template }}
      onContextMenu={(event) => { event.preventDefault(); setMenu({ x: event.clientX, y: event.clientY, entries: columnEntries() }); }}
    >
      {columns.map((column) => {
        const is = sort.column === column.id;
        return (
          <div class={column.class} role="columnheader" aria-sort={is ? (sort.down ? "descending" : "ascending") : "none"}>
            <button type="button" tabIndex={-1} onClick={() => onSort({ column: column.id, down: is && !sort.down })}>
              {column.title}
              <span aria-hidden="true">{is ? (sort.down ? " ▾" : " ▴") : ""}</span>
            </button>
            <span
              class="grip" aria-hidden="true" title="Drag to resize; twice: as wide as what is in it" onPointerDown={(event) => resized(event, column.id)}
              onDblClick={() => { widths.delete(column.id); redraw((before) => before + 1); }}
            />
          </div>
        );
      })}
    </div>
  );

  const row = (place: number) => {
    const at = order[place]!;
    const is = selected === at + 1;
    return (
      <div
        key={at}
        id={`call-${at + 1}`}
        class={`row o-${rows.text("outcome", at)}${is ? " selected" : ""}`}
        role="row"
        aria-rowindex={place + 2}
        aria-selected={is}
        style={{ gridTemplateColumns: template }}
        onClick={() => onSelect(at + 1)}
        onDblClick={onOpen}
        onContextMenu={(event) => { event.preventDefault(); onSelect(at + 1); setMenu({ x: event.clientX, y: event.clientY, entries: entriesOf(at) }); }}
      >
        {columns.map((column) => {
          const words = shown(column.cell(rows, at));
          const whole = column.class === "c-end" ? shown(rows.text(column.id as "client" | "server", at)!) : words;
          return (
            <div class={column.class} role="gridcell" title={whole.length > 12 ? whole : undefined}>
              {column.id === "method" && <i class={`swatch m${rows.meaningOf[at]}`} />}
              {column.id === "asked" ? <Asked words={words} /> : words}
              {column.id === "number" && marked.has(at + 1) && <span class="flag" title="a finding is about it">⚑</span>}
            </div>
          );
        })}
      </div>
    );
  };

  return (
    <>
      <Virtual
        count={order.length}
        height={ROW_HEIGHT}
        current={current}
        row={row}
        header={header}
        box={box}
        attributes={{
          id: "list", role: "grid", tabIndex: 0, "aria-label": `Calls, ${count(order.length)} of ${count(rows.count)}`,
          "aria-rowcount": order.length + 1, "aria-colcount": columns.length,
          "aria-activedescendant": current !== null && current >= 0 ? `call-${selected}` : undefined, onKeyDown,
        }}
      />
      {menu !== null && <Menu {...menu} onEnd={() => { setMenu(null); box.current?.focus(); }} />}
    </>
  );
}

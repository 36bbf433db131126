// The call list: sortable, of any length, with the keyboard.

import { useMemo, useRef } from "preact/hooks";
import type { Rows, TextColumn } from "./calls";
import { count, seconds, shown, span } from "./text";
import { Virtual } from "./virtual";

export const ROW_HEIGHT = 24;

export interface Sort { column: string; down: boolean }

interface Column { id: string; title: string; class: string; cell: (rows: Rows, at: number) => string; order: (rows: Rows, at: number) => number | string }

const text = (column: TextColumn) => (rows: Rows, at: number) => rows.text(column, at) ?? "";

const COLUMNS: Column[] = [
  { id: "number", title: "#", class: "c-number", cell: (_, at) => String(at + 1), order: (_, at) => at },
  { id: "time", title: "Time, s", class: "c-time", cell: (rows, at) => seconds(rows.columns.time[at]!), order: (rows, at) => rows.columns.time[at]! },
  { id: "client", title: "Client", class: "c-end", cell: text("client"), order: text("client") },
  { id: "server", title: "Server", class: "c-end", cell: text("server"), order: text("server") },
  { id: "handle", title: "Handle", class: "c-handle", cell: text("handle"), order: text("handle") },
  { id: "method", title: "Method", class: "c-method", cell: text("method"), order: text("method") },
  { id: "asked", title: "Asked", class: "c-asked", cell: text("asked"), order: text("asked") },
  { id: "outcome", title: "Outcome", class: "c-outcome", cell: outcome, order: text("status") },
  { id: "latency", title: "Latency", class: "c-latency", cell: latency, order: (rows, at) => rows.columns.latency[at] ?? -1 },
  { id: "frames", title: "Frames", class: "c-frames", cell: (rows, at) => rows.columns.frames[at]!, order: (rows, at) => parseInt(rows.columns.frames[at]!) || 0 },
];

// That a call succeeded goes without saying where there is more to say.
function outcome(rows: Rows, at: number): string {
  const [status, answered] = [rows.text("status", at)!, rows.text("answered", at)!];
  if (rows.text("outcome", at) === "ok") return answered || "ok";
  const reason = rows.text("state", at) === "complete" ? null : rows.text("reason", at);
  return [status, answered, reason].filter(Boolean).join(", ");
}

function latency(rows: Rows, at: number): string {
  const ns = rows.columns.latency[at];
  return ns === null || ns === undefined ? "" : span(ns);
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

interface Props {
  rows: Rows; order: Int32Array; selected: number | null; marked: ReadonlySet<number>; sort: Sort;
  onSelect: (number: number) => void; onSort: (sort: Sort) => void; onOpen: () => void;
}

export function CallList({ rows, order, selected, marked, sort, onSelect, onSort, onOpen }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const places = useMemo(() => {
    const found = new Int32Array(rows.count).fill(-1);
    order.forEach((at, place) => (found[at] = place));
    return found;
  }, [rows, order]);
  const current = selected === null ? null : places[selected - 1]!;

  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor((box.current!.clientHeight - ROW_HEIGHT) / ROW_HEIGHT) - 1);
    const steps: Record<string, number> = {
      ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -order.length, End: order.length,
    };
    const step = steps[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") onOpen();
    else if (step !== undefined && order.length > 0) {
      const from = current === null || current < 0 ? (step > 0 ? -1 : order.length) : current;
      onSelect(order[Math.min(order.length - 1, Math.max(0, from + step))]! + 1);
    } else return;
    event.preventDefault();
  };

  const header = (
    <div class="row header" role="row" aria-rowindex={1}>
      {COLUMNS.map((column) => {
        const is = sort.column === column.id;
        return (
          <div class={column.class} role="columnheader" aria-sort={is ? (sort.down ? "descending" : "ascending") : "none"}>
            <button type="button" tabIndex={-1} onClick={() => onSort({ column: column.id, down: is && !sort.down })}>
              {column.title}
              <span aria-hidden="true">{is ? (sort.down ? " ▾" : " ▴") : ""}</span>
            </button>
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
        onClick={() => onSelect(at + 1)}
        onDblClick={onOpen}
      >
        {COLUMNS.map((column) => {
          const words = shown(column.cell(rows, at));
          return (
            <div class={column.class} role="gridcell" title={words.length > 12 ? words : undefined}>
              {column.id === "method" && <i class={`swatch m${Math.min(rows.methodOf[at]!, 9)}`} />}
              {words}
              {column.id === "number" && marked.has(at + 1) && <span class="flag" title="a finding is about it">⚑</span>}
            </div>
          );
        })}
      </div>
    );
  };

  return (
    <Virtual
      count={order.length}
      height={ROW_HEIGHT}
      current={current}
      row={row}
      header={header}
      box={box}
      attributes={{
        id: "list", role: "grid", tabIndex: 0, "aria-label": `Calls, ${count(order.length)} of ${count(rows.count)}`,
        "aria-rowcount": order.length + 1, "aria-colcount": COLUMNS.length,
        "aria-activedescendant": current !== null && current >= 0 ? `call-${selected}` : undefined, onKeyDown,
      }}
    />
  );
}

// The host: a machine at each moment it was polled, as its own Task Manager had it.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { head } from "./data";
import { type Film, type FilmRow, type Films, type Frame, type Machine, NOT_ASKED, SHOWN, cellText, filmsOf, momentAt } from "./films";
import { useFew } from "./few";
import { LaterLeftOut, SetsLeftOut, useTail } from "./left";
import { count, plural, seconds, shown, utc } from "./text";
import { Virtual } from "./virtual";

// Which machine is looked at, by its address, and when, from the first frame on.
export interface Moment { ip: string | null; time: number | null }

interface Props {
  // Without a time, a capture that grows is shown at its last moment.
  moment: Moment; following: boolean; theme: string; base: bigint; machine: (ip: string) => string; onMoment: (moment: Moment) => void;
  onCell: (call: number, start: number, size: number) => void;
}

const ROW_HEIGHT = 24;
// Of columns of numbers, and of a letter in them, in pixels. A column that needs two polls says so at the first.
const [LEAST_WIDTH, LEAST_OF_TWO, MOST_WIDTH, LETTER] = [84, 104, 190, 7.6];
// Moments a second while it plays, and polls of a sparkline.
const FRAMES_PER_S = 8;
const SPARK = 120;
const MOST_ROWS = 14;
const MOST_SETS = 64;

type Chosen = { film: number; row: number; column: number };

// A state that a page that is loaded again and again has again.
function useKept<T>(key: string, begin: T): [T, (value: T) => void] {
  const isLive = head().live !== null;
  const [value, set] = useState<T>(() => {
    const text = isLive ? sessionStorage.getItem(key) : null;
    return text === null ? begin : (JSON.parse(text) as T);
  });
  return [value, (next) => {
    if (isLive) sessionStorage.setItem(key, JSON.stringify(next));
    set(next);
  }];
}

export function Host({ moment, following, theme, base, machine: nameOf, onMoment, onCell }: Props) {
  const [films, setFilms] = useState<Films | null>(null);
  const [playing, setPlaying] = useState(false);
  const [chosen, setChosen] = useKept<Chosen | null>("host-chosen", null);
  const tail = useTail();
  useEffect(() => void filmsOf().then(setFilms), []);
  const machine = films?.machines.find((one) => one.ip === moment.ip) ?? films?.machines[0];
  const last = (machine?.moments.length ?? 0) - 1;
  const at = machine === undefined ? 0 : momentAt(machine, moment.time ?? (following ? Infinity : machine.moments[0]!));
  const go = (to: number) => {
    if (machine !== undefined) onMoment({ ip: machine.ip, time: machine.moments[Math.min(last, Math.max(0, to))]! });
  };
  useEffect(() => {
    if (!playing) return;
    if (at >= last) return setPlaying(false);
    const timer = window.setTimeout(() => go(at + 1), 1000 / FRAMES_PER_S);
    return () => clearTimeout(timer);
  }, [playing, at]);
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.matches("select, input:not([type=range]), [role=tab]")) return;
      const to = { ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at - 10, PageDown: at + 10, Home: 0, End: last }[event.key];
      if (event.key === " " && !target.matches("button:not(.cell)")) setPlaying(!playing);
      else if (to !== undefined) go(to);
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  });
  if (films === null) return <p class="empty">Reading the polls…</p>;
  if (machine === undefined) return tail?.left_out?.series ? <SetsLeftOut tail={tail} /> : <p class="empty">No machine was polled for counter values that could be read.</p>;
  const time = machine.moments[at]!;
  const groups = grouped(machine);
  const film = machine.films.find((one) => one.number === chosen?.film);
  return (
    <div class="host">
      <div class="film-bar">
        {films.machines.length > 1 ? (
          <select aria-label="Machine" value={machine.ip} onChange={(event) => { setChosen(null); onMoment({ ip: (event.target as HTMLSelectElement).value, time: null }); }}>
            {films.machines.map((one) => <option value={one.ip}>{shown(nameOf(one.ip))}</option>)}
          </select>
        ) : <b class="film-machine">{shown(nameOf(machine.ip))}</b>}
        <div class="film-keys">
          <button type="button" aria-label="Step back" title="Step back (←)" disabled={at === 0} onClick={() => go(at - 1)}>◂</button>
          <button type="button" class="play" aria-label={playing ? "Stop" : "Play"} title="Play or stop (space)" onClick={() => setPlaying(!playing)}>{playing ? "❚❚" : "▶"}</button>
          <button type="button" aria-label="Step on" title="Step on (→)" disabled={at === last} onClick={() => go(at + 1)}>▸</button>
          {following && <button type="button" class="follow" aria-pressed={moment.time === null} title="Show the last moment, and what comes" onClick={() => onMoment({ ip: machine.ip, time: null })}>follow</button>}
        </div>
        <div class="film-slider">
          <Events machine={machine} at={at} theme={theme} />
          <input type="range" min={0} max={last} value={at} aria-label="Moment" aria-valuetext={`${seconds(time)} s`} onInput={(event) => go(Number((event.target as HTMLInputElement).value))} />
        </div>
        <div class="film-time"><b>{utc(base, time)}</b><small>{`${seconds(time)} s, moment ${count(at + 1)} of ${count(last + 1)}`}</small></div>
      </div>
      <LaterLeftOut number={films.leftOut} noun="poll" />
      <SetsLeftOut tail={tail} />
      {film !== undefined && <ChosenRow film={film} chosen={chosen!} time={time} says={films.says} onCell={onCell} onEnd={() => setChosen(null)} onColumn={(column) => setChosen({ ...chosen!, column })} />}
      <div class="panels scroll" tabIndex={0} role="group" aria-label="Tables">
        {groups.map(({ panel, title, sets }) => (
          <Panel key={panel} panel={panel} title={title} sets={sets} drawn={(some) => <CounterSet key={some[0]!.number} films={some} time={time} says={films.says} chosen={chosen} onChosen={setChosen} onCell={onCell} />} />
        ))}
      </div>
    </div>
  );
}

// Thousands of tables would take a browser seconds to draw: a client may poll counters whose sets the capture does not name.
function Panel({ panel, title, sets, drawn }: { panel: string; title: string; sets: Film[][]; drawn: (some: Film[]) => ComponentChildren }) {
  const [some, more] = useFew(sets, MOST_SETS);
  return (
    <section class={`host-panel p-${panel}`} aria-label={title}>
      {some.map(drawn)}
      {more}
    </section>
  );
}

// The films of a machine by panel, and in it by set: one of each client.
function grouped(machine: Machine): { panel: string; title: string; sets: Film[][] }[] {
  const order = ["processes", "cores", "memory", "disks", "network", "system", "others"];
  return order.flatMap((panel) => {
    const some = machine.films.filter((film) => film.raw.panel === panel);
    const sets = new Map<string, Film[]>();
    for (const film of some) sets.set(film.raw.name, [...(sets.get(film.raw.name) ?? []), film]);
    return some.length === 0 ? [] : [{ panel, title: some[0]!.raw.title, sets: [...sets.values()] }];
  });
}

// Starts above the line and ends below it, over all moments, and where we are.
function Events({ machine, at, theme }: { machine: Machine; at: number; theme: string }) {
  const box = useRef<HTMLCanvasElement>(null);
  const changes = useMemo(() => {
    const found: [moment: number, started: boolean][] = [];
    for (const film of machine.films) {
      if (film.raw.panel !== "processes") continue;
      for (const row of film.rows) {
        for (let span = 0; span < row.spans.length; span += 2) {
          const [first, end] = [row.spans[span]!, row.spans[span + 1]! + 1];
          if (film.change(row, first) === "started") found.push([momentAt(machine, film.times[first]!), true]);
          if (end < film.times.length && film.change(row, end) === "ended") found.push([momentAt(machine, film.times[end]!), false]);
        }
      }
    }
    return found;
  }, [machine]);
  useEffect(() => {
    const canvas = box.current!;
    const draw = () => {
      const [width, height] = [canvas.clientWidth, 18];
      const scale = devicePixelRatio;
      canvas.width = width * scale;
      canvas.height = height * scale;
      const context = canvas.getContext("2d")!;
      context.scale(scale, scale);
      const style = getComputedStyle(document.documentElement);
      const of = (name: string) => style.getPropertyValue(name).trim();
      context.fillStyle = of("--line");
      context.fillRect(0, 9, width, 1);
      const x = (moment: number) => 8 + ((width - 16) * moment) / Math.max(1, machine.moments.length - 1);
      const [ok, bad] = [of("--ok"), of("--bad")];
      for (const [moment, started] of changes) {
        context.fillStyle = started ? ok : bad;
        context.fillRect(Math.round(x(moment)) - 1, started ? 2 : 10, 2, 7);
      }
    };
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(canvas);
    return () => observer.disconnect();
  }, [changes, theme]);
  const share = at / Math.max(1, machine.moments.length - 1);
  return (
    <div class="film-events">
      <canvas ref={box} role="img" aria-label={`${plural(changes.length, "start or end", "starts and ends")} of processes`} title="Processes that started (above) and ended (below)" />
      <i style={{ left: `calc(8px + (100% - 16px) * ${share} - 0.5px)` }} />
    </div>
  );
}

// The block of a poll, as soon as it is here.
function useFrame(film: Film, poll: number): Frame | undefined {
  const [, again] = useReducer((before: number) => before + 1, 0);
  useEffect(() => {
    if (poll < 0) return;
    let late = false;
    if (film.here(poll) === undefined) void film.frame(poll).then(() => { if (!late) again(0); });
    film.prefetch(poll);
    return () => void (late = true);
  }, [film, poll]);
  return poll < 0 ? undefined : film.here(poll);
}

interface SetProps {
  films: Film[]; time: number; says: Films["says"]; chosen: Chosen | null; onChosen: (chosen: Chosen | null) => void; onCell: Props["onCell"];
}

// A counterset as one client polled it; which one may be chosen.
function CounterSet({ films, time, says, chosen, onChosen, onCell }: SetProps) {
  const [number, setNumber] = useState(films[0]!.number);
  const [all, setAll] = useKept(`host-all-${films[0]!.number}`, false);
  const film = films.find((one) => one.number === number) ?? films[0]!;
  const poll = film.pollAt(time);
  const frame = useFrame(film, poll);
  const usual = film.raw.usual;
  const others = film.raw.columns.map((_, at) => at).filter((at) => !usual.some(([, column]) => column === at));
  const columns: [title: string, column: number | null][] = [...usual, ...(all || usual.length === 0 ? others.map((at): [string, number] => [film.raw.columns[at]!.names[0]!, at]) : [])];
  const isOne = film.rows.every((row) => row.name === null);
  // What ended is in the poll before alone.
  const names = new Map(frame === undefined ? [] : [...(film.here(poll - 1) === undefined ? [] : film.namesAt(poll - 1, film.here(poll - 1)!)), ...film.namesAt(poll, frame)]);
  const nameOf = (row: FilmRow) => shown(names.get(row.number) ?? row.name ?? "");
  const there = poll < 0 ? [] : film.rows.filter((row) => film.isThere(row, poll) || film.change(row, poll) === "ended");
  const running = there.filter((row) => film.isThere(row, poll)).length;
  const by = (one: Film) => `${one.raw.handles[0]}${one.raw.handles.length > 1 ? ` and ${one.raw.handles.length - 1} more` : ""} of ${one.raw.client}`;
  return (
    <div class="film">
      <h2>
        {shown(film.raw.name)} {poll >= 0 && !isOne && <small class="film-count">{count(running)}</small>}
        <small class="film-by">
          {films.length > 1 ? (
            <select aria-label={`Who polled ${film.raw.name}`} value={String(film.number)} onChange={(event) => setNumber(Number((event.target as HTMLSelectElement).value))}>
              {films.map((one) => <option value={String(one.number)}>{shown(by(one))}</option>)}
            </select>
          ) : shown(by(film))}
          {poll >= 0 && <> <button type="button" class="link" onClick={() => onCell(film.calls[poll]!, -1, 0)}>#{film.calls[poll]}</button>{time !== film.times[poll] ? ` ${seconds(time - film.times[poll]!)} s before` : ""}</>}
        </small>
        {usual.length > 0 && others.length > 0 && <button type="button" class="chip-small" aria-pressed={all} onClick={() => setAll(!all)}>{all ? "usual columns" : `${count(others.length)} more`}</button>}
      </h2>
      {poll < 0 ? <p class="empty">Not polled yet.</p> : frame === undefined ? <p class="empty">Reading…</p> : isOne ? (
        <One film={film} frame={frame} poll={poll} says={says} chosen={chosen} onChosen={onChosen} onCell={onCell} />
      ) : <Many film={film} frame={frame} poll={poll} rows={there} nameOf={nameOf} columns={columns} says={says} chosen={chosen} onChosen={onChosen} onCell={onCell} />}
    </div>
  );
}

interface CellProps {
  film: Film; frame: Frame; poll: number; row: number; column: number | null; says: Films["says"]; onCell: Props["onCell"];
}

// What a cell says: its words, whether these are a value, and more to say of it.
function said(film: Film, frame: Frame, poll: number, row: number, column: number | null, says: Films["says"]): { words: string; is: boolean; more: string } {
  const state = column === null ? NOT_ASKED : frame.state(row, column, poll);
  if (column === null || state === NOT_ASKED) return { words: "not asked", is: false, more: "no poll asked for it" };
  const [has, more] = says[state]!;
  if (!has) return { words: /^(first-sample|instance-changed)/.test(more) ? "needs 2 polls" : more.split(":")[0]!, is: false, more };
  const words = frame.text(row, column, poll) ?? cellText(film.raw.columns[column]!, frame.value(row, column, poll));
  return { words: shown(words), is: true, more };
}

function open({ film, frame, poll, row, column, onCell }: CellProps): void {
  if (column === null || frame.state(row, column, poll) === NOT_ASKED) return;
  onCell(film.calls[poll]!, frame.place(row, column, poll), film.raw.columns[column]!.size);
}

// The counters of a set without instances, a line each.
function One({ film, frame, poll, says, chosen, onChosen, onCell }: Omit<SetProps, "films" | "time"> & { film: Film; frame: Frame; poll: number }) {
  return (
    <dl class="film-one">
      {film.raw.columns.map((column, at) => {
        const { words, is, more } = said(film, frame, poll, 0, at, says);
        const on = chosen?.film === film.number && chosen.column === at;
        return (
          <div class={on ? "selected" : undefined}>
            <dt title={titleOf(film, at)}>{shown(column.names[0]!)}</dt>
            <dd><button type="button" class={`cell${is ? "" : " none"}`} title={more || undefined} onClick={() => onChosen({ film: film.number, row: 0, column: at })} onDblClick={() => open({ film, frame, poll, row: 0, column: at, says, onCell })}>{words}{is && more !== "" ? " *" : ""}</button></dd>
          </div>
        );
      })}
    </dl>
  );
}

function titleOf(film: Film, at: number): string {
  const { names, type, unit, scale, needs_two } = film.raw.columns[at]!;
  return [names[0]!, type, unit && `unit ${unit}`, scale !== 0 && `scale ${10 ** scale} in plots`, needs_two && "from two polls"].filter(Boolean).join(", ");
}

// How many letters the longer line has where words are in two lines, as even as they come.
function inTwoLines(title: string): number {
  const breaks = [...title].flatMap((letter, at) => (letter === " " ? [at] : []));
  return Math.min(title.length, ...breaks.map((at) => Math.max(at, title.length - at - 1)));
}

// The instances of a set, a row each.
function Many({ film, frame, poll, rows, nameOf, columns, says, chosen, onChosen, onCell }: Omit<SetProps, "films" | "time"> & {
  film: Film; frame: Frame; poll: number; rows: FilmRow[]; nameOf: (row: FilmRow) => string; columns: [string, number | null][];
}) {
  const first = film.raw.usual.findIndex(([title]) => title.startsWith("CPU"));
  const [sort, setSort] = useKept<{ at: number; down: boolean }>(`host-sort-${film.number}`, { at: first >= 0 && film.raw.usual[first]![1] !== null ? first : -1, down: first >= 0 });
  const column = sort.at < 0 ? null : columns[sort.at]?.[1] ?? null;
  const order = [...rows];
  if (column !== null) {
    // What has no value comes last, both ways.
    const keys = new Map(order.map((row) => {
      const state = film.isThere(row, poll) ? frame.state(row.number, column, poll) : NOT_ASKED;
      return [row, state === SHOWN || says[state]![0] ? frame.value(row.number, column, poll) : null];
    }));
    order.sort((one, other) => {
      const [left, right] = [keys.get(one)!, keys.get(other)!];
      if (left === null || right === null) return Number(left === null) - Number(right === null) || one.number - other.number;
      return (sort.down ? right - left : left - right) || one.number - other.number;
    });
  } else if (sort.at < 0) order.sort((one, other) => (sort.down ? -1 : 1) * nameOf(one).localeCompare(nameOf(other)) || one.number - other.number);
  // As wide as its title, which may take two lines, and its largest number, of all polls that were read with this one.
  const widths = columns.map(([title, at]) => {
    const letters = at === null ? 0 : cellText(film.raw.columns[at]!, frame.most(at)).length;
    const least = at !== null && film.raw.columns[at]!.needs_two ? LEAST_OF_TWO : LEAST_WIDTH;
    return Math.max(least, Math.min(MOST_WIDTH, 22 + LETTER * Math.max(letters, inTwoLines(title) + 2)));
  });
  const template = `minmax(150px, 2fr) ${widths.map((one) => `minmax(${one}px, 1fr)`).join(" ")}`;
  const width = widths.reduce((sum, one) => sum + one, 150);
  const headerHeight = columns.some(([title]) => inTwoLines(title) < title.length) ? 42 : 26;
  const heading = (title: string, at: number, more?: string, isAsked = true): ComponentChildren => (
    <div class={at < 0 ? undefined : "number"} role="columnheader" aria-sort={sort.at === at ? (sort.down ? "descending" : "ascending") : "none"} title={more}>
      <button type="button" tabIndex={-1} class={isAsked ? undefined : "none"} onClick={() => setSort({ at, down: sort.at === at ? !sort.down : at >= 0 })}>{shown(title)}{sort.at === at ? (sort.down ? " ▾" : " ▴") : ""}</button>
    </div>
  );
  const current = chosen?.film === film.number ? order.findIndex((row) => row.number === chosen.row) : -1;
  return (
    <div class="film-table" style={{ height: `${headerHeight + 24 * Math.min(rows.length, film.raw.panel === "processes" ? 1000 : MOST_ROWS) + 14}px` }}>
      <Virtual
        count={order.length} height={ROW_HEIGHT} headerHeight={headerHeight} current={null}
        attributes={{
          role: "grid", tabIndex: 0, "aria-label": `${film.raw.name}, ${count(order.length)}`, "aria-rowcount": order.length + 1,
          onKeyDown: (event: KeyboardEvent) => {
            const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
            if (by !== undefined && order.length > 0) onChosen({ film: film.number, row: order[Math.min(order.length - 1, Math.max(0, current + by))]!.number, column: chosen?.column ?? 0 });
            else if (event.key === "Enter" && current >= 0) open({ film, frame, poll, row: chosen!.row, column: chosen!.column, says, onCell });
            else return;
            event.preventDefault();
          },
        }}
        header={<div class="row header" role="row" style={{ gridTemplateColumns: template, minWidth: `${width}px`, height: `${headerHeight}px` }}>{heading("Name", -1)}{columns.map(([title, at], place) => heading(title, place, at === null ? "no poll asked for it" : titleOf(film, at), at !== null))}</div>}
        // Rows have no keys: each moment sorts them anew, and to fill a row that is there costs less than to make one.
        row={(place) => {
          const row = order[place]!;
          const change = film.change(row, poll);
          return (
            <div class={`row${current === place ? " selected" : ""}${change === null ? "" : ` ${change}`}`} role="row" aria-rowindex={place + 2} style={{ gridTemplateColumns: template, minWidth: `${width}px` }}>
              <div role="gridcell" title={`${nameOf(row)} ${row.identity}`.trim()} onClick={() => onChosen({ film: film.number, row: row.number, column: columns.find(([, at]) => at !== null)?.[1] ?? 0 })}>
                {nameOf(row)}{change !== null && <span class={`badge film-${change}`}>{change}</span>}
              </div>
              {columns.map(([, at]) => {
                if (change === "ended") return <div role="gridcell" class="number none">–</div>;
                const { words, is, more } = said(film, frame, poll, row.number, at, says);
                return (
                  <div
                    role="gridcell" class={`number${is ? "" : " none"}${current === place && chosen!.column === at ? " chosen-cell" : ""}`} title={more || undefined}
                    onClick={() => onChosen({ film: film.number, row: row.number, column: at ?? 0 })}
                    onDblClick={() => open({ film, frame, poll, row: row.number, column: at, says, onCell })}
                  >{words}{is && more !== "" ? " *" : ""}</div>
                );
              })}
            </div>
          );
        }}
      />
    </div>
  );
}

// The chosen row: each of its counters with its course, and the way to its bytes.
function ChosenRow({ film, chosen, time, says, onCell, onEnd, onColumn }: {
  film: Film; chosen: Chosen; time: number; says: Films["says"]; onCell: Props["onCell"]; onEnd: () => void; onColumn: (column: number) => void;
}) {
  const poll = film.pollAt(time);
  const frame = useFrame(film, poll);
  const early = useFrame(film, Math.max(0, poll - SPARK + 1));
  const row = film.rows[chosen.row]!;
  if (poll < 0 || frame === undefined) return <div class="film-chosen" />;
  const listed = film.raw.usual.length > 0 ? film.raw.usual.flatMap(([, at]) => (at === null ? [] : [at])) : film.raw.columns.map((_, at) => at).slice(0, 8);
  const columns = listed.includes(chosen.column) ? listed : [...listed, chosen.column];
  const values = (column: number): (number | null)[] => {
    const found: (number | null)[] = [];
    for (let at = Math.max(0, poll - SPARK + 1); at <= poll; at++) {
      const held = film.here(at) ?? early;
      const state = held === undefined || at < held.first || at >= held.first + held.polls ? NOT_ASKED : held.state(chosen.row, column, at);
      found.push(state !== NOT_ASKED && says[state]![0] ? held!.value(chosen.row, column, at) / 10 ** film.raw.columns[column]!.decimals : null);
    }
    return found;
  };
  return (
    <div class="film-chosen" role="group" aria-label="Chosen">
      <div class="film-chosen-name"><b>{shown(film.namesAt(poll, frame).get(row.number) ?? row.name ?? film.raw.name)}</b><small>{shown(row.identity)}</small><button type="button" aria-label="Choose none" title="Choose none" onClick={onEnd}>×</button></div>
      {columns.map((column) => {
        const { words, is, more } = said(film, frame, poll, chosen.row, column, says);
        const about = film.raw.columns[column]!;
        const place = frame.place(chosen.row, column, poll);
        const before = about.needs_two && is && poll > 0 ? film.calls[poll - 1] : undefined;
        return (
          <div class={`film-course${column === chosen.column ? " on" : ""}`} onClick={() => onColumn(column)}>
            <span title={titleOf(film, column)}>{shown(about.names[0]!)}</span>
            <Spark values={values(column)} polls={Math.min(SPARK, film.calls.length)} />
            <b class={is ? undefined : "none"} title={more || undefined}>{words}</b>
            <small>
              {frame.state(chosen.row, column, poll) !== NOT_ASKED && <button type="button" class="link" onClick={(event) => { event.stopPropagation(); onCell(film.calls[poll]!, place, about.size); }}>{`#${film.calls[poll]}${place >= 0 ? about.size > 0 ? `, bytes ${place} to ${place + about.size}` : `, from byte ${place}` : ""}`}</button>}
              {before !== undefined && <>{" and "}<button type="button" class="link" onClick={(event) => { event.stopPropagation(); onCell(before, -1, 0); }}>#{before}</button></>}
            </small>
          </div>
        );
      })}
    </div>
  );
}

// The last values, of so many polls as there may be.
function Spark({ values, polls }: { values: (number | null)[]; polls: number }) {
  const known = values.filter((value): value is number => value !== null);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const point = (value: number, at: number) => `${(2 + (116 * (at + polls - values.length)) / Math.max(1, polls - 1)).toFixed(1)},${(22 - (most > least ? (20 * (value - least)) / (most - least) : 10)).toFixed(1)}`;
  const lines: string[][] = [[]];
  values.forEach((value, at) => (value === null ? lines.push([]) : lines.at(-1)!.push(point(value, at))));
  return (
    <svg class="spark" viewBox="0 0 120 24" width="120" height="24" aria-hidden="true">
      {lines.filter((line) => line.length > 0).map((line) => (line.length === 1 ? <circle cx={line[0]!.split(",")[0]} cy={line[0]!.split(",")[1]} r="1.5" /> : <polyline points={line.join(" ")} />))}
    </svg>
  );
}

// Counters: the tree of what was read, and plots of the series chosen in it.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { type Series, block } from "./data";
import { LaterLeftOut, SetsLeftOut, useTail } from "./left";
import { compact, count, seconds, shown, ticks } from "./text";

const MOST_PLOTTED = 12;
const FIRST_PLOTTED = 4;
// Of a server's sets, and of a set's series.
const MOST_LISTED = 500;

interface Props { theme: string; onCall: (number: number) => void }

const numberOf = (value: Series["values"][number]): number | null =>
  value === null ? null : typeof value === "number" ? value : Number(value.$int);

export function Counters({ theme, onCall }: Props) {
  const [series, setSeries] = useState<Series[] | null>(null);
  const [leftOut, setLeftOut] = useState(0);
  const [chosen, setChosen] = useState<number[]>([]);
  const [search, setSearch] = useState("");
  const [hidden, setHidden] = useState(false);
  const tail = useTail();
  useEffect(() => {
    void block<{ left_out: number; series: Series[] }>("series").then((read) => {
      const found = read?.series ?? [];
      setSeries(found);
      setLeftOut(read?.left_out ?? 0);
      setChosen(changing(found).slice(0, FIRST_PLOTTED).map((one) => one.number));
    });
  }, []);
  const tree = useMemo(() => grouped(series ?? [], search, hidden), [series, search, hidden]);
  if (series === null) return <p class="empty">Reading the series…</p>;
  if (series.length === 0) return tail?.left_out?.series ? <SetsLeftOut tail={tail} /> : <p class="empty">No counter value could be read from this capture.</p>;
  const toggle = (number: number) =>
    setChosen((before) => (before.includes(number) ? before.filter((one) => one !== number) : [...before, number].slice(-MOST_PLOTTED)));
  const picked = chosen.map((number) => series.find((one) => one.number === number)!).filter(Boolean);
  // One axis for all plots, so that what stands above one another happened at the same time.
  const times = [...new Set(picked.flatMap((one) => one.times_ns))].sort((one, other) => one - other).map((time) => time / 1e9);
  const units = [...new Set(picked.map((one) => one.unit ?? ""))];
  return (
    <div class="counters">
      <div class="counter-tree">
        <div class="counter-tools">
          <input type="search" placeholder="Find a counter" aria-label="Find a counter" value={search} onInput={(event) => setSearch((event.target as HTMLInputElement).value)} />
          <label><input type="checkbox" checked={hidden} onChange={() => setHidden(!hidden)} /> bases</label>
        </div>
        <div class="scroll" tabIndex={0} role="group" aria-label="Counter sets">
          {[...tree].map(([server, groups]) => (
            <details open>
              <summary>{`\\\\${shown(server)}`}</summary>
              {[...groups].slice(0, MOST_LISTED).map(([group, some]) => (
                <details open={groups.size <= 4 || search !== ""} class="set">
                  <summary>{shown(group)} <small>{count(some.length)}</small></summary>
                  {some.slice(0, MOST_LISTED).map((one) => (
                    <label class="series">
                      <input type="checkbox" checked={chosen.includes(one.number)} onChange={() => toggle(one.number)} />
                      <span>{shown(one.counter)}{one.instance !== null ? ` (${shown(one.instance)})` : ""} <small>{shown([one.handle, one.unit, some.some((other) => other !== one && other.path === one.path && other.handle === one.handle) && one.added !== null ? `by ${one.added}` : ""].filter(Boolean).join(" "))}</small></span>
                    </label>
                  ))}
                  {some.length > MOST_LISTED && <p class="more">{count(some.length - MOST_LISTED)} more: search for them</p>}
                </details>
              ))}
              {groups.size > MOST_LISTED && <p class="more">{count(groups.size - MOST_LISTED)} more: search for them</p>}
            </details>
          ))}
        </div>
      </div>
      <div class="plots scroll" tabIndex={0} role="group" aria-label="Plots">
        <LaterLeftOut number={leftOut} noun="reading" />
        <SetsLeftOut tail={tail} />
        {picked.length === 0 && <p class="empty">Choose counters on the left to plot them.</p>}
        {units.map((unit) => (
          <Plot key={unit} unit={unit} series={picked.filter((one) => (one.unit ?? "") === unit)} times={times} theme={theme} />
        ))}
        {picked.length > 0 && <Table series={picked} onCall={onCall} />}
      </div>
    </div>
  );
}

// A counter that a performance monitor shows in hexadecimal: its values are marks, not amounts.
const isHex = (one: Series) => one.type?.endsWith("_HEX") ?? false;

// Something to look at: one series of each counter, those that change most against their greatest value first.
function changing(all: Series[]): Series[] {
  const best = new Map<string, { one: Series; change: number }>();
  for (const one of all) {
    const known = one.values.map(numberOf).filter((value): value is number => value !== null);
    if (one.hidden || isHex(one) || new Set(known).size < 3) continue;
    const [least, most] = known.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
    const change = (most - least) / Math.max(Math.abs(most), Math.abs(least));
    const name = `${one.group}\\${one.counter}`;
    if (change > (best.get(name)?.change ?? 0)) best.set(name, { one, change });
  }
  return [...best.values()].sort((one, other) => other.change - one.change).map(({ one }) => one);
}

function grouped(series: Series[], search: string, hidden: boolean): Map<string, Map<string, Series[]>> {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const tree = new Map<string, Map<string, Series[]>>();
  for (const one of series) {
    if (one.hidden && !hidden) continue;
    const path = one.path.toLowerCase();
    if (!words.every((word) => path.includes(word))) continue;
    const groups = tree.get(one.server) ?? new Map<string, Series[]>();
    tree.set(one.server, groups);
    groups.set(one.group, [...(groups.get(one.group) ?? []), one]);
  }
  return tree;
}

// The numbers beside a plot have the same room in each, so that the plots begin below one another.
const NUMBERS = 96;

function Plot({ unit, series, times, theme }: { unit: string; series: Series[]; times: number[]; theme: string }) {
  const box = useRef<HTMLDivElement>(null);
  const key = `${series.map((one) => one.number).join()}|${times.length}|${times[0]}|${times.at(-1)}`;
  useEffect(() => {
    const element = box.current!;
    const style = getComputedStyle(element);
    const of = (name: string) => style.getPropertyValue(name).trim();
    // One axis of all times; a series without a reading at one has undefined there (joined over), a reading without a value null (a gap).
    const own = series.map((one) => [one.times_ns.map((time) => time / 1e9), one.values.map(numberOf)] as uPlot.AlignedData);
    const data = uPlot.join([[times], ...own], [[], ...series.map(() => [2])]);
    const marks = series.map((one) => new Map(one.reasons.map(([at, why]) => [one.times_ns[at]! / 1e9, why])));
    const plot = new uPlot(
      {
        width: Math.max(280, element.clientWidth), height: 240, cursor: { drag: { x: true, y: false }, sync: { key: "plots", scales: ["x", null] } }, legend: { live: true },
        scales: { x: { time: false } },
        axes: [
          { stroke: of("--muted"), grid: { stroke: of("--line"), width: 1 }, ticks: { stroke: of("--line") }, values: (_, ticks) => ticks.map((one) => `${+one.toFixed(6)} s`) },
          { stroke: of("--muted"), grid: { stroke: of("--line"), width: 1 }, ticks: { stroke: of("--line") }, size: NUMBERS, values: (_, values) => ticks(values) },
        ],
        series: [
          { label: "time", value: (_, value) => (value === null ? "–" : `${value.toFixed(6)} s`) },
          ...series.map((one, at): uPlot.Series => ({
            label: `${shown(one.counter)}${one.instance === null ? "" : ` (${shown(one.instance)})`}`,
            stroke: of(`--m${at % 9}`), width: 1.75, points: { show: one.values.length < 300, size: 5 }, spanGaps: false,
            value: (_, value) => (value === null || value === undefined ? "–" : `${compact(value)} ${unit}`.trim()),
          })),
        ],
        hooks: {
          // Readings without a value, resets and losses: a line from top to bottom, dashed.
          drawAxes: [(self) => {
            const { ctx, bbox } = self;
            ctx.save();
            ctx.strokeStyle = of("--warn");
            ctx.setLineDash([3, 4]);
            for (const mark of marks) {
              for (const time of mark.keys()) {
                const x = Math.round(self.valToPos(time, "x", true)) + 0.5;
                if (x < bbox.left || x > bbox.left + bbox.width) continue;
                ctx.beginPath();
                ctx.moveTo(x, bbox.top);
                ctx.lineTo(x, bbox.top + bbox.height);
                ctx.stroke();
              }
            }
            ctx.restore();
          }],
        },
      },
      data,
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: Math.max(280, element.clientWidth), height: 240 }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [key, theme, unit]);
  return (
    <figure class="plot">
      <figcaption>{unit === "" ? "without a unit" : shown(unit)} <small>dashed: no value there, or something to know about it; drag to zoom, double click for all</small></figcaption>
      <div ref={box} />
    </figure>
  );
}

function Table({ series, onCall }: { series: Series[]; onCall: (number: number) => void }) {
  return (
    <div class="scroll-x" tabIndex={0} role="group" aria-label="Chosen series">
      <table class="chosen-series">
        <thead><tr><th scope="col">Series and type</th>{["Values", "Min", "Mean", "Max", "Last"].map((name) => <th scope="col" class="number">{name}</th>)}<th scope="col">Without a value, or with a remark</th></tr></thead>
        <tbody>
          {series.map((one) => {
            const known = one.values.map(numberOf).filter((value): value is number => value !== null);
            const sum = known.reduce((total, value) => total + value, 0);
            const cell = (value: number | undefined) => <td class="number">{value === undefined || known.length === 0 ? "–" : compact(value)}</td>;
            const last = known.at(-1);
            return (
              <tr>
                <th scope="row">{shown(one.path)}<div><small>{one.type ?? "type unknown"}</small></div></th>
                <td class="number">{known.length} of {one.values.length}</td>
                {isHex(one) ? <><td /><td /><td /><td class="number">{last === undefined ? "–" : last.toString(16).toUpperCase()}</td></> : <>
                  {cell(known.reduce((least, value) => Math.min(least, value), Infinity))}
                  {cell(sum / known.length)}
                  {cell(known.reduce((most, value) => Math.max(most, value), -Infinity))}
                  {cell(last)}
                </>}
                <td>
                  {one.reasons.slice(0, 3).map(([at, why]) => (
                    <div><button type="button" class="link" onClick={() => onCall(one.calls[at]!)}>#{one.calls[at]}</button> {seconds(one.times_ns[at]!)} s: {shown(why)}</div>
                  ))}
                  {one.reasons.length > 3 && <div>and {count(one.reasons.length - 3)} more</div>}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

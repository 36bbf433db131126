// The picture of the timeline: an overview with the window in it, and tracks of client, server and handle with a mark for each call.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { MEANINGS, type Rows } from "./calls";
import { count, seconds, shown, span } from "./text";

const TRACK = 18;
const AXIS = 20;
const OVERVIEW = 34;
const MOST_TRACKS = 300;
const LEAST_SPAN = 1000; // ns

interface Props {
  rows: Rows; passing: Int32Array | null; selected: number | null; theme: string; onSelect: (number: number) => void;
  // The window that the address of the page names, and who hears of another; null for the whole capture.
  begin: Window | null; onWindow: (window: Window | null) => void;
}
// Times of a part of the capture, in ns since its first frame.
export interface Window { from: number; to: number }

export function Timeline({ rows, passing, selected, theme, onSelect, begin, onWindow }: Props) {
  const whole = useMemo(() => extent(rows), [rows]);
  const [view, setView] = useState<Window>(begin ?? whole);
  const [tip, setTip] = useState<{ x: number; y: number; number: number } | null>(null);
  const [size, setSize] = useState(0);
  const frame = useRef<HTMLDivElement>(null);
  const overview = useRef<HTMLCanvasElement>(null);
  const tracks = useRef<HTMLCanvasElement>(null);
  const axis = useRef<HTMLCanvasElement>(null);
  const gutter = size < 600 ? 0 : 230;
  const trackCount = Math.min(rows.tracks.length, MOST_TRACKS);
  const height = trackCount * TRACK;
  const isOut = useMemo(() => {
    if (passing === null) return null;
    const out = new Uint8Array(rows.count).fill(1);
    for (const at of passing) out[at] = 0;
    return out;
  }, [passing, rows]);

  useLayoutEffect(() => {
    const measure = () => setSize(frame.current!.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(frame.current!);
    return () => observer.disconnect();
  }, []);

  useEffect(() => onWindow(view.from === whole.from && view.to === whole.to ? null : view), [view]);

  // The chosen call stays in the window.
  useEffect(() => {
    if (selected === null) return;
    const time = rows.columns.time[selected - 1]!;
    if (time >= view.from && time <= view.to) return;
    const half = (view.to - view.from) / 2;
    move(time - half, time + half);
  }, [selected]);

  const move = (from: number, to: number) => {
    const length = Math.min(Math.max(to - from, LEAST_SPAN), whole.to - whole.from);
    const start = Math.min(Math.max(from, whole.from), whole.to - length);
    setView({ from: start, to: start + length });
  };
  const zoom = (factor: number, around = (view.from + view.to) / 2) =>
    move(around - (around - view.from) * factor, around + (view.to - around) * factor);

  useEffect(() => {
    if (size > 0) drawOverview(overview.current!, rows, whole, view, size, gutter, selected);
  }, [rows, view, size, theme, selected]);
  useEffect(() => {
    if (size === 0) return;
    drawTracks(tracks.current!, rows, view, size, gutter, trackCount, selected, isOut);
    drawAxis(axis.current!, view, size, gutter, selected === null ? null : rows.columns.time[selected - 1]!);
  }, [rows, view, size, theme, selected, isOut]);

  const timeAt = (x: number, window: Window) => window.from + ((x - gutter) / Math.max(1, size - gutter)) * (window.to - window.from);
  const nearest = (x: number, y: number): number | null => {
    const track = Math.floor(y / TRACK);
    if (x < gutter || track >= trackCount) return null;
    const reach = (6 / Math.max(1, size - gutter)) * (view.to - view.from);
    const time = timeAt(x, view);
    let best: number | null = null;
    let distance = Infinity;
    const { time: times, latency } = rows.columns;
    for (let at = lowest(times, time - reach - longest(rows)); at < rows.count && times[at]! <= time + reach; at++) {
      if (trackIndex(rows, at, trackCount) !== track) continue;
      const far = time < times[at]! ? times[at]! - time : Math.max(0, time - times[at]! - (latency[at] ?? 0));
      if (far <= reach && far <= distance) [best, distance] = [at, far];
    }
    return best;
  };

  const drag = useRef<{ x: number; view: Window; moved: boolean } | null>(null);
  const onTracks = {
    onPointerDown: (event: PointerEvent) => {
      drag.current = { x: event.offsetX, view, moved: false };
      (event.target as HTMLElement).setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      const held = drag.current;
      if (held !== null) {
        const by = ((held.x - event.offsetX) / Math.max(1, size - gutter)) * (held.view.to - held.view.from);
        if (Math.abs(held.x - event.offsetX) > 3) held.moved = true;
        if (held.moved) move(held.view.from + by, held.view.to + by);
        return;
      }
      const at = nearest(event.offsetX, event.offsetY);
      setTip(at === null ? null : { x: event.offsetX, y: event.offsetY, number: at + 1 });
    },
    onPointerUp: (event: PointerEvent) => {
      const held = drag.current;
      drag.current = null;
      if (held === null || held.moved) return;
      const at = nearest(event.offsetX, event.offsetY);
      if (at !== null) onSelect(at + 1);
    },
    onPointerLeave: () => setTip(null),
  };
  useEffect(() => {
    const canvas = tracks.current!;
    // Not passive: the wheel zooms here, and the page does not scroll meanwhile.
    const onWheel = (event: WheelEvent) => {
      const across = event.shiftKey ? event.deltaY : event.deltaX;
      if (!event.ctrlKey && !event.metaKey && !across && canvas.parentElement!.scrollHeight > canvas.parentElement!.clientHeight) return;
      event.preventDefault();
      const length = view.to - view.from;
      if (across) move(view.from + (across / 500) * length, view.to + (across / 500) * length);
      else zoom(Math.exp(event.deltaY / 400), timeAt(event.offsetX, view));
    };
    canvas.addEventListener("wheel", onWheel, { passive: false });
    return () => canvas.removeEventListener("wheel", onWheel);
  });

  const brush = useRef(false);
  const centre = (event: PointerEvent) => {
    const half = (view.to - view.from) / 2;
    const time = timeAt(event.offsetX, whole);
    move(time - half, time + half);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const length = view.to - view.from;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") zoom(0.5);
    else if (event.key === "-") zoom(2);
    else if (event.key === "0") setView(whole);
    else if (event.key === "ArrowRight") move(view.from + length / 8, view.to + length / 8);
    else if (event.key === "ArrowLeft") move(view.from - length / 8, view.to - length / 8);
    else return;
    event.preventDefault();
  };
  const words = `Timeline: ${count(rows.count)} calls in ${rows.tracks.length} tracks; shown ${seconds(view.from)} to ${seconds(view.to)} s`;
  return (
    <section class="timeline" aria-label="Timeline">
      <div class="timeline-head">
        <ul class="legend" aria-label="What calls are about, by colour" tabIndex={0}>
          {MEANINGS.map((meaning, at) => rows.meant[at]! > 0 && (
            <li><i class={`swatch m${at}`} />{meaning} <small>{count(rows.meant[at]!)}</small></li>
          ))}
          <li><i class="swatch hollow" />not read in whole</li>
          <li><i class="swatch failed" />failed</li>
        </ul>
        <div class="zoom">
          <span class="window">{span(view.to - view.from)}</span>
          <button type="button" title="Zoom in (+)" aria-label="Zoom in" onClick={() => zoom(0.5)}>+</button>
          <button type="button" title="Zoom out (-)" aria-label="Zoom out" onClick={() => zoom(2)}>−</button>
          <button type="button" title="The whole capture (0)" onClick={() => setView(whole)}>All</button>
        </div>
      </div>
      <div ref={frame} class="timeline-frame" tabIndex={0} role="group" aria-label={words} onKeyDown={onKeyDown}>
        <canvas
          ref={overview} class="overview" aria-hidden="true" style={{ height: `${OVERVIEW}px` }}
          onPointerDown={(event) => { brush.current = true; (event.target as HTMLElement).setPointerCapture(event.pointerId); centre(event); }}
          onPointerMove={(event) => brush.current && centre(event)} onPointerUp={() => (brush.current = false)}
        />
        <div class="tracks" tabIndex={0} role="group" aria-label="Tracks of the timeline"><canvas ref={tracks} aria-hidden="true" style={{ height: `${height}px` }} {...onTracks} /></div>
        <canvas ref={axis} class="axis" aria-hidden="true" style={{ height: `${AXIS}px` }} />
        {tip !== null && <Tip rows={rows} number={tip.number} x={Math.min(tip.x, size - 260)} />}
      </div>
    </section>
  );
}

function Tip({ rows, number, x }: { rows: Rows; number: number; x: number }) {
  const at = number - 1;
  const latency = rows.columns.latency[at];
  return (
    <div class="tip" style={{ left: `${Math.max(0, x)}px` }}>
      <strong>#{number} {shown(rows.text("method", at)!)}</strong> {seconds(rows.columns.time[at]!)} s<br />
      {shown(rows.text("asked", at) ?? "")}<br />
      {shown(rows.text("status", at)!)}{latency === null || latency === undefined ? "" : `, ${span(latency)}`}
    </div>
  );
}

function extent(rows: Rows): Window {
  const last = rows.count === 0 ? 1 : rows.columns.time[rows.count - 1]! + (rows.columns.latency[rows.count - 1] ?? 0);
  const first = rows.count === 0 ? 0 : rows.columns.time[0]!;
  const room = Math.max(LEAST_SPAN, (last - first) * 0.02);
  return { from: first - room, to: last + room };
}

const longestOf = new WeakMap<Rows, number>();
function longest(rows: Rows): number {
  let known = longestOf.get(rows);
  if (known === undefined) longestOf.set(rows, (known = rows.columns.latency.reduce<number>((most, one) => Math.max(most, one ?? 0), 0)));
  return known;
}

function trackIndex(rows: Rows, at: number, trackCount: number): number {
  return Math.min(rows.trackOf[at]!, trackCount - 1);
}

// The first position whose time is at least this.
function lowest(times: number[], time: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function colours(canvas: HTMLCanvasElement) {
  const style = getComputedStyle(canvas);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return { of, text: of("--text"), muted: of("--muted"), line: of("--line"), accent: of("--accent"), bad: of("--bad"), surface: of("--surface") };
}

function context(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const dense = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * dense);
  canvas.height = Math.round(height * dense);
  const drawing = canvas.getContext("2d")!;
  drawing.scale(dense, dense);
  drawing.font = "12px system-ui, sans-serif";
  drawing.textBaseline = "middle";
  return drawing;
}

function drawOverview(canvas: HTMLCanvasElement, rows: Rows, whole: Window, view: Window, width: number, gutter: number, selected: number | null): void {
  const drawing = context(canvas, width, OVERVIEW);
  const { of, text, muted, line, accent, bad } = colours(canvas);
  const room = Math.max(1, Math.floor(width - gutter));
  const bins = new Uint32Array(room);
  const failed = new Uint32Array(room);
  const place = (time: number) => ((time - whole.from) / (whole.to - whole.from)) * room;
  for (let at = 0; at < rows.count; at++) {
    const bin = Math.min(room - 1, Math.max(0, Math.floor(place(rows.columns.time[at]!))));
    bins[bin]!++;
    if (rows.text("outcome", at) === "failed") failed[bin]!++;
  }
  const most = bins.reduce((one, other) => Math.max(one, other), 1);
  if (gutter > 0) {
    drawing.fillStyle = muted;
    drawing.fillText("all calls", 8, OVERVIEW / 2);
  }
  const tall = OVERVIEW - 6;
  for (let bin = 0; bin < room; bin++) {
    if (bins[bin] === 0) continue;
    const high = Math.max(3, (Math.log1p(bins[bin]!) / Math.log1p(most)) * tall);
    drawing.fillStyle = of("--muted");
    drawing.fillRect(gutter + bin, OVERVIEW - 2 - high, 1, high);
    if (failed[bin]! > 0) {
      drawing.fillStyle = bad;
      drawing.fillRect(gutter + bin, OVERVIEW - 6, 1.5, 4);
    }
  }
  drawing.strokeStyle = line;
  drawing.strokeRect(gutter + 0.5, 0.5, room - 1, OVERVIEW - 1);
  const [from, to] = [gutter + place(view.from), gutter + place(view.to)];
  drawing.fillStyle = `color-mix(in srgb, ${accent} 18%, transparent)`;
  drawing.fillRect(from, 0, Math.max(2, to - from), OVERVIEW);
  drawing.strokeStyle = accent;
  drawing.strokeRect(from + 0.5, 0.5, Math.max(2, to - from) - 1, OVERVIEW - 1);
  if (selected !== null) {
    drawing.fillStyle = text;
    drawing.fillRect(gutter + place(rows.columns.time[selected - 1]!) - 0.5, 0, 1.5, OVERVIEW);
  }
}

function drawTracks(
  canvas: HTMLCanvasElement, rows: Rows, view: Window, width: number, gutter: number, trackCount: number, selected: number | null, isOut: Uint8Array | null,
): void {
  const height = trackCount * TRACK;
  const drawing = context(canvas, width, height);
  const { of, text, line, bad, surface } = colours(canvas);
  const meanings = MEANINGS.map((_, at) => of(`--m${at}`));
  const room = Math.max(1, width - gutter);
  const place = (time: number) => gutter + ((time - view.from) / (view.to - view.from)) * room;
  for (let track = 0; track < trackCount; track++) {
    if (track % 2 === 0) {
      drawing.fillStyle = surface;
      drawing.fillRect(0, track * TRACK, width, TRACK);
    }
  }
  drawing.save();
  drawing.beginPath();
  drawing.rect(gutter, 0, room, height);
  drawing.clip();
  drawing.strokeStyle = line;
  for (const time of steps(view, width)) {
    const x = Math.round(place(time)) + 0.5;
    drawing.beginPath();
    drawing.moveTo(x, 0);
    drawing.lineTo(x, height);
    drawing.stroke();
  }
  const { time, latency } = rows.columns;
  for (let at = lowest(time, view.from - longest(rows)); at < rows.count && time[at]! <= view.to; at++) {
    const x = place(time[at]!);
    const end = place(time[at]! + (latency[at] ?? 0));
    const y = trackIndex(rows, at, trackCount) * TRACK;
    const outcome = rows.text("outcome", at);
    const wide = Math.max(2.5, end - x);
    drawing.globalAlpha = isOut !== null && isOut[at] === 1 ? 0.15 : 1;
    drawing.fillStyle = meanings[rows.meaningOf[at]!]!;
    if (outcome === "sealed" || outcome === "one-sided") {
      drawing.strokeStyle = drawing.fillStyle;
      drawing.strokeRect(x + 0.5, y + 4.5, Math.max(3, wide), TRACK - 9);
    } else drawing.fillRect(x, y + 3, wide, TRACK - 6);
    if (outcome === "failed" || outcome === "damaged") {
      // By its shape as well as by its colour: a triangle above the mark.
      drawing.fillStyle = bad;
      drawing.beginPath();
      drawing.moveTo(x - 3, y);
      drawing.lineTo(x + 6, y);
      drawing.lineTo(x + 1.5, y + 6);
      drawing.fill();
      drawing.fillRect(x, y + TRACK - 4, wide, 3);
    }
  }
  drawing.globalAlpha = 1;
  if (selected !== null) {
    const at = selected - 1;
    const [x, y] = [place(time[at]!), trackIndex(rows, at, trackCount) * TRACK];
    const wide = Math.max(3, place(time[at]! + (latency[at] ?? 0)) - x);
    drawing.strokeStyle = text;
    drawing.lineWidth = 2;
    drawing.strokeRect(x - 3, y + 1, wide + 6, TRACK - 2);
  }
  drawing.restore();
  if (gutter === 0) return;
  drawing.fillStyle = text;
  for (let track = 0; track < trackCount; track++) {
    const more = track === trackCount - 1 && rows.tracks.length > trackCount ? ` and ${rows.tracks.length - trackCount} more` : "";
    drawing.fillText(fitted(drawing, shown(rows.tracks[track]!.name) + more, gutter - 16), 8, track * TRACK + TRACK / 2 + 0.5);
  }
}

// Words that fit, cut in the middle: what tells tracks apart stands at either end.
function fitted(drawing: CanvasRenderingContext2D, words: string, width: number): string {
  if (drawing.measureText(words).width <= width) return words;
  let length = words.length - 1;
  const cut = () => `${words.slice(0, Math.ceil(length / 2))}…${words.slice(words.length - Math.floor(length / 2))}`;
  while (length > 2 && drawing.measureText(cut()).width > width) length--;
  return cut();
}

// How far apart the marks of the axis are, for a window of this width.
function step(view: Window, width: number): number {
  const rough = (view.to - view.from) / Math.max(2, Math.floor(width / 130));
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough)!;
}

function* steps(view: Window, width: number): Generator<number> {
  const by = step(view, width);
  for (let time = Math.ceil(view.from / by) * by; time <= view.to; time += by) yield time;
}

// The times below the tracks, which stay in sight while these scroll.
function drawAxis(canvas: HTMLCanvasElement, view: Window, width: number, gutter: number, chosen: number | null): void {
  const drawing = context(canvas, width, AXIS);
  const { muted, line, accent } = colours(canvas);
  const place = (time: number) => gutter + ((time - view.from) / (view.to - view.from)) * Math.max(1, width - gutter);
  drawing.strokeStyle = line;
  drawing.textAlign = "center";
  const digits = Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(step(view, width)))));
  for (const time of steps(view, width)) {
    const x = Math.round(place(time)) + 0.5;
    drawing.fillStyle = muted;
    drawing.beginPath();
    drawing.moveTo(x, 0);
    drawing.lineTo(x, 4);
    drawing.stroke();
    drawing.fillText(`${(time / 1e9).toFixed(digits)} s`, x, AXIS / 2 + 2);
  }
  if (chosen !== null && chosen >= view.from && chosen <= view.to) {
    drawing.fillStyle = accent;
    drawing.fillRect(place(chosen), 0, 2, 6);
  }
}

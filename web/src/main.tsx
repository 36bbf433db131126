// The page: what is chosen, which view is shown, and the keyboard.

import { render } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { AuditView } from "./audit";
import { type CallDetail, type Rows, detailOf, fieldsKnown, passing, rowsOf } from "./calls";
import { Counters } from "./counters";
import { type Audit, type Finding, type Head, auditOf, head as readHead } from "./data";
import { FilterError, type Knowledge } from "./filter";
import { Host, type Moment } from "./host";
import { useLive } from "./live";
import { CallList, type Sort, sorted } from "./list";
import { Overview } from "./overview";
import { count, plural, shown } from "./text";
import { Timeline, type Window } from "./timeline";
import { Bytes, type Place, Tree } from "./tree";

type View = "overview" | "calls" | "counters" | "audit" | "host";
type Theme = "auto" | "light" | "dark";
type Pane = "list" | "tree" | "bytes";

const VIEWS: { id: View; title: string }[] = [
  { id: "overview", title: "Overview" }, { id: "calls", title: "Calls" }, { id: "counters", title: "Counters" }, { id: "audit", title: "Audit" },
  { id: "host", title: "Host" },
];
const KEYS: [string, string][] = [
  ["1 2 3 4 5", "overview, calls, counters, audit, host"],
  ["/", "filter the calls"],
  ["↑ ↓ or k j", "previous and next call, field or row of bytes"],
  ["Page Up, Page Down, Home, End", "through the list"],
  ["Enter", "from the list to the tree of the call"],
  ["← →", "close and open a structure; move in the bytes"],
  ["← → Space", "in the host: a moment back or on; play and stop"],
  ["+ − 0", "zoom the timeline (in it: ← → pan)"],
  ["[ ]", "previous and next finding"],
  ["t", "light, dark, or as the system has it"],
  ["Esc", "close this, or leave the filter"],
  ["?", "this help"],
];

function useNarrow(query: string): boolean {
  const [is, setIs] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const onChange = () => setIs(list.matches);
    list.addEventListener("change", onChange);
    return () => list.removeEventListener("change", onChange);
  }, [query]);
  return is;
}

interface Address { view: View; call: number | null; filter: string; window: Window | null; moment: Moment }

// What the address of the page names (docs/report.md).
function fromHash(): Address {
  const words = new URLSearchParams(location.hash.slice(1));
  const view = VIEWS.find((one) => one.id === words.get("view"))?.id ?? (words.has("call") ? "calls" : "overview");
  const call = Number(words.get("call"));
  const [from, to] = (words.get("time") ?? "").split("-").map((word) => Math.round(parseFloat(word) * 1e9));
  const window = from !== undefined && to !== undefined && from < to ? { from, to } : null;
  const at = words.has("moment") ? Math.round(parseFloat(words.get("moment")!) * 1e9) : null;
  const moment = { ip: words.get("machine"), time: at !== null && Number.isFinite(at) ? at : null };
  return { view, moment, call: Number.isInteger(call) && call > 0 ? call : null, filter: words.get("filter") ?? "", window };
}

function App({ head, rows }: { head: Head; rows: Rows }) {
  const begin = useMemo(fromHash, []);
  const [view, setView] = useState<View>(begin.view);
  const [selected, setSelected] = useState<number | null>(begin.call !== null && begin.call <= rows.count ? begin.call : rows.count > 0 ? 1 : null);
  const [audit, setAudit] = useState<Audit | null>(null);
  const [focus, setFocus] = useState<number | null>(null);
  const [theme, setTheme] = useState<Theme>("auto");
  const [filter, setFilter] = useState(begin.filter);
  const [window, setWindow] = useState<Window | null>(begin.window);
  const [moment, setMoment] = useState<Moment>(begin.moment);
  const [found, setFound] = useState<Int32Array | null>(null);
  const [unread, setUnread] = useState(0);
  const [wrong, setWrong] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [sort, setSort] = useState<Sort>({ column: "number", down: false });
  const [detail, setDetail] = useState<{ number: number; detail: CallDetail | null } | null>(null);
  const [place, setPlace] = useState<Place | null>(null);
  const [hover, setHover] = useState<Place | null>(null);
  const [layer, setLayer] = useState("");
  const [pane, setPane] = useState<Pane>("list");
  const narrow = useNarrow("(max-width: 760px)");
  const dark = useNarrow("(prefers-color-scheme: dark)");
  const input = useRef<HTMLInputElement>(null);
  const help = useRef<HTMLDialogElement>(null);
  const wanted = useRef<Place | null>(null);
  const writing = useRef(false);
  const shade = theme === "auto" ? (dark ? "dark" : "light") : theme;

  const live = useLive();
  const isFollowing = live !== "none" && view === "host" && moment.time === null;
  // Who looks at the last moment is shown the next one; whoever reads elsewhere is asked.
  useEffect(() => { if (live === "new" && isFollowing) location.reload(); }, [live, isFollowing]);
  useEffect(() => void auditOf().then(setAudit), []);
  // Before what is below is drawn: canvases read their colours from the style.
  document.documentElement.dataset.theme = shade;
  useEffect(() => {
    const words = new URLSearchParams({ view });
    if (selected !== null) words.set("call", String(selected));
    if (filter.trim() !== "") words.set("filter", filter);
    if (window !== null) words.set("time", `${(window.from / 1e9).toFixed(9)}-${(window.to / 1e9).toFixed(9)}`);
    if (moment.time !== null || moment.ip !== null) {
      if (moment.ip !== null) words.set("machine", moment.ip);
      if (moment.time !== null) words.set("moment", (moment.time / 1e9).toFixed(9));
    }
    // Browsers take few changes a second, and a film has many.
    const timer = setTimeout(() => {
      try {
        history.replaceState(null, "", `#${words}`);
      } catch {
        // Some browsers forbid it for pages from a file; the page works without.
      }
    }, view === "host" ? 200 : 0);
    return () => clearTimeout(timer);
  }, [view, selected, filter, window, moment]);

  useEffect(() => {
    const abort = new AbortController();
    setBusy(filter.trim() !== "");
    passing(filter, rows, head, abort.signal)
      .then((result) => {
        if (abort.signal.aborted) return;
        setFound(result.found);
        setUnread(result.unread);
        setWrong(null);
        setBusy(false);
      })
      .catch((error: unknown) => {
        if (abort.signal.aborted) return;
        setBusy(false);
        if (!(error instanceof FilterError)) throw error;
        setWrong(`column ${error.at[0] + 1}: ${error.message}`);
      });
    return () => abort.abort();
  }, [filter]);

  useEffect(() => {
    if (selected === null) return;
    let late = false;
    void detailOf(selected, head).then((made) => {
      if (late) return;
      const asked = wanted.current;
      wanted.current = null;
      setDetail({ number: selected, detail: made });
      setHover(null);
      const aim = asked !== null && made !== null ? exact(made, asked) : null;
      setPlace(aim);
      setLayer((before) => aim?.layer ?? (made?.layers.has(before) ? before : first(made)));
    });
    return () => void (late = true);
  }, [selected]);

  const select = useCallback((number: number) => setSelected(number), []);
  const onPlace = useCallback((chosen: Place) => {
    setPlace(chosen);
    setLayer(chosen.layer);
  }, []);
  const openAt = useCallback((call: number, aim: Place | null) => {
    setView("calls");
    setPane("bytes");
    if (call === selected && detail?.number === selected && detail.detail !== null) {
      if (aim !== null) onPlace(exact(detail.detail, aim));
    } else {
      wanted.current = aim;
      setSelected(call);
    }
  }, [selected, detail]);
  const open = useCallback((finding: Finding) => {
    if (finding.call === null) return;
    openAt(finding.call, finding.layer === null ? null : { layer: finding.layer, start: finding.start, stop: finding.stop });
  }, [openAt]);
  const stepFinding = (by: number) => {
    const withCall = (audit?.findings ?? []).map((finding, at) => ({ finding, at })).filter(({ finding }) => finding.call !== null);
    if (withCall.length === 0) return;
    const at = withCall.findIndex((one) => one.at === focus);
    const next = withCall[(at + by + withCall.length) % withCall.length]!;
    setFocus(next.at);
    open(next.finding);
  };

  // Before the first frame is painted: a key may be pressed at once.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.key === "Escape" && target === input.current) return input.current!.blur();
      if (event.ctrlKey || event.metaKey || event.altKey || target.matches("input:not([type=checkbox]), select, textarea")) return;
      const number = VIEWS[Number(event.key) - 1];
      if (number !== undefined) setView(number.id);
      else if (event.key === "/") {
        setView("calls");
        // What is typed next goes into it: it has the focus now, or as soon as it is there.
        if (input.current !== null) input.current.focus();
        else writing.current = true;
      } else if (event.key === "?") help.current!.showModal();
      else if (event.key === "t") setTheme((before) => ({ auto: "light", light: "dark", dark: "auto" })[before] as Theme);
      else if (event.key === "[") stepFinding(-1);
      else if (event.key === "]") stepFinding(1);
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  });

  const order = useMemo(() => sorted(rows, found, sort), [rows, found, sort]);
  const marked = useMemo(() => new Set((audit?.findings ?? []).flatMap((one) => (one.call === null || one.excused ? [] : [one.call]))), [audit]);
  const onTabKey = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = VIEWS[VIEWS.findIndex((one) => one.id === view) + step];
    if (step === 0 || next === undefined) return;
    event.preventDefault();
    setView(next.id);
    document.getElementById(`view-${next.id}`)?.focus();
  };
  const shownDetail = detail !== null && detail.number === selected ? detail : null;
  const openTree = () => {
    setPane("tree");
    const tree = document.getElementById("tree");
    if (tree !== null) tree.focus();
    else requestAnimationFrame(() => document.getElementById("tree")?.focus());
  };

  const calls = (
    <div class={`calls pane-${pane}`}>
      <Timeline rows={rows} passing={found} selected={selected} theme={shade} onSelect={select} begin={window} onWindow={setWindow} />
      <FilterBar
        input={input} writing={writing} text={filter} wrong={wrong} busy={busy} onText={setFilter}
        words={found === null ? plural(rows.count, "call") : `${count(order.length)} of ${plural(rows.count, "call")}`}
      />
      {found !== null && unread > 0 && <p class="notice">The filter could not look at the buffers of {plural(unread, "call")}: they are not in this page. pcq-analyzer timeline with this --filter reads all.</p>}
      {narrow && (
        <div class="switch" role="group" aria-label="Pane">
          {(["list", "tree", "bytes"] as const).map((one) => <button type="button" class={`chip${pane === one ? " on" : ""}`} aria-pressed={pane === one} onClick={() => setPane(one)}>{one}</button>)}
        </div>
      )}
      {(!narrow || pane === "list") && (
        <section class="pane list-pane" aria-label="Call list">
          {order.length === 0 ? <p class="empty">{rows.count === 0 ? "The capture has no call." : "No call passes the filter."}</p> : (
            <CallList rows={rows} order={order} selected={selected} marked={marked} sort={sort} onSelect={select} onSort={setSort} onOpen={openTree} show={head.show} onFilter={setFilter} />
          )}
        </section>
      )}
      {(!narrow || pane === "tree") && (
        <section class="pane tree-pane" aria-label="Tree">
          {shownDetail?.detail ? (
            <Tree key={shownDetail.number} detail={shownDetail.detail} place={place} hover={hover} command={`${head.show} ${shownDetail.number}`} onPlace={onPlace} onHover={setHover} />
          ) : <p class="empty">{shownDetail === null ? "" : `The layers of call #${selected} are not in this page, which holds those of the first calls, without very long ones. ${shown(head.show)} ${selected} prints them.`}</p>}
        </section>
      )}
      {(!narrow || pane === "bytes") && (
        <section class="pane bytes" aria-label="Bytes">
          {shownDetail?.detail ? (
            <Bytes detail={shownDetail.detail} place={place} hover={hover} layer={layer} onLayer={(id) => { setLayer(id); setPlace(null); }} onPlace={onPlace} onHover={setHover} width={narrow ? 8 : 16} />
          ) : <p class="empty" />}
        </section>
      )}
    </div>
  );

  return (
    <>
      <header class="top">
        <h1 title={shown(head.title)}>{shown(head.title)}</h1>
        {head.overview.redacted && <span class="chip-small redacted" title="Names and addresses are pseudonyms. The overview explains them.">redacted</span>}
        {live === "new" ? <button type="button" class="chip-small live" onClick={() => location.reload()}>more was captured: show it</button>
          : live !== "none" && <span class="chip-small live" role="status">{{ live: isFollowing ? "live, following" : "live", ended: "the capture ended", gone: "no longer live" }[live]}</span>}
        <div class="views" role="tablist" aria-label="Views" onKeyDown={onTabKey}>
          {VIEWS.map(({ id, title }, at) => (
            <button type="button" role="tab" id={`view-${id}`} aria-selected={view === id} aria-controls="main" tabIndex={view === id ? 0 : -1} title={`${title} (${at + 1})`} onClick={() => setView(id)}>{title}</button>
          ))}
        </div>
        <div class="tools">
          <button type="button" title="Light, dark, or as the system has it (t)" aria-label={`Theme: ${theme}`} onClick={() => setTheme(({ auto: "light", light: "dark", dark: "auto" } as const)[theme])}>{theme === "auto" ? "◐" : theme === "light" ? "☀" : "☾"}</button>
          <button type="button" title="Keys (?)" aria-label="Keys" onClick={() => help.current!.showModal()}>?</button>
        </div>
      </header>
      <main id="main" role="tabpanel" aria-labelledby={`view-${view}`}>
        {view === "overview" && <Overview head={head} audit={audit} onFinding={(at) => { setFocus(at); setView("audit"); }} onFilter={(text) => { setFilter(text); setView("calls"); }} />}
        {view === "calls" && calls}
        {view === "counters" && <Counters theme={shade} onCall={(number) => { setSelected(number); setView("calls"); }} />}
        {view === "host" && (
          <Host
            moment={moment} following={live !== "none"} theme={shade} base={rows.base} machine={(ip) => rows.machine(ip)} onMoment={setMoment}
            onCell={(call, start, size) => openAt(call, start < 0 ? null : { layer: "response.buffer", start, stop: start + Math.max(1, size), whole: size === 0 })}
          />
        )}
        {view === "audit" && <AuditView head={head} audit={audit} focus={focus} called={(call) => rows.text("method", call - 1) ?? ""} onOpen={open} />}
      </main>
      <dialog ref={help} aria-labelledby="keys-title">
        <h2 id="keys-title">Keys</h2>
        <dl>{KEYS.map(([key, what]) => <><dt><kbd>{key}</kbd></dt><dd>{what}</dd></>)}</dl>
        <p>Filters are those of the command: <code>opnum == 6 and status != 0</code>, <code>user contains "svc"</code>, <code>latency &gt; 50ms</code>, <code>buffer.dw_value &gt; 0</code>.</p>
        <form method="dialog"><button>Close</button></form>
      </dialog>
    </>
  );
}

// A place by its range: with the field that has exactly it, or the innermost one around it.
function exact(detail: CallDetail, aim: Place): Place {
  const layer = detail.layers.get(aim.layer);
  if (layer === undefined) return aim;
  // What lies in lpData is described there.
  const inner = [...detail.layers.values()].find((one) => one.parent === aim.layer && one.kind === "buffer" && aim.start >= one.offset && aim.stop <= one.offset + one.data.length && aim.stop > aim.start);
  if (inner !== undefined) return exact(detail, { layer: inner.id, start: aim.start - inner.offset, stop: aim.stop - inner.offset, whole: aim.whole });
  if (layer.tree === null) return aim;
  let node = layer.tree;
  for (;;) {
    const child = node.children.find((one) => one.start <= aim.start && aim.stop <= one.start + one.length);
    if (child === undefined) break;
    node = child;
  }
  if (node === layer.tree) return aim;
  return aim.whole ? { layer: aim.layer, start: node.start, stop: node.start + node.length, node } : { ...aim, node };
}

function first(detail: CallDetail | null): string {
  const layers = [...(detail?.layers.values() ?? [])];
  return (layers.find((one) => one.id === "response.buffer") ?? layers.find((one) => one.id === "response.stub") ?? layers.find((one) => one.id === "request.stub") ?? layers[0])?.id ?? "";
}

interface FilterProps {
  input: { current: HTMLInputElement | null }; writing: { current: boolean }; text: string; wrong: string | null; busy: boolean; words: string; onText: (text: string) => void;
}

function FilterBar({ input, writing, text, wrong, busy, words, onText }: FilterProps) {
  const [known, setKnown] = useState<Knowledge | null>(null);
  const [draft, setDraft] = useState(text);
  const [at, setAt] = useState(0);
  const [is, setIs] = useState(false);
  const timer = useRef(0);
  useEffect(() => void fieldsKnown().then(setKnown), []);
  useEffect(() => setDraft(text), [text]);
  useLayoutEffect(() => {
    if (writing.current) input.current!.focus();
    writing.current = false;
  }, []);
  const word = /[\p{L}\p{N}_.]*$/u.exec(draft.slice(0, input.current?.selectionStart ?? draft.length))?.[0] ?? "";
  const offers = useMemo(() => {
    if (known === null || word === "" || !is) return [];
    const lower = word.toLowerCase();
    const fields = [...known.fields.values()].filter((one) => one.name.toLowerCase().includes(lower) && one.name !== word);
    fields.sort((one, other) => Number(!one.name.toLowerCase().startsWith(lower)) - Number(!other.name.toLowerCase().startsWith(lower)) || one.name.length - other.name.length);
    return fields.slice(0, 8);
  }, [known, word, is]);
  const write = (value: string) => {
    setDraft(value);
    setAt(0);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => onText(value), 150);
  };
  const take = (name: string) => {
    const here = input.current!.selectionStart ?? draft.length;
    const value = `${draft.slice(0, here - word.length)}${name} ${draft.slice(here)}`;
    write(value);
    setIs(false);
    requestAnimationFrame(() => input.current!.focus());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") {
      clearTimeout(timer.current);
      onText(draft);
      setIs(false);
      document.getElementById("list")?.focus();
    } else if (offers.length > 0 && event.key === "ArrowDown") setAt((at + 1) % offers.length);
    else if (offers.length > 0 && event.key === "ArrowUp") setAt((at + offers.length - 1) % offers.length);
    else if (offers.length > 0 && event.key === "Tab") take(offers[at]!.name);
    else return;
    event.preventDefault();
  };
  return (
    <div class="filter" role="search">
      <div class="filter-box">
        <input
          ref={input} type="text" spellcheck={false} autocomplete="off" placeholder="Filter: method == QueryCounterData and status != 0   ( / )" aria-label="Filter the calls"
          aria-invalid={wrong !== null} aria-describedby="filter-words" role="combobox" aria-expanded={offers.length > 0} aria-controls="filter-offers" aria-autocomplete="list"
          value={draft} class={wrong !== null ? "wrong" : text.trim() !== "" ? "right" : undefined}
          onInput={(event) => { setIs(true); write((event.target as HTMLInputElement).value); }} onKeyDown={onKeyDown} onBlur={() => setIs(false)}
        />
        <ul id="filter-offers" class="offers" role="listbox" aria-label="Fields" hidden={offers.length === 0}>
          {offers.map((field, number) => (
            <li role="option" aria-selected={number === at} onMouseDown={(event) => { event.preventDefault(); take(field.name); }}><b>{field.name}</b> <small>{field.meaning}</small></li>
          ))}
        </ul>
      </div>
      {draft !== "" && <button type="button" aria-label="No filter" title="No filter" onClick={() => { setDraft(""); onText(""); input.current?.focus(); }}>×</button>}
      <span id="filter-words" role="status" class={wrong !== null ? "bad" : undefined}>{wrong ?? (busy ? "filtering…" : words)}</span>
    </div>
  );
}

async function start(): Promise<void> {
  const head = readHead();
  const app = document.getElementById("app")!;
  const rows = await rowsOf(head);
  app.replaceChildren();
  render(<App head={head} rows={rows} />, app);
  performance.mark("pcq-shown");
}

void start();

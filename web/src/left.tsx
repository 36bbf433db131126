// What is not in the page: a capture may hold more than a browser does.

import { useEffect, useState } from "preact/hooks";
import { type Head, type SeriesLeftOut, type Tail, block } from "./data";
import { useFew } from "./few";
import { count, plural, shown } from "./text";

const SETS = 8;

let known: Promise<Tail> | null = null;

// What is known at the end of the page; null until it is there.
export function useTail(): Tail | null {
  const [tail, setTail] = useState<Tail | null>(null);
  useEffect(() => {
    known ??= block<Tail>("tail").then((read) => read!);
    void known.then(setTail);
  }, []);
  return tail;
}

function setWords({ server, group, kept, instances, readings }: SeriesLeftOut): string {
  const what = group === null ? "blocks without instances" : `instances of ${shown(group)}`;
  return `\\\\${shown(server)}: ${count(kept)} of up to ${count(instances)} ${what} are in this page, those that were read first. ${plural(readings, "reading")} of others are not.`;
}

// Countersets that are too large: beside plots and tables of those that are here.
export function SetsLeftOut({ tail }: { tail: Tail | null }) {
  const [sets, more] = useFew(tail?.left_out ?? [], SETS);
  if (sets.length === 0) return null;
  return (
    <div class="notice">
      {sets.map((one) => <p>{setWords(one)}</p>)}
      {more}
      <p><code>pcq-analyzer samples</code> and <code>pcq-analyzer counters</code> print all.</p>
    </div>
  );
}

// All that is not here, for the overview.
export function LeftOut({ head }: { head: Head }) {
  const tail = useTail();
  const calls = tail === null ? 0 : head.overview.calls - tail.details;
  if (calls === 0 && (tail?.left_out ?? []).length === 0) return null;
  return (
    <section class="card left-out">
      <h2>Not in this page</h2>
      {calls > 0 && <p>Layers and buffers of {plural(calls, "call")}: the page has those of {count(tail!.details)}. <code>{shown(head.show)} N</code> prints those of call N.</p>}
      <SetsLeftOut tail={tail} />
    </section>
  );
}

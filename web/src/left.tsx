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
  const [sets, more] = useFew(tail?.left_out?.series ?? [], SETS);
  if (sets.length === 0) return null;
  return (
    <div class="notice">
      {sets.map((one) => <p>{setWords(one)}</p>)}
      {more}
      <Printed />
    </div>
  );
}

function Printed() {
  return <p><code>pcq-analyzer samples</code> and <code>pcq-analyzer counters</code> print all.</p>;
}

// What a long poll has behind the first readings, or polls, which are here.
export function LaterLeftOut({ number, noun }: { number: number; noun: string }) {
  if (number === 0) return null;
  return <div class="notice"><p>{plural(number, noun)} at the end {number === 1 ? "is" : "are"} not in this page: it holds the first ones only.</p><Printed /></div>;
}

// All that is not here, for the overview.
export function LeftOut({ head }: { head: Head }) {
  const tail = useTail();
  const calls = tail === null ? 0 : head.overview.calls - tail.details;
  if (calls === 0 && tail?.left_out === undefined) return null;
  return (
    <section class="card left-out">
      <h2>Not in this page</h2>
      {calls > 0 && <p>Layers and buffers of {plural(calls, "call")}: the page has those of {count(tail!.details)}. <code>{shown(head.show)} N</code> prints those of call N.</p>}
      <SetsLeftOut tail={tail} />
      <LaterLeftOut number={tail?.left_out?.readings ?? 0} noun="reading" />
      <LaterLeftOut number={tail?.left_out?.polls ?? 0} noun="poll" />
    </section>
  );
}

// The audit: what was found, each with a link to its call and bytes, and the coverage of each section.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Audit, Finding, Head } from "./data";
import { useFew } from "./few";
import { count, shown } from "./text";

interface Place { finding: Finding; at: number }
// `called` names the method of a call by its number.
interface Props { head: Head; audit: Audit | null; focus: number | null; called: (call: number) => string; onOpen: (finding: Finding) => void }

const VERDICTS = ["pass", "warn", "fail", "inconclusive", "not-exercised", "untestable"];
const [SHOWN, SHOWN_EACH] = [50, 5];
const FRAMES = 6;
const PASSED = "let pass";

// How many findings have a severity. Those that the profile or a baseline lets pass are counted for themselves, here as on the overview.
export function countOf(audit: Audit, severity: string | null): number {
  return audit.findings.filter((one) => severity === null || kindOf(one) === severity).length;
}

function kindOf(finding: Finding): string {
  return finding.excused ? PASSED : finding.severity;
}

// Findings of one rule, or of one call, in the order of the first of each.
function together(found: Place[], by: "requirement" | "call"): Place[][] {
  const groups = new Map<string, Place[]>();
  for (const one of found) {
    const { rule, requirements, severity, call } = one.finding;
    const name = by === "call" ? String(call) : [severity, rule, ...requirements].join();
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  return [...groups.values()];
}

export function AuditView({ head, audit, focus, called, onOpen }: Props) {
  const [severity, setSeverity] = useState<string | null>(null);
  const [by, setBy] = useState<"requirement" | "call">("requirement");
  const focused = useRef<HTMLLIElement>(null);
  const found = useMemo(() => {
    const order = { error: 0, warning: 1, info: 2 };
    return (audit?.findings ?? []).map((finding, at) => ({ finding, at }))
      .filter(({ finding }) => severity === null || kindOf(finding) === severity)
      .sort((one, other) => order[one.finding.severity] - order[other.finding.severity] || one.at - other.at);
  }, [audit, severity]);
  const groups = useMemo(() => together(found, by), [found, by]);
  const [some, more] = useFew(groups, SHOWN, focus === null ? 0 : groups.findIndex((group) => group.some(({ at }) => at === focus)) + 1);
  useEffect(() => {
    if (focus === null) return;
    requestAnimationFrame(() => focused.current?.scrollIntoView({ block: "center" }));
  }, [focus, audit]);
  if (audit === null) return <p class="empty">Reading the findings…</p>;
  return (
    <div class="audit scroll" tabIndex={0} role="group" aria-label="Audit">
      <section>
        <h2>Findings <small>profile {head.profile}</small></h2>
        <div class="chips" role="group" aria-label="Severity">
          {[null, "error", "warning", "info", ...(countOf(audit, PASSED) > 0 ? [PASSED] : [])].map((one) => (
            <button type="button" class={`chip${severity === one ? " on" : ""}`} aria-pressed={severity === one} onClick={() => setSeverity(one)}>{one ?? "all"} {count(countOf(audit, one))}</button>
          ))}
        </div>
        <div class="chips" role="group" aria-label="Together">
          {(["requirement", "call"] as const).map((one) => (
            <button type="button" class={`chip${by === one ? " on" : ""}`} aria-pressed={by === one} onClick={() => setBy(one)}>by {one}</button>
          ))}
        </div>
        {found.length === 0 && <p class="empty">{audit.nothing ?? "no finding of this severity"}.</p>}
        <ol class="findings">
          {some.map((group) => <Group key={group[0]!.at} {...{ group, by, focus, focused, called, onOpen }} />)}
        </ol>
        {more}
      </section>
      <section>
        <h2>Coverage by section</h2>
        <div class="scroll-x" tabIndex={0} role="group" aria-label="Coverage">
          <table class="coverage">
            <thead><tr><th scope="col">Section</th><th scope="col">Share</th>{VERDICTS.map((one) => <th scope="col" class="number">{one}</th>)}</tr></thead>
            <tbody>
              {audit.coverage.map(({ section, verdicts }) => {
                const all = Object.values(verdicts).reduce((sum, one) => sum + one, 0);
                return (
                  <tr>
                    <th scope="row">{section}</th>
                    <td><span class="share" role="img" aria-label={`${verdicts.pass ?? 0} of ${all} pass`}>{VERDICTS.map((one) => <i class={`v-${one}`} style={{ width: `${(100 * (verdicts[one] ?? 0)) / all}%` }} />)}</span></td>
                    {VERDICTS.map((one) => <td class="number">{verdicts[one] ?? ""}</td>)}
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      </section>
    </div>
  );
}

interface GroupProps { group: Place[]; by: "requirement" | "call"; focus: number | null; focused: { current: HTMLLIElement | null }; called: Props["called"]; onOpen: Props["onOpen"] }

function Group({ group, by, focus, focused, called, onOpen }: GroupProps) {
  const { finding: first } = group[0]!;
  const [some, more] = useFew(group, SHOWN_EACH, group.findIndex(({ at }) => at === focus) + 1);
  const rule = ({ finding }: Place) => (
    <>
      <span class={`badge ${finding.severity}`}>{finding.severity}</span> <strong>{finding.rule}</strong> {finding.name}
      {finding.confidence !== "high" && <small> confidence {finding.confidence}</small>}
    </>
  );
  const words = (finding: Finding) => (
    <details><summary>{finding.requirements.join(", ")}, section {finding.section}</summary><p>{shown(finding.statement)}</p></details>
  );
  return (
    <li class={`finding ${first.severity}`}>
      <header>
        {by === "requirement" ? rule(group[0]!) : <strong>{first.call === null ? "The capture as a whole" : `Call #${first.call} ${shown(called(first.call))}`}</strong>}
        {group.length > 1 && <small> ×{count(group.length)}</small>}
      </header>
      {by === "requirement" && words(first)}
      <ol class="places">
        {some.map((place) => {
          const { finding, at } = place;
          const parts = [finding.expected === null ? "" : `expected ${shown(finding.expected)}`, finding.seen === null ? "" : `seen ${shown(finding.seen)}`].filter(Boolean).join(", ");
          return (
            <li key={at} ref={focus === at ? focused : undefined} class={focus === at ? "focus" : undefined}>
              {by === "call" && <div>{rule(place)}</div>}
              <p>{shown(finding.message)}{parts === "" ? "" : `: ${parts}`}{finding.excused && <> <span class="badge">known, let pass</span></>}</p>
              <p class="links">
                {finding.call !== null && <button type="button" class="link" onClick={() => onOpen(finding)}>Call #{finding.call}{finding.layer !== null ? `, ${finding.layer.replace(".", " ")} bytes ${finding.start} to ${finding.stop}` : ""}</button>}
                {finding.frames.length > 0 && <small> frame{finding.frames.length > 1 ? "s" : ""} {finding.frames.slice(0, FRAMES).join(", ")}{finding.frames.length > FRAMES ? ` and ${count(finding.frames.length - FRAMES)} more` : ""}</small>}
                <small> by {finding.actor}</small>
              </p>
              {by === "call" && words(finding)}
            </li>
          );
        })}
      </ol>
      {more}
    </li>
  );
}

// The audit: what was found, each with a link to its call and bytes, and the coverage of each section.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Audit, Finding, Head } from "./data";
import { count, plural, shown } from "./text";

interface Props { head: Head; audit: Audit | null; focus: number | null; onOpen: (finding: Finding) => void }

const VERDICTS = ["pass", "warn", "fail", "inconclusive", "not-exercised", "untestable"];
const SHOWN = 200;
const FRAMES = 6;
const PASSED = "let pass";

// How many findings have a severity. Those that the profile or a baseline lets pass are counted for themselves, here as on the overview.
export function countOf(audit: Audit, severity: string | null): number {
  return audit.findings.filter((one) => severity === null || kindOf(one) === severity).length;
}

function kindOf(finding: Finding): string {
  return finding.excused ? PASSED : finding.severity;
}

export function AuditView({ head, audit, focus, onOpen }: Props) {
  const [severity, setSeverity] = useState<string | null>(null);
  const [most, setMost] = useState(SHOWN);
  const focused = useRef<HTMLLIElement>(null);
  const found = useMemo(() => {
    const order = { error: 0, warning: 1, info: 2 };
    return (audit?.findings ?? []).map((finding, at) => ({ finding, at }))
      .filter(({ finding }) => severity === null || kindOf(finding) === severity)
      .sort((one, other) => order[one.finding.severity] - order[other.finding.severity] || one.at - other.at);
  }, [audit, severity]);
  useEffect(() => {
    if (focus === null) return;
    const place = found.findIndex(({ at }) => at === focus);
    if (place >= most) setMost(place + 20);
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
        {found.length === 0 && <p class="empty">{audit.nothing ?? "no finding of this severity"}.</p>}
        <ol class="findings">
          {found.slice(0, most).map(({ finding, at }) => (
            <li key={at} ref={focus === at ? focused : undefined} class={`finding ${finding.severity}${focus === at ? " focus" : ""}`}>
              <header>
                <span class={`badge ${finding.severity}`}>{finding.severity}</span> <strong>{finding.rule}</strong> {finding.name}
                {finding.excused && <span class="badge">known, let pass</span>}
                {finding.confidence !== "high" && <small> confidence {finding.confidence}</small>}
              </header>
              <p>{shown(finding.message)}.{finding.expected !== null ? ` Expected ${shown(finding.expected)}` : ""}{finding.seen !== null ? `${finding.expected !== null ? ", seen" : " Seen"} ${shown(finding.seen)}` : ""}{finding.expected !== null || finding.seen !== null ? "." : ""}</p>
              <p class="links">
                {finding.call !== null && <button type="button" class="link" onClick={() => onOpen(finding)}>Call #{finding.call}{finding.layer !== null ? `, ${finding.layer.replace(".", " ")} bytes ${finding.start} to ${finding.stop}` : ""}</button>}
                {finding.frames.length > 0 && <small> frame{finding.frames.length > 1 ? "s" : ""} {finding.frames.slice(0, FRAMES).join(", ")}{finding.frames.length > FRAMES ? ` and ${count(finding.frames.length - FRAMES)} more` : ""}</small>}
                <small> by {finding.actor}</small>
              </p>
              <details><summary>{finding.requirements.join(", ")}, section {finding.section}</summary><p>{shown(finding.statement)}</p></details>
            </li>
          ))}
        </ol>
        {found.length > most && <button type="button" onClick={() => setMost(most + SHOWN)}>{plural(found.length - most, "more finding")}</button>}
      </section>
      <section>
        <h2>Coverage by section</h2>
        <div class="scroll-x" tabIndex={0} role="group" aria-label="Coverage">
          <table class="coverage">
            <thead><tr><th scope="col">Section</th><th scope="col">Share</th>{VERDICTS.map((one) => <th scope="col">{one}</th>)}</tr></thead>
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

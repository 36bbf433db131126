// What was captured, by whom, and what of it could not be read: the first page of the report.

import { countOf } from "./audit";
import type { Audit, Head } from "./data";
import { useFew } from "./few";
import { LeftOut } from "./left";
import { bytesWords, count, plural, shown, span, utc } from "./text";

// So many items of each list are shown at first.
const [KINDS, METHODS, PROBLEMS, LINES, PROCESSES, IDENTITIES, HOSTS] = [8, 8, 8, 24, 8, 8, 8];
// The calls that `stats` counts as not read in whole.
const UNREAD = "state in {partial, sealed, malformed, response-only} or buffer_problem";

interface Props { head: Head; audit: Audit | null; onFinding: (at: number) => void; onFilter: (text: string) => void }

export function Overview({ head, audit, onFinding, onFilter }: Props) {
  const { overview } = head;
  const bySeverity = (severity: string) => (audit === null ? 0 : countOf(audit, severity));
  const { failed, unanswered, unread } = overview;
  const [kinds, moreKinds] = useFew(audit === null ? [] : summarised(audit), KINDS);
  const [methods, moreMethods] = useFew(Object.entries(overview.methods).sort((one, other) => other[1] - one[1]), METHODS);
  const [lines, moreLines] = useFew(overview.account, LINES);
  const [processes, moreProcesses] = useFew(overview.processes, PROCESSES);
  const [problems, moreProblems] = useFew(overview.problems, PROBLEMS);
  const [identities, moreIdentities] = useFew(overview.identities, IDENTITIES);
  const [hosts, moreHosts] = useFew(overview.hosts, HOSTS);
  const ns = (value: unknown) => (value === null ? null : BigInt(typeof value === "object" ? (value as { $int: string }).$int : (value as number)));
  const [from, to] = [ns(overview.first_time_ns), ns(overview.last_time_ns)];
  return (
    <div class="overview scroll" tabIndex={0} role="group" aria-label="Overview">
      <div class="tiles">
        <Tile label="calls" value={count(overview.calls)} />
        <Tile label="failed" value={count(failed)} tone={failed > 0 ? "bad" : undefined} onClick={failed > 0 ? () => onFilter("status > 0 or fault") : undefined} />
        <Tile label="not read in whole" value={count(unread)} tone={unread > 0 ? "warn" : undefined} onClick={unread > 0 ? () => onFilter(UNREAD) : undefined} />
        {unanswered > 0 && <Tile label="without an answer" value={count(unanswered)} tone="warn" onClick={() => onFilter("not response")} />}
        <Tile label="audit errors" value={audit === null ? "…" : count(bySeverity("error"))} tone={bySeverity("error") > 0 ? "bad" : undefined} />
        <Tile label="audit warnings" value={audit === null ? "…" : count(bySeverity("warning"))} tone={bySeverity("warning") > 0 ? "warn" : undefined} />
        {from !== null && to !== null && <Tile label="captured" value={span(Number(to - from))} />}
      </div>
      {overview.undecrypted !== null && <p class="notice bad">{shown(overview.undecrypted)}</p>}
      {overview.redacted && (
        <p class="notice">
          <b>This page is redacted.</b> Names of users, hosts, domains, instances, services and registry keys, and all addresses, are
          pseudonyms such as FPK\hukpjtp. One name has one pseudonym in the whole page. Another page has the same
          pseudonyms only if it was made with the same --redact-key. Times, sizes, GUIDs of countersets and values are as captured.
        </p>
      )}
      <section class="card account">
        <h2>What happened</h2>
        {overview.account.length === 0 && <p>Nothing was observed.</p>}
        {machines(lines).map(([machine, some]) => (
          <>
            <h3>{shown(machine)}</h3>
            <ul class="plain">
              {some.map((line) => (
                <li>
                  <span class={`badge ${TONES[line.severity]}`}>{line.severity}</span>{" "}
                  {line.call_numbers.length === 0 ? shown(line.words) : <button type="button" class="link" onClick={() => onFilter(`number in {${line.call_numbers.join(", ")}}`)}>{shown(line.words)}</button>}
                  {line.frames.length > 0 && <small> frames {line.frames.slice(0, 6).join(", ")}{line.frames.length > 6 ? " …" : ""}</small>}
                </li>
              ))}
            </ul>
          </>
        ))}
        {moreLines}
        {overview.processes.length > 0 && (
          <details open>
            <summary>{plural(overview.processes.length + (overview.processes_left_out ?? 0), "process", "processes")} in the answers</summary>
            <table>
              <thead><tr><th scope="col">Process</th><th scope="col" class="number">PID</th><th scope="col">Parent</th><th scope="col">Server</th><th scope="col">First seen</th><th scope="col">Last seen</th><th scope="col" class="number">Answers</th></tr></thead>
              <tbody>
                {processes.map((one) => (
                  <tr>
                    <th scope="row"><button type="button" class="link" onClick={() => onFilter(`number == ${one.call}`)}>{shown(one.name)}</button>{one.oddities.map((oddity) => <div class="warn"><small>{shown(oddity)}</small></div>)}</th>
                    <td class="number" data-label="PID">{one.pid ?? ""}</td>
                    <td data-label="Parent">{shown(one.parent)}</td>
                    <td data-label="Server">{one.server}</td>
                    <td data-label="First seen">{utc(ns(one.first_time_ns)!, 0)}</td>
                    <td data-label="Last seen">{utc(ns(one.last_time_ns)!, 0)}</td>
                    <td class="number" data-label="Answers">{count(one.answers)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
            {moreProcesses}
            {overview.processes_left_out !== undefined && <p>{count(overview.processes_left_out)} more are not in this page: <code>pcq-analyzer processes</code> prints all.</p>}
          </details>
        )}
      </section>
      <div class="cards">
        <section class="card">
          <h2>Hosts</h2>
          <ul class="plain">
            {hosts.map((host) => (
              <li>
                <strong>{host.ip}</strong> <small>{host.roles.join(", ")}</small>
                {host.names.map(([name, source]) => <div>{shown(name)} <small>{shown(source)}</small></div>)}
                {host.systems.length > 0 && <div><small>{host.systems.map(shown).join(", ")}</small></div>}
              </li>
            ))}
          </ul>
          {moreHosts}
        </section>
        <section class="card">
          <h2>Who called</h2>
          <ul class="plain">
            {identities.map((one) => (
              <li>
                <strong>{one.user === null ? "unknown user" : shown(one.user)}</strong>
                <div>{one.client} → {one.server}: {plural(one.calls, "call")}{one.failed > 0 ? `, ${count(one.failed)} failed` : ""}{one.unread > 0 ? `, ${count(one.unread)} not read in whole` : ""}</div>
                <small>{shown(one.security)}</small>
              </li>
            ))}
          </ul>
          {moreIdentities}
          {overview.sessions.length > 0 && <details><summary>{plural(overview.sessions.length, "SMB session")}</summary><ul class="plain">{overview.sessions.map((one) => <li>{shown(one)}</li>)}</ul></details>}
        </section>
        <section class="card">
          <h2>Findings</h2>
          {audit === null ? <p>…</p> : audit.nothing !== null ? <p>Audit (profile {head.profile}): {audit.nothing}.</p> : (
            <ul class="plain">
              {kinds.map(({ at, finding, times }) => (
                <li>
                  <span class={`badge ${finding.severity}`}>{finding.severity}</span>{" "}
                  <button type="button" class="link" onClick={() => onFinding(at)}>{finding.rule} {finding.name}</button> {times > 1 && <small>×{count(times)}</small>}
                  <div><small>{shown(finding.message)}</small></div>
                </li>
              ))}
            </ul>
          )}
          {moreKinds}
        </section>
        <section class="card">
          <h2>What could not be decrypted or read, and why</h2>
          {overview.decrypted.map((one) => <p>{shown(one)}</p>)}
          {overview.incomplete.length === 0 && overview.problems.length === 0 && <p>Everything was read.</p>}
          <ul class="plain">
            {overview.incomplete.map((one) => <li><b>{plural(one.count, "call")} {one.state}</b>: {shown(one.reason ?? "")}</li>)}
            {problems.map((one) => (
              <li><b>{one.kind}</b> <small>{one.layer}{one.frames.length > 0 ? `, frame${one.frames.length > 1 ? "s" : ""} ${one.frames.join(", ")}${one.frames_left_out > 0 ? ` and ${count(one.frames_left_out)} more` : ""}` : ""}{one.count > 1 ? `, and ${count(one.count - 1)} more like it` : ""}</small><div>{shown(one.text)}</div></li>
            ))}
          </ul>
          {moreProblems}
          {overview.hint !== null && <p>{shown(overview.hint)}</p>}
        </section>
        <section class="card">
          <h2>What was called</h2>
          <ul class="bars">
            {methods.map(([name, number]) => (
              <li><span>{shown(name.replace(/^PerflibV2\.(PerflibV2)?/, "PerflibV2 "))}</span><b>{count(number)}</b><i style={{ width: `${(100 * number) / Math.max(1, ...Object.values(overview.methods))}%` }} /></li>
            ))}
          </ul>
          {moreMethods}
        </section>
      </div>
      <LeftOut head={head} />
      <section class="card">
        <h2>Capture</h2>
        <table>
          <thead><tr><th scope="col">File</th><th scope="col" class="number">Size</th><th scope="col">SHA-256</th></tr></thead>
          <tbody>
            {overview.files.map((file) => (
              <tr>
                <th scope="row">{shown(file.name)}</th>
                <td class="number" data-label="Size">{file.size === null ? "not measured" : `${bytesWords(file.size)}`}</td>
                <td data-label="SHA-256"><code class="hash">{file.sha256 ?? "not computed"}</code></td>
              </tr>
            ))}
          </tbody>
        </table>
        <p>{plural(overview.frames, "frame")}, {bytesWords(overview.bytes)} captured{from !== null && to !== null ? `, from ${utc(from, 0)} to ${utc(to, 0)} UTC` : ""}. Read by {shown(head.tool)}.</p>
      </section>
    </div>
  );
}

const TONES = { high: "error", medium: "warning", info: "info" };

// Lines of one machine together, in the order of the lines.
function machines(lines: Head["overview"]["account"]) {
  const found = new Map<string, typeof lines>();
  for (const line of lines) {
    const known = found.get(line.machine);
    if (known === undefined) found.set(line.machine, [line]);
    else known.push(line);
  }
  return [...found];
}

function Tile({ label, value, tone, onClick }: { label: string; value: string; tone?: string | undefined; onClick?: (() => void) | undefined }) {
  const inside = <><b class={tone}>{value}</b><span>{label}</span></>;
  return onClick === undefined ? <div class="tile">{inside}</div> : <button type="button" class="tile" onClick={onClick}>{inside}</button>;
}

// Findings of one rule with one message, once, the gravest first.
function summarised(audit: Audit) {
  const order = { error: 0, warning: 1, info: 2 };
  const groups = new Map<string, { at: number; finding: Audit["findings"][number]; times: number }>();
  audit.findings.forEach((finding, at) => {
    const key = `${finding.severity}|${finding.rule}|${finding.message}`;
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { at, finding, times: 1 });
    else known.times++;
  });
  return [...groups.values()].sort((one, other) => order[one.finding.severity] - order[other.finding.severity]);
}

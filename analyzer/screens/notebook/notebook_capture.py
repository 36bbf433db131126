"""The notebook's functions and captures: `analyze` reads a capture, and the result shows itself as tables.

An example:

    import analyzer as pcq
    cap = pcq.analyze("x.pcapng", secrets="x.secrets.json")
    cap.calls          # polars DataFrame, one row a call
    cap.call(12)       # the decoded tree of one call
    cap.counters("\\Processor Information(_Total)\\% Processor Time", interval="5s")
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.capture.first_bytes import is_case
from analyzer.collect.dataset_manifest import is_dataset
from analyzer.core.caches import cached_property
from analyzer.core.environment_variables import SECRETS_VARIABLE
from analyzer.core.errors import InputError
from analyzer.core.output.standard_json import document
from analyzer.core.output.terminal import watching
from analyzer.core.printable_text import path_of_text, printable
from analyzer.core.times import NS_PER_S, iso_time
from analyzer.interfaces.call_contents.call_records import call_record
from analyzer.pipeline.case import open_case, read_back, write_case
from analyzer.pipeline.loaded_metadata import load_metadata
from analyzer.pipeline.run import Engine, digests_of
from analyzer.pipeline.run import analyze as run
from analyzer.pipeline.segment_sources import Source
from analyzer.questions.audit.audit_engine import Audit, Profile
from analyzer.questions.films.film import Films
from analyzer.questions.films.film_maker import films_of
from analyzer.questions.filters.call_selection import Selection
from analyzer.questions.filters.filter import CallFilter
from analyzer.questions.filters.times_machines_and_users import TimeBound
from analyzer.questions.observations.triage_records import triage
from analyzer.questions.series.counter_records import interval_of
from analyzer.questions.series.reading_batches import readings
from analyzer.results.analysis import Analysis, Given, Part
from analyzer.results.calls.call import Call
from analyzer.results.connection import SmbSession
from analyzer.results.records.command_records import COMMANDS
from analyzer.results.records.finding import CoverageRecord, FindingRecord
from analyzer.results.records.observation import Observation
from analyzer.results.records.opened_file import FileRecord
from analyzer.results.records.record_types import Record
from analyzer.screens.formats.record_tables import table_of_records
from analyzer.screens.formats.table_writer import (
    KEYS_OF_CALLS,
    calls_table,
    logons_table,
    problems_table,
    structs_of_json,
    table_of,
)
from analyzer.screens.notebook.charts import Plots
from analyzer.screens.notebook.machine_at_moment import HostMoment, machine_of
from analyzer.screens.notebook.notebook_html import call_html, capture_html, escape_frames, findings_html
from analyzer.screens.viewmodel.call_layers import the_call
from analyzer.screens.views.audit import AuditView
from analyzer.screens.views.counters import Counters
from analyzer.screens.views.handles import Handles
from analyzer.screens.views.processes import Processes
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.sessions_and_hosts import Hosts, Sessions
from analyzer.screens.views.stats import stats_records

if TYPE_CHECKING:
    import polars as pl

    from analyzer.interfaces.redaction.pseudonyms import Pseudonyms

Secrets: TypeAlias = "str | Path | Keyring | Mapping[str, Any]"
Interval: TypeAlias = "str | float | timedelta"
Moment: TypeAlias = "str | float | datetime | timedelta"


escape_frames()

# The commands of a part name at most so many calls.
_MOST_NUMBERS = 64


class Capture:
    """One analysed capture, or a part of one (`filter`, `between`, `handle`, `series`). Tables and plots of a part show only this
    part: its calls, and the SMB sessions that carry them. A part between two times has all sessions of this time, as `--since` has.

    Tables are made when first asked for. A capture may be used by one thread at a time; several captures by several threads.

        cap = pcq.analyze("x.pcapng", secrets="x.secrets.json")
        cap.handle("q1").counters(interval="5s")
    """

    def __init__(self, analysis: Analysis, paths: tuple[str, ...] = ()) -> None:
        self.analysis = analysis
        self._paths = paths

    def __repr__(self) -> str:
        facts = self.analysis.capture
        files = printable(", ".join(facts.files))
        return f"Capture({files}: {facts.frames} frames, {len(self.analysis.calls)} calls)"

    def _repr_html_(self) -> str:
        return capture_html(self.analysis)

    @property
    def plot(self) -> Plots:
        """Returns the charts of this capture: `timeline`, `counters`, `latency`, `polls`. Raises nothing; their methods may.

        cap.plot.timeline()
        """
        return Plots(self)

    def filter(self, text: str) -> Capture:
        """Returns the capture's part that passes a filter (docs/filters.md). Raises `InputError` if the text is no filter.

        cap.filter("opnum == 6 && status != 0").calls
        """
        return self._part(Selection(filter=CallFilter(text)), filter=text)

    def between(self, since: Moment | None = None, until: Moment | None = None) -> Capture:
        """Returns the part of the capture whose requests are between two times, bounds included.

        A bound is a `datetime` (in UTC where it has no zone), text as for `--since` (`2026-11-20T13:50:16Z`, `13:50:16`, `5m`
        after the first frame), or seconds or a `timedelta` after the first frame. Raises `InputError` for what is no time.

            cap.between("13:50", "13:55").samples
            cap.between(until=90)
        """
        bounds = bound_of(since), bound_of(until)
        options = (
            (option, iso_time(bound.at(self.analysis.capture)))
            for option, bound in zip(("--since", "--until"), bounds, strict=True)
            if bound is not None
        )
        return self._part(Selection(since=bounds[0], until=bounds[1]), options=tuple(options))

    def handle(self, name: str) -> Capture:
        """Returns the capture's part with calls on one query handle or key: `q1`, `k1`, a UUID. Raises `InputError` without any.

        cap.handle("q1").counters(interval="5s")
        """
        return self._part(Selection(handle=name), filter=f"handle == {name}")

    def series(self, *paths: str) -> Capture:
        """Returns the capture's part that answered with these counters; its `counters` and `plot.counters` show only these.

        `paths` are counter paths as for `counters`. Raises `InputError` for one that means nothing here.

            cap.series(r"\\Memory\\Available Bytes").plot.counters()
        """
        view = Counters(self.analysis, paths)
        numbers = {answer.call for batch in view.batches() for answer in batch.answers}
        _check(view)
        return self.only(numbers, f"counters {', '.join(paths)}", paths)

    def _part(
        self, selection: Selection, *, options: tuple[tuple[str, str], ...] = (), filter: str | None = None
    ) -> Capture:
        """Makes, in a notebook, a `Capture` of the selected part of this one. Commands that select the same have these `options`,
        and this `filter`."""
        part = selection.selected_analysis(self.analysis).part
        if part is None:
            return self
        quiet = part.sessions if part.has_quiet_sessions and self._has_quiet_sessions else ()
        made = self._only(part.numbers, part.words, self._paths, quiet)
        return made._given_by(options, filter)

    @property
    def _has_quiet_sessions(self) -> bool:
        part = self.analysis.part
        return part is None or part.has_quiet_sessions

    def _given_by(self, options: tuple[tuple[str, str], ...], filter: str | None) -> Capture:
        """Returns this capture with commands that select by these options and this filter too. A bound of time that they have
        already becomes a filter."""
        given = self.analysis.given
        if given is None:
            return self
        filters = [one for one in (given.filter, filter) if one is not None]
        words = list(given.options)
        for option, time in options:
            if option in words:
                filters.append(f"time {'>=' if option == '--since' else '<='} {time}")
            else:
                words += [option, time]
        both = " && ".join(f"({one})" if len(filters) > 1 else one for one in filters) or None
        return Capture(replace(self.analysis, given=replace(given, options=tuple(words), filter=both)), self._paths)

    def only(self, numbers: Iterable[int], words: str, paths: tuple[str, ...] = ()) -> Capture:
        """Returns the part of the capture with those of these calls that it shows; `words` name the choice. Raises nothing. The
        commands that `triage` names select up to 64 calls by their numbers, and more of them by nothing.

        cap.only([1, 2], "the first two").calls
        """
        made = self._only(numbers, words, paths)
        chosen = made.analysis.shown.numbers
        by_number = f"number in {{{', '.join(map(str, chosen))}}}" if 0 < len(chosen) <= _MOST_NUMBERS else None
        return made._given_by((), by_number)

    def _only(
        self, numbers: Iterable[int], words: str, paths: tuple[str, ...], quiet: Iterable[SmbSession] = ()
    ) -> Capture:
        """Returns the part of the capture with these calls, and with the `quiet` sessions, which need no call."""
        shown, wanted = self.analysis.shown, set(numbers)
        calls = shown.only(number for number in shown.numbers if number in wanted)
        used = {call.session for _, call in calls} | {one.number for one in quiet}
        sessions = tuple(one for one in self.analysis.shown_sessions if one.number in used)
        before = f"{self.analysis.part.words}, " if self.analysis.part is not None else ""
        part = Part(calls.numbers, sessions, before + words, bool(quiet))
        return Capture(replace(self.analysis, part=part), paths)

    def iter_calls(self) -> Iterator[CallDocument]:
        """Yields the shown calls one by one, each as `call` gives it; it keeps none in memory. Raises nothing. `pcq.iter_calls`
        yields the calls of a capture while it is read.

            for call in cap.iter_calls():
                print(call["time"], call["method"])
        """
        for number in self.analysis.shown.numbers:
            yield self.call(number)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Saves the whole analysis, decrypted and without keys, as a case (docs/case-file.md). `open` and every command read it.
        Raises `InputError` if it cannot be written, or if the file exists and `force` is not given.

            cap.save("x.pcq")
        """
        from analyzer.core.output.gate import Destination

        reads = map(path_of_text, self.analysis.capture.files)
        destination = Destination(Path(path), force=force, private=True).sparing(reads)
        with destination.opened(read_back) as out:
            write_case(self.analysis, out, digests=digests_of(self.analysis.capture))
        return Path(path)

    @cached_property
    def calls(self) -> pl.DataFrame:
        """Returns the table of calls, one row a call: `time` in UTC, `latency` in nanoseconds, `*_length` in bytes. `call` and
        `logon` are those of the other tables. `request_params` and `response_params` are structs with a field for each parameter of
        the shown methods, null if a method has no parameter of that name. `*_buffer` is JSON text. Raises nothing: `state` and
        `reason` say what could not be read. Other captures have other fields: `pl.concat(..., how="vertical_relaxed")` puts tables
        together.

            cap.calls.filter(pl.col("request_params").struct.field("dwInSize") > 4096)
            cap.filter("method == PerflibV2QueryCounterData").calls.unnest("request_params")
        """
        calls = calls_table(self.analysis, shown=self.analysis.shown.numbers).rename(KEYS_OF_CALLS)
        return calls.with_columns(structs_of_json(calls[f"{side}_params"]) for side in ("request", "response"))

    @cached_property
    def samples(self) -> pl.DataFrame:
        """Returns the table of raw counter values, of PerflibV2 and winperf alike: `raw` is the captured number (unsigned, no
        unit), `time` in UTC, `perf_freq` in ticks a second. `repeated` marks values that the same answer has before. Raises
        nothing.

            cap.samples.filter(~pl.col("repeated")).join(cap.calls, on="call")
        """
        return table_of(Samples(self.analysis))

    @cached_property
    def problems(self) -> pl.DataFrame:
        """Returns the table of problems, one row for each thing that could not be read; for a part, of its calls. Raises nothing.

        cap.problems.group_by("kind").len()
        """
        return problems_table(self.analysis)

    @cached_property
    def handles(self) -> pl.DataFrame:
        """Returns the table of query handles: which calls opened, polled and closed each (UTC), and what it held. Raises nothing.

        cap.handles.select("handle", "uuid", "end")
        """
        return table_of(Handles(self.analysis))

    @cached_property
    def stats(self) -> dict[str, pl.DataFrame]:
        """Returns a table for each kind of record that `stats` prints: `method-stats`, `poll-stats`, `error-stats`, ...; response
        times and intervals in nanoseconds, sizes in bytes. Raises nothing.

            cap.stats["method-stats"]
        """
        by_kind: dict[type[Record], list[Record]] = {kind: [] for kind in COMMANDS["stats"]}
        for record in stats_records(self.analysis):
            by_kind[type(record)].append(record)
        return {str(kind.__struct_config__.tag): table_of_records(kind, found) for kind, found in by_kind.items()}

    @cached_property
    def sessions(self) -> pl.DataFrame:
        """Returns the table of SMB sessions: who, how it is protected, which key decrypted it; times in UTC. Raises nothing.

        cap.sessions.select("user", "dialect", "decryption")
        """
        return table_of(Sessions(self.analysis))

    @cached_property
    def logons(self) -> pl.DataFrame:
        """Returns the table of logons by SMB or RPC, one row a logon: who, what the server granted, from when until when; `logon`
        is that of a call. Raises nothing.

            cap.logons.filter(pl.col("outcome") == "refused")
        """
        return logons_table(self.analysis)

    @cached_property
    def hosts(self) -> pl.DataFrame:
        """Returns the table of hosts, one row an address, with its names and where each was stated. Raises nothing.

        cap.hosts.explode("names")
        """
        return table_of(Hosts(self.analysis))

    @cached_property
    def processes(self) -> pl.DataFrame:
        """Returns the table of processes, one row a process of a machine: parent, start and sightings in UTC, and what is odd about
        it. Processor time is in percent, memory in bytes. Raises nothing.

            cap.processes.filter(pl.col("oddities").list.len() > 0)
        """
        return table_of(Processes(self.analysis))

    @cached_property
    def files(self) -> pl.DataFrame:
        """Returns the table of files and directories opened over SMB: what was done to each, and the digest of what passed; times
        in UTC. For a part of a capture, the files of its sessions. Raises `InputError` for a case and for a redacted capture.

            cap.files.filter(pl.col("warnings").list.len() > 0)
        """
        return table_of_records(FileRecord, self.analysis.listed_files().files)

    @cached_property
    def triage(self) -> pl.DataFrame:
        """Returns the table of `triage`: what a responder looks at first, the gravest first; times in UTC. Raises nothing.

        cap.triage.select("severity", "text")
        """
        facts = self.analysis.capture
        return table_of_records(Observation, triage(self.analysis, ", ".join(facts.files), None).findings)

    def counters(self, *paths: str, interval: Interval | None = None, exact: bool = False) -> pl.DataFrame:
        """Returns the table of displayed values: rates, percentages, times, as a performance monitor would have shown them. `unit`
        is `/s`, `%`, `s`, or empty for a plain number. `why_null` says why there is no value.

        `paths` are counter paths like those of `--counter` (`\\Process(*)\\% Processor Time`; none: all). `interval` puts readings
        together (`5s`, `500ms`, seconds, or a `timedelta`). `exact` adds a column with each value as a fraction in lowest terms.
        Raises `InputError` for a path that means nothing here.

            cap.counters(r"\\Processor Information(_Total)\\% User Time", interval="5s")
        """
        interval_ns = _interval_ns(interval) if interval is not None else None
        view = Counters(self.analysis, paths or self._paths, interval_ns, exact=exact)
        import polars as pl

        # Text as in the other tables, which are joined with it.
        table = table_of(view).cast({pl.Categorical: pl.String})
        _check(view)
        return table

    def wide(self, *paths: str, interval: Interval | None = None) -> pl.DataFrame:
        """Returns displayed values, one row a moment (`time`, UTC) and one column a series, null without a value. The name of a
        column is the path of its series. If several handles polled series of one path, the first value of a moment is taken.
        `paths` and `interval` are as for `counters`. Raises `InputError` for a path that means nothing here.

            cap.wide(r"\\Process(*)\\% Processor Time").tail()
        """
        return self.counters(*paths, interval=interval).pivot(
            on="path", index="time", values="value", aggregate_function="first", maintain_order=True
        )

    @cached_property
    def _films(self) -> Films:
        return films_of(readings(self.analysis))

    def host(self, machine: str | None = None, at: Moment | None = None) -> HostMoment:
        """Returns what a machine showed at a moment, like its Task Manager: a table for each polled counterset, by its name.

        `machine` is an address or a name; not needed where one was polled. `at` is a moment as for `between`; without it, the last.
        Raises `InputError` for a machine that was not polled, and for what is no time.

            cap.host(at="5m")["Process"].sort("% Processor Time", descending=True, nulls_last=True)
        """
        name, watched = machine_of(self.analysis, self._films, machine)
        bound = bound_of(at)
        time_ns = watched.moments[-1] if bound is None else bound.at(self.analysis.capture)
        if isinstance(at, datetime):
            # It has microseconds: a moment within this one is meant.
            time_ns += 999
        return HostMoment(name, time_ns, watched.moments, list(watched.tables(time_ns)))

    def audit(self, profile: str = "windows") -> Findings:
        """Audits the capture under a profile (`spec`, `windows`, `strict`): returns the tables `findings` and `coverage`
        (requirements).

        Raises `InputError` for another profile.

            cap.audit()["coverage"].group_by("verdict").len()
        """
        if profile not in tuple(Profile):
            raise InputError(f"{profile} is no profile", hint=f"there are {', '.join(Profile)}")
        records = list(AuditView(Audit(self.analysis, profile=Profile(profile))).records())
        return Findings(
            findings=table_of_records(FindingRecord, (one for one in records if isinstance(one, FindingRecord))),
            coverage=table_of_records(CoverageRecord, (one for one in records if isinstance(one, CoverageRecord))),
        )

    def call(self, number: int) -> CallDocument:
        """Returns the record of call `number` (from 1), decoded as in `timeline --format jsonl`; a notebook shows fields and bytes.

        Raises `InputError` where there is no such call.

            cap.call(12)["response"]["params"]
        """
        return CallDocument.of_call(the_call(self.analysis, number), self.analysis)


class CallDocument(dict[str, Any]):
    """A call as a dictionary. A notebook shows it as the call's layers, each with its fields beside its bytes.

    cap.call(12)["response"]["buffer"]
    """

    analysis: Analysis | None = None

    @classmethod
    def of_call(cls, call: Call, analysis: Analysis) -> CallDocument:
        """Makes the dictionary of a call of an analysis. Raises nothing.

        pcq.CallDocument.of_call(call, analysis)
        """
        found = cls(document(call_record(call, analysis)))
        found.analysis = analysis if len(analysis.calls) else None
        return found

    def _repr_html_(self) -> str | None:
        return call_html(self.analysis, self["number"]) if self.analysis is not None else None


class Findings(dict[str, "pl.DataFrame"]):
    """The findings of an audit in a notebook: `findings`, one row each, and `coverage`, one row a requirement.

    cap.audit()["findings"].filter(pl.col("severity") == "error")
    """

    def _repr_html_(self) -> str:
        return findings_html(self["findings"], self["coverage"])


def _check(view: Counters) -> None:
    """Raises `InputError` if a counter path of a notebook's view matched nothing; call it after the view was read."""
    for path, near in view.selection.unmatched():
        raise InputError(f"{path} is no counter of this capture", hint=f"near it: {', '.join(near)}" if near else None)


def _interval_ns(interval: Interval) -> int:
    if isinstance(interval, timedelta):
        interval = interval.total_seconds()
    return interval_of(interval if isinstance(interval, str) else f"{interval:.9f}s")


def bound_of(moment: Moment | None) -> TimeBound | None:
    if moment is None:
        return None
    if isinstance(moment, datetime):
        zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        since = zoned - datetime(1970, 1, 1, tzinfo=UTC)
        ns = (since.days * 86_400 + since.seconds) * NS_PER_S + since.microseconds * 1000
        return TimeBound(zoned.isoformat(), "absolute", ns)
    if isinstance(moment, str):
        try:
            return TimeBound.from_text(moment)
        except ValueError as error:
            raise InputError(str(error)) from None
    seconds = moment.total_seconds() if isinstance(moment, timedelta) else moment
    return TimeBound(f"{seconds} s", "relative", round(seconds * NS_PER_S))


def _keyring(secrets: Secrets | None) -> Keyring | None:
    """Makes a keyring of the secrets that a notebook gives in any form; without any, of the file that the environment names."""
    if secrets is None:
        secrets = os.environ.get(SECRETS_VARIABLE) or None
    if secrets is None or isinstance(secrets, Keyring):
        return secrets
    return Keyring.from_document(secrets) if isinstance(secrets, Mapping) else Keyring.load(secrets)


def analyze(
    path: Source | Sequence[Source],
    secrets: Secrets | None = None,
    *,
    engine: Engine = "own",
    metadata: str | Path | Sequence[str | Path] = (),
    metadata_from: str | None = None,
    progress: bool | Callable[[int, int], None] = False,
    redact: bool | str = False,
) -> Capture:
    """Reads a capture (or several as one, in time order), or a case, as a `Capture`.

    `secrets` is a file as for `--secrets`, what such a file holds as a dictionary, or a `Keyring`; without it, the file that
    `PCQ_SECRETS` names in the environment, if it does. `metadata` and `metadata_from` are as for the options of that name.
    `progress` shows how far reading has come, or is called now and then with the numbers of frames and bytes that were read.
    `redact` puts pseudonyms in the place of names and addresses, as `--redact` does; a text is the key by which those of several
    captures agree. Raises `InputError` for what cannot be read at all.

        cap = pcq.analyze("x.pcapng", secrets={"users": [{"username": "alice", "password": "..."}]})
    """
    keyring = _keyring(secrets)
    sources: Sequence[Source] = path if isinstance(path, Sequence) and not isinstance(path, str) else [path]
    metadata_files = [Path(file) for file in ([metadata] if isinstance(metadata, str | Path) else metadata)]
    given = [load_metadata(file, keyring, engine=engine) for file in metadata_files]
    with watching(sources, notebook=True) if progress is True else nullcontext(progress or None) as notify:
        analysis = run(
            sources,
            keyring,
            engine=engine,
            metadata=given,
            metadata_from=metadata_from,
            progress=notify,
            pseudonyms=_pseudonyms(redact),
            with_files=True,
        )
    analysis = replace(analysis, given=_given(sources, secrets, engine, metadata_files, metadata_from, redact))
    return Capture(analysis)


def _given(
    sources: Sequence[Source],
    secrets: Secrets | None,
    engine: Engine,
    metadata: Sequence[Path],
    metadata_from: str | None,
    redact: bool | str,
) -> Given:
    """Returns the options that a command needs to read a notebook's capture in the same way. Keys that are in no file are left to
    the user."""
    options: dict[str, list[str]] = {
        "--secrets": [str(secrets) if isinstance(secrets, str | Path) else "SECRETS_FILE"] if secrets else [],
        "--engine": [engine] if engine != "own" else [],
        "--metadata": list(map(str, metadata)),
        "--metadata-from": [metadata_from] if metadata_from is not None else [],
    }
    words = [word for option, values in options.items() for value in values for word in (option, value)]
    files = tuple(str(one) if isinstance(one, str | Path) else "-" for one in sources)
    return Given(files, (*words, *(["--redact"] if redact else [])))


def _pseudonyms(redact: bool | str) -> Pseudonyms | None:
    if redact is False:
        return None
    if redact == "":
        raise InputError("an empty key is none", hint="redact=True makes pseudonyms without one.")
    from analyzer.interfaces.redaction.pseudonyms import Pseudonyms

    return Pseudonyms(redact.encode() if isinstance(redact, str) else None)


def iter_calls(
    path: Source | Sequence[Source], secrets: Secrets | None = None, *, engine: Engine = "own"
) -> Iterator[CallDocument]:
    """Yields the calls of a capture while it is read, each like `Capture.call`, in memory that does not grow with the capture.

    A call comes as soon as none that began before its end is under way, in order and with its number, as with `--names-from now`
    of `timeline`. Its names are those that the calls before it state. `path` and `secrets` as for `analyze`; a case gives its calls
    as `Capture.iter_calls` does. Raises `InputError` for what cannot be read.

        for call in pcq.iter_calls("x.pcapng", secrets="x.secrets.json"):
            print(call["time"], call["method"], call["status_name"])
    """
    from analyzer.pipeline.live_reading import stream  # few callers read live

    sources: Sequence[Source] = path if isinstance(path, Sequence) and not isinstance(path, str) else [path]
    if any(is_case(source) for source in sources):
        yield from Capture(run(sources)).iter_calls()
        return
    reading = stream(sources, _keyring(secrets), engine=engine)
    for event in reading:
        if isinstance(event, Call):
            yield CallDocument.of_call(event, reading.analysis)


def open(path: str | Path) -> Any:
    """Opens a case that `Capture.save` or the command `save` wrote: as `analyze` gave it, without captures or keys. A dataset that
    `collect` wrote is opened as a `Dataset`, whose tables are lazy.

    Raises `InputError` for what is neither, damaged, or of a later version of the format.

        cap = pcq.open("x.pcq")
    """
    if is_dataset(path):
        from analyzer.screens.notebook.notebook_dataset import Dataset

        return Dataset.open(path)
    if not is_case(path):
        raise InputError(f"{path} is no case", hint="analyze() reads captures; save() makes cases of them.")
    return Capture(open_case(path))

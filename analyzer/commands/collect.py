"""`pcq collect`: sets of captures into a dataset of tables, on this machine or on a cluster."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from secrets import token_hex
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import EXIT_DONE, EXIT_FILES, EXIT_NOTHING
from analyzer.core.errors import InputError
from analyzer.core.output.gate import say
from analyzer.core.output.terminal import status_line
from analyzer.core.printable_text import counted
from analyzer.core.times import parse_time

if TYPE_CHECKING:
    from analyzer.auth.keyring import Keyring
    from analyzer.collect.collect_run import CollectRequest, Done, Executor, Watcher
    from analyzer.collect.dataset_manifest import StageEntry

# So many files that could not be read are named.
_NAMED = 10
_LATER = "Another run with --secrets (or --password) opens what its keys fit, and reads no capture again."
# An estimate from less would say little.
_LEAST_SECONDS = 2.0


Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCES...",
        help="Captures, directories, globs or URLs. Directories are searched. s3://, gs://, abfs://, ssh://, file://.",
    ),
]
Dataset = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="DATASET", help="Directory or URL of the dataset. A dataset that is there grows."
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="Use this Dask cluster: tls://HOST:PORT."),
]
Insecure = Annotated[
    bool,
    typer.Option("--insecure", help="Send secrets also to a scheduler without TLS. All who reach it can read them."),
]
Workers = Annotated[int | None, typer.Option("--workers", min=1, help="Workers on this machine (as many as cores).")]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory of each worker on this machine: 2GB. Default: its share of what there is.",
    ),
]
Since = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="Frames from this time on: 2026-11-20T13:50.")
]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Frames before this time.")]
Site = Annotated[
    str | None,
    typer.Option(
        "--site",
        metavar="NAME",
        help="Where these were captured. An address is one machine within a site. `directory` or `capture` makes each one a site. "
        "Default: captures of a directory that touch in time are of one site.",
    ),
]
FewerRows = Annotated[
    bool,
    typer.Option("--allow-fewer-rows", help="Write the dataset also where it loses rows. It does without its secrets."),
]
Repair = Annotated[bool, typer.Option("--repair", help="Check the files, and make damaged ones anew.")]
Retries = Annotated[int, typer.Option("--retries", min=0, help="How often to retry a read or task that failed.")]
ProfileName = Annotated[str, typer.Option("--profile", help="Profile of the audit: spec, windows or strict.")]


@command
def collect(
    reading: CaptureReading,
    output: Dataset,
    sources: Sources = None,
    scheduler: Scheduler = None,
    workers: Workers = None,
    memory: Memory = None,
    since: Since = None,
    until: Until = None,
    retries: Retries = 3,
    profile: ProfileName = "windows",
    insecure: Insecure = False,
    site: Site = None,
    allow_fewer_rows: FewerRows = False,
    repair: Repair = False,
) -> None:
    """Collect sets of captures into a dataset of Parquet tables, on all cores or on a Dask cluster. (Extra: cluster)"""
    reading.refuse_redaction("a dataset keeps frames as they were captured")
    reading.refuse_jobs("collect has --workers")
    reading.refuse_bounds("collect reads each capture as a whole; --since and --until choose")
    if reading.engine != "own":
        raise typer.BadParameter("collect reads with its own engine", param_hint="--engine")
    if scheduler is not None and (workers is not None or memory is not None):
        raise typer.BadParameter(
            "the cluster has workers of its own", param_hint="--workers" if workers else "--memory"
        )
    if not sources and not repair:
        raise typer.BadParameter("name captures, directories, globs or URLs", param_hint="SOURCES")
    window = _time("--since", since), _time("--until", until)
    from analyzer.collect.capture_sources import shown
    from analyzer.collect.collect_run import collect as run
    from analyzer.collect.local_workers import LocalWorkers
    from analyzer.core.output.file_store import StorageError

    keys = token_hex(8)
    asked = {"sources": " ".join(map(shown, sources or ())), "since": since, "until": until, "retries": str(retries)}
    asked |= {"site": site, "scheduler": scheduler, "workers": str(workers) if workers else None, "memory": memory}
    stated = {option: value for option, value in asked.items() if value is not None}
    request = _request(reading, sources or [], output, window, retries, profile, keys, stated)
    request = replace(request, site=site, fewer_rows=allow_fewer_rows, repair=repair)
    try:
        with watching_stages() as watcher:
            if scheduler is not None:
                with _cluster(reading.keyring, scheduler, keys=keys, retries=retries, insecure=insecure) as executor:
                    done = run(request, executor, watcher)
            else:
                given: dict[str, Any] = {"keys": keys, "retries": retries, "workers": workers, "memory": memory}
                with LocalWorkers(reading.keyring, **given) as executor:
                    done = run(request, executor, watcher)
    except StorageError as error:
        raise InputError(str(error), hint="What was there before is unchanged.") from None
    raise typer.Exit(_report(done, output, repair=repair))


@contextmanager
def _cluster(keyring: Keyring, scheduler: str, *, keys: str, retries: int, insecure: bool) -> Iterator[Executor]:
    """Connects `collect` to a Dask cluster that already runs, and yields its executor."""
    try:
        from analyzer.collect.dask_cluster import DaskExecutor, cluster
    except ImportError:
        raise InputError("--scheduler needs Dask", hint="pip install 'pcq-analyzer[cluster]'") from None
    with cluster(keyring, scheduler, keys=keys, insecure=insecure) as client:
        yield DaskExecutor(client, retries)


def _request(
    reading: CaptureReading,
    sources: list[str],
    output: str,
    window: tuple[int | None, int | None],
    retries: int,
    profile: str,
    keys: str,
    asked: dict[str, str],
) -> CollectRequest:
    """Makes the request of the `collect` command: finds its sources and reads its metadata."""
    from analyzer.collect.capture_sources import find_sources
    from analyzer.collect.collect_run import CollectRequest
    from analyzer.collect.stage_tasks_and_facts import Job
    from analyzer.questions.audit.audit_engine import Profile

    if profile not in tuple(Profile):
        raise typer.BadParameter(f"there are {', '.join(Profile)}", param_hint="--profile")
    reading.refuse_cases(sources, "a dataset is made of captured packets")
    missing: list[InputError] = []
    found = find_sources(sources, missing)
    if not found and missing:
        raise missing[0]
    dataset = output if "://" in output else os.path.realpath(output)
    return CollectRequest(
        found,
        missing,
        Job(dataset, reading.limits, retries, profile, keys),
        window,
        tuple(reading.given_metadata()),
        reading.metadata_from,
        reading.keyring,
        asked=asked,
    )


def _time(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    if (found := parse_time(text)) is None:
        raise typer.BadParameter(f"{text} is no time: 2026-11-20, or 2026-11-20T13:50:16", param_hint=option)
    return found


def _report(done: Done, output: str, *, repair: bool = False) -> int:
    """Says on standard error what `collect` did, and returns the exit code for it."""
    for restored in done.restored:
        say(f"restored: {restored}")
    for problem in done.problems[:_NAMED]:
        say(problem.text)
    if more := len(done.problems) - _NAMED:
        say(*([f"and {more} more problems of this kind"] if more > 0 else []))
    tables = ", ".join(f"{table.rows:,} {name}" for name, table in done.manifest.tables.items() if table.rows)
    if not done.read and not done.rendered:
        say(f"{output}: nothing is {'damaged' if repair else 'new'}; {tables}")
    else:
        for line in summary_lines(done):
            say(line)
        say(f"{output}: {tables or 'nothing of ours'}; it holds what was decrypted, and no key")
    if done.sealed:
        whole = counted(done.manifest.conversations, "conversation")
        say(f"sealed, at least in part: {done.sealed:,} of {whole}. {_LATER}")
    if done.problems:
        return EXIT_FILES
    if not done.shows:
        say(f"{output} holds no performance call.")
        return EXIT_NOTHING
    return EXIT_DONE


def summary_lines(done: Done) -> Iterator[str]:
    """Yields the lines that the `collect` command prints at its end: what was read and skipped, and what each stage cost, one line
    a stage."""
    manifest = done.manifest
    yield f"{done.read} of {len(manifest.sources)} files read; {manifest.conversations} conversations, {done.analysed} analyses"
    for reason, count in Counter(entry.reason for entry in manifest.skipped).items():
        yield f"  {count} skipped: {reason}"
    yield f"  {'stage':<10}{'tasks':>8}{'failed':>8}{'in, MB':>12}{'out, MB':>12}{'cpu, s':>10}{'elapsed, s':>12}"
    for stage in manifest.stages:
        yield _line(stage)


def _line(stage: StageEntry) -> str:
    return (
        f"  {stage.stage:<10}{stage.tasks:>8,}{stage.failed:>8,}{stage.bytes_in / 1e6:>12,.1f}{stage.bytes_out / 1e6:>12,.1f}"
        f"{stage.cpu_s:>10,.1f}{stage.elapsed_s:>12,.1f}"
    )


@contextmanager
def watching_stages() -> Iterator[Watcher | None]:
    """Yields the watcher by which the `collect` command shows the progress of its stages, if somebody watches."""
    with status_line("starting ...") as update:
        if update is None:
            yield None
        else:
            yield _Progress(update)


class _Progress:
    def __init__(self, update: Callable[[str], None]) -> None:
        self._update = update
        self._stage = ""
        self._began = 0.0

    def __call__(self, stage: str, done: int, total: int, tasks: int, of: int) -> None:
        if stage != self._stage:
            self._stage, self._began = stage, monotonic()
        self._update(stage_words(stage, done, total, tasks, of, monotonic() - self._began))


def stage_words(stage: str, done: int, total: int, tasks: int, of: int, seconds: float) -> str:
    """Describes how far a stage of the `collect` command is: `cut: 12.0 of 40.0 MB (30 %), 3 of 10 tasks, about 35 s left`."""
    words = f"{stage}: "
    if total:
        words += f"{done / 1e6:,.1f} of {total / 1e6:,.1f} MB ({100 * done // total} %), "
    words += f"{tasks} of {of} tasks"
    share = done / total if total else tasks / of if of else 1.0
    if seconds < _LEAST_SECONDS or not 0 < share < 1:
        return words
    minutes, rest = divmod(round(seconds * (1 - share) / share), 60)
    return f"{words}, about {f'{minutes} min {rest} s' if minutes else f'{rest} s'} left"

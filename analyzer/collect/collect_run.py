"""One run of `collect`: reads capture files into a dataset, beside all that the dataset already holds.

Stages, each a set of independent tasks (`Executor` runs them, on this machine or on a Dask cluster):

    cut      each new file once: pieces by pair of hosts, facts                                      (`cut_stage`)
    analyse  each conversation that is touched: the pipeline over its pieces                         (`analyse_stage`)
    joined   once more, those that turned out to belong together
    render   conversations whose rows changed: tables by day and server                              (`render_stage`)

Between the stages, this module decides which pairs of hosts are one conversation, and counts over all. Last, everything takes its
place and the manifest states it. Until then a run writes to a directory of its own, and removes it if it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence, Set
from contextlib import suppress
from hashlib import sha256
from time import monotonic
from typing import Protocol, TypeVar

import msgspec
from msgspec import Struct, field, structs

from analyzer.auth.keyring import Keyring
from analyzer.collect.analyse_stage import analyse, may_open, names_given
from analyzer.collect.capture_sources import SourceFile, shown
from analyzer.collect.commit import commit, tidy
from analyzer.collect.cut_stage import cut_file, flows_met
from analyzer.collect.dataset_lock import LOCK, Lock, locked
from analyzer.collect.dataset_manifest import (
    MANIFEST,
    Facts,
    Manifest,
    SkippedEntry,
    StageEntry,
    read_facts,
    read_manifest,
)
from analyzer.collect.local_workers import reason_of
from analyzer.collect.render_stage import render
from analyzer.collect.stage_tasks_and_facts import (
    AnalyseTask,
    ConversationFacts,
    CutTask,
    FileFacts,
    Job,
    MetTask,
    RenderTask,
    RowsFacts,
    Window,
)
from analyzer.collect.work_plan import PieceIndex, grouped, reading, sites_of, window_of_both
from analyzer.core.errors import InputError
from analyzer.core.events import Problem
from analyzer.core.output.file_store import Store, StoreError
from analyzer.results.reported_names.saved_metadata import Metadata
from analyzer.transport.packet.host_pair_sorter import Pair

Task = TypeVar("Task")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs tasks for a run of `collect`, stage by stage, in order. Yields each task when it ends, with its result or the exception
    that it finally ended in."""

    def run(
        self, stage: str, function: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Result | Exception]]: ...

    def stop(self) -> None:
        """A run of `collect` that fails asks this of its executor: to end the running tasks, as far as that can be done."""


class Watcher(Protocol):
    """Is told the progress of a run of `collect`: the name of the stage, bytes done and in all, tasks done and in all."""

    def __call__(self, stage: str, done: int, total: int, tasks: int, of: int) -> None: ...


class CollectRequest(Struct, frozen=True):
    """The input of a run of `collect`: the sources found, the errors of those not found, how to read them, and the keys."""

    sources: Sequence[SourceFile]
    missing: Sequence[InputError]
    job: Job
    window: Window = (None, None)
    metadata: tuple[Metadata, ...] = ()
    metadata_from: str | None = None
    keyring: Keyring = Keyring()
    # Where the sources were captured (`work_plan`), None: as an earlier run said; whether rows may be lost; whether all files
    # of the dataset are compared with their digests.
    site: str | None = None
    fewer_rows: bool = False
    repair: bool = False
    # What else was asked for, in words: the manifest states it.
    asked: dict[str, str] = field(default_factory=dict)


class Done(Struct):
    """The outcome of a run of `collect`: the manifest, how many files it read, what it could not read, and which damaged parts of
    the dataset it restored. `sealed` counts the dataset's conversations in which something stayed sealed for want of a key."""

    manifest: Manifest
    read: int = 0
    analysed: int = 0
    rendered: int = 0
    # Whether there is a performance call, or something that may hide one.
    shows: bool = True
    sealed: int = 0
    problems: list[Problem] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)


def collect(request: CollectRequest, executor: Executor, watcher: Watcher | None = None) -> Done:
    """Runs `collect`: reads capture files into a dataset. Raises `InputError` if nothing can be read, another run writes to the
    dataset, or the dataset would lose rows; `StoreError` if it cannot be written. The dataset is unchanged then."""
    store, name = Store(request.job.dataset), request.job.run
    found = [] if store.exists(MANIFEST) else store.names("")
    if found and not any(one.startswith(f"{LOCK}/") for one in found):
        raise InputError(
            f"{request.job.dataset} exists and is no dataset",
            hint="Name a directory that is new, or the dataset that is to grow.",
        )
    with locked(store, name) as lock:
        facts, listed = Facts(window=request.window), set[str]()
        if (known := read_manifest(store)) is not None:
            lock.fence(known)
            facts = read_facts(store, known)
            listed = {*facts.sizes, known.facts}
        there, sizes = tidy(store, listed), facts.sizes
        damaged = {name for name, size in sizes.items() if there.get(name) != size}
        if request.repair:
            damaged |= {name for name in sizes.keys() - damaged if store.digest(name) not in name}
        run = _Run(request, executor, watcher, lock, facts, damaged)
        try:
            return run.run(known)
        except BaseException:
            executor.stop()
            with suppress(OSError, InputError):
                lock.check()
                # If this run's manifest was written, its files are the dataset: the next run removes the replaced ones.
                if (now := read_manifest(store)) is None or now.run != name:
                    tidy(store, listed)
            raise


class _Run:
    """Performs one run of `collect`, stage by stage."""

    def __init__(
        self,
        request: CollectRequest,
        executor: Executor,
        watcher: Watcher | None,
        lock: Lock,
        facts: Facts,
        damaged: Set[str] = frozenset(),
    ) -> None:
        self._request, self._executor, self._watcher, self._lock = request, executor, watcher, lock
        self._job, self._facts, self._damaged = request.job, facts, damaged
        self._stages: list[StageEntry] = []
        self._problems: list[Problem] = [Problem("unreadable", "capture", (), str(error)) for error in request.missing]
        self._skipped: list[SkippedEntry] = []
        # Files whose pieces were damaged.
        self._cut_anew = [one.source.url for one in facts.files if one.pieces in damaged]

    def run(self, known: Manifest | None) -> Done:
        facts, manifest, restored = self._facts, known, list[str]()
        before, sites_before = facts.conversations, {one.number: one.site for one in facts.files}
        rendered_before = {one.number for one in before if one.rows is not None and one.rows.failure is None}
        facts.window = window_of_both(facts.window, self._request.window)
        fresh = self._cut()
        fresh |= self._cut_again()
        sites, analysed = self._analyse()
        rendered = self._render()
        sites_now = {one.number: one.site for one in facts.files}
        changed = fresh or analysed or rendered or self._damaged or sites_before != sites_now
        if manifest is None or changed or manifest.options != self.options:
            if not self._request.fewer_rows:
                self._refuse_loss(before, rendered_before)
            restored = self._restored(before)
            failed = [one.failure for one in facts.conversations if one.failure]
            failed += [one.failure for one in facts.rows if one.failure]
            self._problems += [Problem("failed", "pipeline", (), text) for text in failed]
            stated = {"stages": self._stages, "skipped": self._skipped, "options": self.options}
            manifest = commit(self._lock, self._job, facts, sites, self._problems, asked=self._request.asked, **stated)
        self._problems += [one for file in facts.files for one in file.problems if one.kind == "unreadable"]
        shows = any(one.shows for one in facts.conversations)
        sealed = sum(bool(one.lacking) for one in facts.conversations)
        return Done(manifest, len(fresh), analysed, rendered, shows, sealed, self._problems, restored)

    def _refuse_loss(self, before: Sequence[ConversationFacts], rendered_before: Collection[int]) -> None:
        """Raises `InputError` if fewer stubs of a conversation are readable than before this run, or its rows could not be written
        again."""
        after = self._facts.conversations
        lost = 0
        for one in before:
            same = [new for new in after if _have_common(one, new)]
            had = sum(old.readable for old in before if old is one or any(_have_common(old, new) for new in same))
            lost = max(lost, had - sum(new.readable for new in same))
        failed = [one.rows.failure for one in after if one.rows and one.rows.failure and one.number in rendered_before]
        if lost > 0 or failed:
            what = f"{lost:,} requests and responses could not be read any more" if lost > 0 else failed[0]
            raise InputError(
                f"the dataset would lose rows: {what}",
                hint="Give the secrets that it was made with, or add --allow-fewer-rows. The dataset is unchanged.",
            )

    def _restored(self, before: Sequence[ConversationFacts]) -> list[str]:
        """Names the damaged or absent parts of the dataset that this run made again."""
        damaged = self._damaged
        words = [f"the frames of {shown(url)}" for url in self._cut_anew]
        words += [f"conversation {one.number}" for one in before if one.state in damaged]
        words += [f"{name.partition('/')[0]}: {name}" for name in sorted(damaged) if not name.startswith("_")]
        return words

    @property
    def options(self) -> dict[str, str]:
        """Returns the options of the run that the dataset's rows depend on, as text."""
        given = {"profile": self._job.profile}
        if self._request.metadata:
            packed = msgspec.msgpack.encode(self._request.metadata)
            given["metadata"] = sha256(packed).hexdigest()
            given["metadata-from"] = self._request.metadata_from or ""
        return given

    def _stage(
        self,
        stage: str,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        size: Callable[[Task], int],
        cost: Callable[[Result], tuple[float, int]] = lambda _: (0.0, 0),
    ) -> list[tuple[Task, Result | Exception]]:
        """Runs a stage of this run of `collect` and returns its tasks with their results; notes processor seconds and bytes
        written. The longest tasks begin first, so that none of them is alone at the end. The results keep the order of the tasks,
        whichever ended first, so that the dataset does not depend on the workers."""
        began, failed, cpu, done, written = monotonic(), 0, 0.0, 0, 0
        total = sum(map(size, tasks))
        results: dict[int, Result | Exception] = {}

        def tell(finished: int) -> None:
            if self._watcher is not None:
                self._watcher(stage, done, total, finished, len(tasks))

        tell(0)
        in_order = sorted(tasks, key=size, reverse=True)
        for finished, (task, result) in enumerate(self._executor.run(stage, function, in_order), 1):
            done += size(task)
            tell(finished)
            if isinstance(result, StoreError):
                raise result
            if isinstance(result, Exception):
                failed += 1
            else:
                seconds, out = cost(result)
                cpu, written = cpu + seconds, written + out
            results[id(task)] = result
        self._stages.append(
            StageEntry(
                stage=stage,
                tasks=len(tasks),
                failed=failed,
                cpu_s=round(cpu, 3),
                elapsed_s=round(monotonic() - began, 3),
                bytes_in=total,
                bytes_out=written,
            )
        )
        return [(task, results[id(task)]) for task in tasks]

    # Files

    def _cut(self) -> set[int]:
        """Runs the cut stage over the capture files that this run must read; returns their numbers. Raises `InputError` if no file
        of the dataset can be read."""
        facts, request, window = self._facts, self._request, self._facts.window
        new = reading(request.sources, facts.files, window, self._damaged)
        place = {one.number: one.site for one in facts.files}
        asked = {source.url for source in request.sources}
        files = {one.number: one for one in facts.files if one.number not in new}
        again = [shown(one.source.url) for one in files.values() if one.source.url in asked]
        blank = [FileFacts(number, source, window, site=place.get(number, "")) for number, source in new.items()]
        for cut in self._cut_all(blank):
            if cut.status == "unreadable" and cut.source.url in self._cut_anew:
                raise InputError(
                    f"frames of the dataset are lost, and {cut.problems[0].text}",
                    hint="Put the capture where it was, or collect into a new dataset.",
                )
            files[cut.number] = cut
        empty = [one for one in files.values() if one.status == "read" and not one.frames and window != (None, None)]
        self._skipped = [SkippedEntry(url, "it was read by an earlier run") for url in again]
        self._skipped += [SkippedEntry(shown(one.source.url), "no frame is of the time asked for") for one in empty]
        facts.files = [files[number] for number in sorted(files)]
        if not any(one.status != "unreadable" for one in facts.files):
            raise self._nothing()
        # `--site` of this run applies to the files that this run names.
        for one in facts.files:
            if request.site is not None and one.source.url in asked:
                one.site = request.site
        return set(new)

    def _nothing(self) -> InputError:
        reasons = [problem.text for file in self._facts.files for problem in file.problems]
        reasons += [one.text for one in self._problems]
        if not reasons:
            return InputError("no capture was named", hint="Name files, directories, globs or URLs.")
        if len(reasons) == 1:
            return InputError(reasons[0])
        return InputError(f"None of {len(reasons)} files can be read. {reasons[0]}")

    def _cut_all(self, files: Sequence[FileFacts]) -> Iterator[FileFacts]:
        for task, result in self._stage(
            "cut",
            cut_file,
            [CutTask(self._job, one) for one in files],
            lambda task: task.facts.source.size or 0,
            lambda facts: (facts.seconds, facts.pieces_bytes),
        ):
            if isinstance(result, Exception):
                text = f"{shown(task.facts.source.url)} cannot be read: {reason_of(result)}"
                result = structs.replace(task.facts, problems=[Problem("unreadable", "capture", (), text)])
            yield result

    def _cut_again(self) -> set[int]:
        """Runs the cut stage again over capture files that hold a flow on another port which another file shows to be ours; returns
        their numbers."""
        files = {one.number: one for one in self._facts.files}
        known = {number: {*one.recognised, *one.wanted} for number, one in files.items()}
        recognised = set[int]().union(*known.values())
        questions = [
            MetTask(self._job, number, one.pieces, one.met, frozenset(asked))
            for number, one in files.items()
            if (asked := recognised - known[number]) and one.pieces is not None and one.met[1]
        ]
        blank = []
        for task, found in self._stage("flows", flows_met, questions, lambda task: task.met[1]) if questions else ():
            if not isinstance(found, Exception) and found:
                one = files[task.number]
                wanted = sorted(found.union(one.wanted))
                blank.append(FileFacts(one.number, one.source, one.window, site=one.site, wanted=wanted))
        for cut in self._cut_all(blank) if blank else ():
            if cut.pieces is not None:
                files[cut.number] = cut
        self._facts.files = list(files.values())
        return {one.number for one in blank}

    # Conversations

    def _analyse(self) -> tuple[dict[int, int], int]:
        """Runs the analyse stage over the conversations whose pieces are new or changed. Returns the site of each file, and the
        number of analyses. The results may link conversations or split sites: then it runs again."""
        facts, files = self._facts, self._facts.files
        secret_files = tuple(one.source for one in files if one.has_secrets)
        tried = names_given(self._request.keyring, (source.url for source in secret_files))
        has_keys = bool(self._request.keyring or secret_files)
        sound = [one for one in facts.conversations if one.failure is None and one.state not in self._damaged]
        before = {one.inputs: one for one in sound}
        known = {inputs: one for inputs, one in before.items() if not (has_keys and self._may_open(one, tried))}
        numbered = list(facts.conversations)
        analysed, stage = 0, "analyse"
        while True:
            sites = sites_of(files, facts.conversations)
            index = PieceIndex(files, sites)
            taken: set[int] = set()
            tasks = []
            for nodes in grouped(index.nodes, files, facts.conversations, sites):
                pairs, parts = tuple((low, high) for _, low, high in nodes), index.parts(nodes)
                number = self._conversation_number(pairs, {part.number for part in parts}, numbered, taken)
                taken.add(number)
                tasks.append(AnalyseTask(self._job, number, pairs, parts, secret_files))
            wanted = [task.inputs for task in tasks]
            if new := [task for task, inputs in zip(tasks, wanted, strict=True) if inputs not in known]:
                for task, result in self._stage(
                    stage, analyse, new, lambda task: task.size, lambda found: (found.seconds, found.state_bytes)
                ):
                    if isinstance(result, Exception):
                        result = _failed(task, result)
                    result.tried = tried
                    known[result.inputs] = self._better(before.get(result.inputs), result)
                    numbered.append(known[result.inputs])
            facts.conversations = sorted((known[inputs] for inputs in wanted), key=lambda one: one.number)
            analysed, stage = analysed + len(new), "joined"
            if not new:
                return sites, analysed

    def _may_open(self, one: ConversationFacts, tried: str) -> bool:
        """Tells whether the run of `collect` must analyse a conversation again: its keys may open what stayed sealed. `tried` tells
        whose keys there are."""
        return bool(one.lacking) and (
            self._request.repair or one.tried != tried or may_open(one.lacking, self._request.keyring)
        )

    def _better(self, had: ConversationFacts | None, result: ConversationFacts) -> ConversationFacts:
        """Chooses for the run of `collect` between an earlier run's analysis of a conversation and its own: the latter if it opens
        more, and all that was open before."""
        if had is None:
            return result
        lacking, before = set(result.lacking), set(had.lacking)
        if result.failure is None and lacking <= before and (lacking != before or result.readable > had.readable):
            return result
        if result.failure is not None:
            self._problems.append(Problem("unreadable", "capture", (), result.failure))
        elif not lacking >= before:
            text = f"conversation {had.number} stays as it was: the keys of this run do not open all that was opened before"
            self._problems.append(Problem("note", "capture", (), f"{text}. Give all keys together."))
        return structs.replace(had, tried=result.tried)

    def _conversation_number(
        self, pairs: Sequence[Pair], files: set[int], numbered: Sequence[ConversationFacts], taken: set[int]
    ) -> int:
        """Numbers a conversation between the stages of a run of `collect`: as an earlier one whose pairs it has, and a file of it,
        else with the next number."""
        for one in numbered:
            if one.number not in taken and set(one.pairs) <= set(pairs) and not files.isdisjoint(one.files):
                return one.number
        number = self._facts.next_conversation
        self._facts.next_conversation += 1
        return number

    # Rows

    def _render(self) -> int:
        """Runs the render stage over the conversations that have no table rows, or outdated ones. Returns the number of these
        conversations."""
        facts, request = self._facts, self._request
        first_time_ns = min((one.first_time_ns for one in facts.files if one.first_time_ns is not None), default=0)
        tasks = []
        for one in facts.conversations:
            if one.state is not None:
                stated = one.state, one.files, one.server, first_time_ns, sorted(self.options.items())
                key = sha256(msgspec.msgpack.encode(stated)).hexdigest()
                if not self._has_rows(one, key):
                    given = request.metadata, request.metadata_from
                    tasks.append(RenderTask(self._job, one, first_time_ns, *given, key))
        for task, result in self._stage(
            "render",
            render,
            tasks,
            lambda task: task.conversation.state_bytes,
            lambda rows: (rows.seconds, sum(file.bytes for file in rows.files)),
        ):
            if isinstance(result, Exception):
                text = f"the rows of conversation {task.conversation.number} could not be written: {reason_of(result)}"
                result = RowsFacts(task.key, failure=text)
            task.conversation.rows = result
        return len(tasks)

    def _has_rows(self, one: ConversationFacts, key: str) -> bool:
        """Tells the run of `collect` if a conversation needs no rendering: its rows, under this key, are written and undamaged."""
        rows = one.rows
        if rows is None or rows.failure is not None or rows.key != key:
            return False
        return self._damaged.isdisjoint(file.name for file in rows.files)


def _failed(task: AnalyseTask, error: Exception) -> ConversationFacts:
    hosts = ", ".join(" and ".join(pair) for pair in task.pairs)
    text = f"the conversation between {hosts} could not be analysed: {reason_of(error)}"
    numbers = [part.number for part in task.parts]
    return ConversationFacts(
        task.number, task.pairs, numbers, inputs=task.inputs, server=task.pairs[0][1], failure=text
    )


def _have_common(one: ConversationFacts, other: ConversationFacts) -> bool:
    """Tells for the run of `collect` whether a conversation before it and one after it have frames of the same hosts in the same
    capture file."""
    return not set(one.pairs).isdisjoint(other.pairs) and not set(one.files).isdisjoint(other.files)

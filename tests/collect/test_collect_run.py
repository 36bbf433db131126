"""A run and its cluster with nothing behind them: what each stage is given, and what becomes of what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.collect import dask_cluster as module
from analyzer.collect.analyse_stage import HELD, analyse
from analyzer.collect.capture_pieces import PiecePlace
from analyzer.collect.collect_run import CollectRequest, _failed, _Run, collect
from analyzer.collect.cut_stage import cut_file, flows_met
from analyzer.collect.dataset_manifest import Facts, Manifest, SkippedEntry, StageEntry
from analyzer.collect.local_workers import TaskError, reason_of
from analyzer.collect.render_stage import render
from analyzer.collect.stage_tasks_and_facts import (
    AnalyseTask,
    ConversationFacts,
    CutTask,
    FileFacts,
    Job,
    KindFacts,
    MetTask,
    RowsFacts,
    TableFile,
)
from analyzer.core.errors import InputError
from analyzer.core.events import Problem
from analyzer.core.limits import DEFAULTS
from analyzer.core.output.file_store import StoreError
from analyzer.results.reported_names.saved_metadata import Metadata
from analyzer.transport.packet.host_pair_sorter import FrameKind
from tests.collect.test_stages import A, B, C, D, conversation, file_facts, source
from tests.written import is_as_written

pytestmark = pytest.mark.needs("distributed")
JOB = Job("out", DEFAULTS, run="abc")


class Stages:
    """Answers the tasks of each stage by a function of the test, in an order of the test."""

    order: Callable[[Sequence[Any]], Iterable[Any]] = list

    def __init__(self, **answers: Callable[[Any], Any]) -> None:
        self.answers = answers
        self.ran: list[tuple[str, Any]] = []

    def run(self, stage: str, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        self.functions = function
        for task in self.order(tasks):
            self.ran.append((stage, task))
            yield task, self.answers[stage](task)

    def stop(self) -> None:
        pass


def run_of(stages: Any = None, facts: Facts | None = None, profile: str = "windows", **request: Any) -> _Run:
    damaged, watcher = frozenset(request.pop("damaged", ())), request.pop("watcher", None)
    asked = CollectRequest(**{"sources": [], "missing": [], "job": replace(JOB, profile=profile), **request})
    return _Run(asked, stages or Stages(), watcher, None, facts or Facts(), damaged)


def with_places(facts: FileFacts, *pairs: tuple[str, str], client: str | None = None, digest: bytes = b"") -> FileFacts:
    facts.kinds = [KindFacts(FrameKind(pair, client), True, [PiecePlace(0, 1, 1, 7)], digest) for pair in pairs]
    return facts


# -------------------------------------------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TaskError("each worker was killed"), "each worker was killed"),
        (MemoryError("x"), "memory ran out"),
        (InputError("a sentence"), "a sentence"),
        (OSError("no answer"), "no answer"),
        (StoreError("full"), "full"),
        (KeyError("alice's password"), "the program failed (KeyError)"),
    ],
)
def test_why_a_task_ended_in_words(error: Exception, words: str) -> None:
    assert reason_of(error) == words


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ({}, {"profile": "windows"}),
        ({"profile": "spec", "metadata_from": "x", "asked": {"y": "z"}}, {"profile": "spec"}),
    ],
)
def test_what_rows_depend_on(given: dict[str, Any], options: dict[str, str]) -> None:
    run = run_of(**given)
    assert run.options == options


def test_rows_depend_on_the_metadata_that_fills_them_in() -> None:
    one, other = Metadata("a"), Metadata("b")
    keys = [run_of(metadata=given).options for given in ((one,), (one,), (other,), (one, other))]
    assert [sorted(key) for key in keys] == [["metadata", "metadata-from", "profile"]] * 4
    assert keys[0] == keys[1]
    assert len({key["metadata"] for key in keys}) == 3
    assert len(keys[0]["metadata"]) == 64
    assert (keys[0]["metadata-from"], run_of(metadata=(one,), metadata_from="x").options["metadata-from"]) == ("", "x")


def test_that_nothing_can_be_read_says_why() -> None:
    named = [unread(at) for at in range(2)]
    missing = [InputError("lost")]
    for files, absent, words, hint in (
        ([], [], "no capture was named", "Name files, directories, globs or URLs."),
        ([named[0]], [], "file 0 is odd", None),
        ([], missing, "lost", None),
        (named, missing, "None of 3 files can be read. file 0 is odd", None),
        ([file_facts(0, "a")], [InputError("b"), InputError("c")], "None of 2 files can be read. b", None),
    ):
        error = run_of(facts=Facts(files), missing=absent)._nothing()
        assert (str(error), error.hint) == (words, hint)


def unread(number: int) -> FileFacts:
    facts = file_facts(number, f"f{number}", status="unreadable")
    facts.problems = [Problem("unreadable", "capture", (), f"file {number} is odd")]
    return facts


# -------------------------------------------------------------------------------------------------------------- stages


def test_a_stage_states_what_it_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([100.0, 102.34567])
    monkeypatch.setattr("analyzer.collect.collect_run.monotonic", lambda: next(now))
    heard: list[Any] = []
    stages = Stages(made=lambda task: ValueError() if task == 2 else (0.12345, task * 10))
    run = run_of(stages, watcher=lambda *told: heard.append(told))
    found = run._stage("made", len, [1, 3, 2], lambda task: task * 100, lambda result: result)
    # The longest begin first, and the results are in the order of the tasks.
    assert [task for _, task in stages.ran] == [3, 2, 1]
    assert [task for task, _ in found] == [1, 3, 2]
    assert heard == [("made", *told, 3) for told in ((0, 600, 0), (300, 600, 1), (500, 600, 2), (600, 600, 3))]
    (entry,) = run._stages
    assert (entry.stage, entry.tasks, entry.failed) == ("made", 3, 1)
    assert (entry.cpu_s, entry.elapsed_s, entry.bytes_in, entry.bytes_out) == (0.247, 2.346, 600, 40)


def test_what_is_not_said_to_cost_anything_costs_nothing() -> None:
    run = run_of(Stages(made=lambda task: task))
    assert run._stage("made", len, [1], lambda task: 0) == [(1, 1)]
    assert (run._stages[0].cpu_s, run._stages[0].bytes_out, run._stages[0].failed) == (0, 0, 0)


def test_a_dataset_that_cannot_be_written_ends_the_run() -> None:
    run = run_of(Stages(made=lambda task: StoreError("full")))
    with pytest.raises(StoreError, match="full"):
        run._stage("made", len, [1, 2], lambda task: 0)
    assert run._stages == []


# --------------------------------------------------------------------------------------------------------------- files


def test_each_new_file_is_cut_once_and_others_are_stated() -> None:
    def cut(task: CutTask) -> Any:
        if task.facts.source.url == "ssh://me:secret@host/b":
            return MemoryError()
        frames = 0 if task.facts.source.url == "c" else 5
        return replace(task.facts, status="read", frames=frames, seconds=1.5, pieces_bytes=70)

    stages = Stages(cut=cut)
    new = [source("a", size=5), source("ssh://me:secret@host/b"), source("c"), source("d")]
    new[3] = replace(new[3], size=None)
    window: Any = (5, None)
    known = [file_facts(1, "old", frames=1), file_facts(9, "ssh://me:secret@host/k", frames=3, window=window)]
    facts = Facts(known, window=window)
    run = run_of(stages, facts, sources=[*new, source("ssh://me:secret@host/k")])
    assert run._cut() == {10, 11, 12, 13}
    assert stages.functions is cut_file
    assert [
        (stage, task.facts.number, task.facts.window, task.job, task.facts.wanted) for stage, task in stages.ran
    ] == [("cut", number, (5, None), JOB, []) for number in (11, 12, 10, 13)]
    assert [one.number for one in facts.files] == [1, 9, 10, 11, 12, 13]
    lost = facts.files[3]
    assert (lost.status, lost.window, lost.frames) == ("unreadable", (5, None), 0)
    assert [(one.kind, one.layer, one.text) for one in lost.problems] == [
        ("unreadable", "capture", "ssh://host/b cannot be read: memory ran out")
    ]
    assert run._skipped == [
        SkippedEntry("ssh://host/k", "it was read by an earlier run"),
        SkippedEntry("c", "no frame is of the time asked for"),
    ]
    stage = run._stages[0]
    assert (stage.cpu_s, stage.bytes_in, stage.bytes_out, stage.failed) == (4.5, 25, 210, 1)


@pytest.mark.parametrize(("window", "skipped"), [((None, None), 0), ((None, 5), 1), ((5, None), 1)])
def test_a_file_without_frames_is_stated_where_a_time_was_asked_for(window: Any, skipped: int) -> None:
    stages = Stages(cut=lambda task: replace(task.facts, status="read"))
    run = run_of(stages, Facts(window=window), sources=[source("a")])
    run._cut()
    assert len(run._skipped) == skipped


def test_a_flow_that_one_file_recognises_is_looked_for_in_the_others() -> None:
    def again(task: CutTask) -> Any:
        if task.facts.number == 6:
            return task.facts
        return replace(task.facts, status="read", pieces="new", frames=99)

    stages = Stages(
        flows=lambda task: OSError() if task.number == 4 else frozenset({3: {}, 6: {5}}.get(task.number, {7, 5})),
        cut=again,
    )
    files = [
        file_facts(0, "a", pieces="p0", met=(10, 8), recognised=[5], wanted=[6]),
        file_facts(1, "b", pieces="p1", met=(20, 16), recognised=[7]),
        file_facts(2, "c", pieces=None, met=(20, 16)),
        file_facts(3, "d", pieces="p3", met=(0, 8), window=(1, 2)),
        file_facts(4, "e", pieces="p4", met=(0, 8)),
        file_facts(5, "f", pieces="p5", met=(8, 0)),
        file_facts(6, "g", pieces="p6", met=(0, 24)),
        file_facts(7, "h", pieces="p7", met=(0, 8), wanted=[5, 6, 7]),
    ]
    run = run_of(stages, Facts(files))
    assert run._cut_again() == {0, 1, 6}
    asked = [task for stage, task in stages.ran if stage == "flows"]
    assert asked == [
        MetTask(JOB, 6, "p6", (0, 24), frozenset({5, 6, 7})),
        MetTask(JOB, 1, "p1", (20, 16), frozenset({5, 6})),
        MetTask(JOB, 0, "p0", (10, 8), frozenset({7})),
        MetTask(JOB, 3, "p3", (0, 8), frozenset({5, 6, 7})),
        MetTask(JOB, 4, "p4", (0, 8), frozenset({5, 6, 7})),
    ]
    assert run._stages[0].bytes_in == 64
    cut = [task for stage, task in stages.ran if stage == "cut"]
    assert [(task.facts.number, task.facts.wanted) for task in cut] == [(0, [5, 6, 7]), (1, [5, 7]), (6, [5])]
    assert (cut[0].facts.source, cut[0].facts.window, cut[0].job) == (files[0].source, (None, None), JOB)
    # One that could not be cut again stays as it was.
    assert [one.frames for one in run._facts.files] == [99, 99, 0, 0, 0, 0, 0, 0]
    assert run._facts.files[2:] == files[2:]
    assert [entry.stage for entry in run._stages] == ["flows", "cut"]


def test_where_every_flow_is_known_nothing_is_looked_for() -> None:
    facts = Facts([file_facts(0, "a", pieces="p", met=(0, 8), recognised=[5])])
    run = run_of(Stages(flows=lambda task: frozenset()), facts)
    assert run._cut_again() == set()
    assert run._stages == []
    facts.files = [file_facts(0, "a", recognised=[5]), file_facts(1, "b", pieces="p", met=(0, 8))]
    assert run._cut_again() == set()
    assert [entry.stage for entry in run._stages] == ["flows"]
    assert run._executor.functions is flows_met


# ------------------------------------------------------------------------------------------------------- conversations


def analysed(task: Any) -> ConversationFacts:
    files = [part.number for part in task.parts]
    return ConversationFacts(task.number, task.pairs, files, inputs=task.inputs, state_bytes=5, seconds=2.0)


def file_of(*pairs: tuple[str, str], number: int = 0, digest: bytes = b"", **changes: Any) -> FileFacts:
    """A file with frames of these pairs, of the same time as others."""
    given: dict[str, Any] = {"pieces": f"p{number}", "opens_ns": 1, "first_time_ns": 1, "last_time_ns": 2, **changes}
    return with_places(file_facts(number, f"f{number}", **given), *pairs, digest=digest)


class Analysing:
    """A run that is given files; each time, what was asked of workers, what it cost, and which conversations there are then."""

    def __init__(self, facts: Facts | None = None, answer: Callable[[Any], Any] = analysed, **more: Any) -> None:
        self.stages, self.facts = Stages(analyse=answer, joined=answer), facts or Facts()
        self.run = run_of(self.stages, self.facts, **more)

    def of(self, *files: FileFacts) -> str:
        self.facts.files = list(files)
        sites, count = self.run._analyse()
        asked = ", ".join(f"{stage} {task.number} {named(task.pairs)}" for stage, task in self.stages.ran)
        secret = sorted({one.url for _, task in self.stages.ran for one in task.secret_files})
        cost = [(one.stage, one.cpu_s, one.bytes_in, one.bytes_out) for one in self.run._stages]
        self.stages.ran.clear()
        self.run._stages.clear()
        there = [(one.number, named(one.pairs), one.files, one.failure) for one in self.facts.conversations]
        then = f"then {there}, next {self.facts.next_conversation}"
        return f"  sites {sites}, {count} analysed: {asked or 'nothing'} with {secret}; {cost}; {then}\n"


def named(pairs: Sequence[tuple[str, str]]) -> str:
    return "".join({A: "A", B: "B", C: "C", D: "D"}[pair] for pair in pairs)


def linking(task: Any) -> ConversationFacts:
    """Two of three pairs of hosts turn out to belong together."""
    return replace(analysed(task), links=[7] if len(task.pairs) > 1 or task.pairs[0] in (A, C) else [8])


def conversations() -> Iterator[tuple[str, Iterator[str]]]:
    """What files are given in turn, and what becomes of their conversations."""
    run, first, second = Analysing(), file_of(A, B, has_secrets=True), file_of(B, C, number=1)
    given: list[tuple[FileFacts, ...]] = [(first,), (first,), (first, second), (file_of(B, C, number=1, digest=b"x"),)]
    yield "only those that new files touch, or of which there are other frames", (run.of(*one) for one in given)
    every = file_of(A, B, C)
    facts = Facts()
    before = Analysing(facts).of(every)
    facts.conversations[0].failure, facts.conversations[2].state = "memory ran out", "_state/3"
    yield "what failed or is damaged", iter([before, Analysing(facts, damaged={"_state/3"}).of(every)])
    asking, asked = Analysing(), [file_of(A, B)]
    for number, client in enumerate(("10.0.0.9", "10.0.0.3", "10.0.0.1"), 1):
        kdc = with_places(file_of(number=number), (client, "10.0.0.53"), client=client, digest=b"kdc")
        kdc.kinds = [replace(one, has_data=False) for one in kdc.kinds]
        asked.append(kdc)
    of_kdc = (asking.of(asked[0], *kdc) for kdc in ([], *([one] for one in asked[1:])))
    yield "one whose host asked a KDC: nobody's, of B, of both", of_kdc
    linked = Facts(conversations=[ConversationFacts(3, (A, B), [0]), conversation(5, C)], next_conversation=6)
    # A link to a pair that sent no data is none.
    links = iter([Analysing(linked).of(file_of(A, B, C, links=[(A, C), (B, D)]))])
    yield "pairs that files or earlier runs link are one", links

    joining = Analysing(answer=linking)
    # It has the number of one of which it has all pairs.
    yield "those that turn out to belong together are analysed once more", iter([joining.of(every), joining.of(every)])

    def stating(task: Any) -> ConversationFacts:
        guids = {part.number: {"guid 10.0.0.2": [f"guid {part.number}"]} for part in task.parts}
        return replace(analysed(task), known_as=guids)

    facts, two = Facts(), [file_of(A), file_of(A, number=1)]
    apart = (Analysing(facts, stating).of(*two) for _ in range(2))
    yield "servers that state other GUIDs in two files are two, and stay so", apart
    failed = iter([Analysing(answer=lambda task: MemoryError()).of(file_of(A))])
    yield "one that cannot be analysed", failed


def test_what_becomes_of_conversations_is_what_was_read_through() -> None:
    text = "".join(f"{promise}\n{''.join(lines)}" for promise, lines in conversations())
    is_as_written(Path(__file__).with_name("collect_run.txt"), text)


def test_conversations_have_the_same_numbers_whichever_was_analysed_first() -> None:
    found = []
    for order in (list, reversed):
        analysing = Analysing(answer=linking)
        analysing.stages.order = order
        analysing.of(file_of(A, B, C))
        found.append(analysing.facts.conversations)
    assert [(one.number, one.pairs) for one in found[0]] == [(1, (A, C)), (2, (B,))]
    assert found[0] == found[1]


def test_the_stage_is_that_of_conversations_and_several_pairs_are_named() -> None:
    stages = Stages(analyse=analysed)
    run_of(stages, Facts([file_of(A)]))._analyse()
    assert stages.functions is analyse
    both = _failed(AnalyseTask(JOB, 1, (A, B), []), InputError("odd"))
    assert (both.server, both.state) == ("10.0.0.2", None)
    assert both.failure == (
        "the conversation between 10.0.0.1 and 10.0.0.2, 10.0.0.1 and 10.0.0.3 could not be analysed: odd"
    )


# ---------------------------------------------------------------------------------------------------------------- rows


def rendered(task: Any) -> RowsFacts:
    name = f"calls/{task.conversation.number}"
    return RowsFacts(task.key, [TableFile("calls", name, 1, 40), TableFile("hosts", "y", 1, 2)], seconds=1.25)


def with_cases() -> list[ConversationFacts]:
    given: dict[str, Any] = {"server": "10.0.0.2", "state_bytes": 30, "first_time_ns": 8}
    there = [conversation(at, pair, state=f"s{at}", **given) for at, pair in enumerate((A, B, C), 1)]
    return [*there, conversation(4, D, server="x")]


def test_rows_of_a_conversation_are_written_once() -> None:
    stages = Stages(render=rendered)
    facts = Facts(conversations=with_cases())
    one, two, three, _ = facts.conversations
    files = [file_facts(0, "a", first_time_ns=9), file_facts(1, "b"), file_facts(2, "c", first_time_ns=7)]

    def numbers_rendered(run: _Run, files: list[FileFacts] = files) -> list[int]:
        stages.ran.clear()
        facts.files = files
        count = run._render()
        numbers = [task.conversation.number for _, task in stages.ran]
        assert count == len(numbers)
        return numbers

    run = run_of(stages, facts)
    # Of one without a case there are none.
    assert numbers_rendered(run) == [1, 2, 3]
    assert stages.functions is render
    assert all((task.first_time_ns, task.job) == (7, JOB) for _, task in stages.ran)
    assert (run._stages[0].cpu_s, run._stages[0].bytes_out, run._stages[0].bytes_in) == (3.75, 126, 90)
    assert [one.files[0].name for one in facts.rows] == ["calls/1", "calls/2", "calls/3"]
    # Another conversation, or another file, changes nothing of them; then one thing after the other does.
    assert numbers_rendered(run, [*files, file_facts(3, "d", first_time_ns=12)]) == []
    two.state = "new"
    assert numbers_rendered(run) == [2]
    three.rows.failure = "full"
    assert numbers_rendered(run) == [3]
    one.rows = None
    assert numbers_rendered(run) == [1]
    assert numbers_rendered(run_of(stages, facts, damaged={"calls/2"})) == [2]
    assert numbers_rendered(run, files[:2]) == [1, 2, 3]  # the first frame is another
    assert numbers_rendered(run_of(stages, facts, profile="spec", metadata_from="x"), files[:2]) == [1, 2, 3]
    assert stages.ran[-1][1].metadata_from == "x"
    assert numbers_rendered(run, []) == [1, 2, 3]
    assert stages.ran[-1][1].first_time_ns == 0


def test_rows_that_cannot_be_written_are_stated() -> None:
    facts = Facts(conversations=with_cases()[1:])
    assert run_of(Stages(render=lambda task: MemoryError()), facts)._render() == 2
    assert [(one.files, one.hosts, one.coverage, one.failure) for one in facts.rows] == [
        ([], [], {}, f"the rows of conversation {number} could not be written: memory ran out") for number in (2, 3)
    ]


# ------------------------------------------------------------------------------------------------------------ the run


@pytest.fixture
def committed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What runs were committed with; each has the manifest MADE."""
    given: list[Any] = []
    monkeypatch.setattr(
        "analyzer.collect.collect_run.commit", lambda *all_of, **stated: given.append((*all_of, stated)) or MADE
    )
    return given


MADE = Manifest(program="p", schema=1, run="abc")


def run_to_the_end(run: _Run, known: Manifest | None, analysed: int = 0, rendered: int = 0) -> Any:
    """A run whose conversations and rows are made by nobody."""
    made: dict[str, Any] = {"_analyse": lambda: ({0: 0}, analysed), "_render": lambda: rendered}
    for name, answer in made.items():
        setattr(run, name, answer)
    return run.run(known)


def test_a_run_reads_what_is_new_and_goes_on_with_all_files(committed: list[Any]) -> None:
    old = [file_facts(at, name, window=(5, 9)) for at, name in enumerate("abc")]
    facts = Facts(old, [conversation(1, A, shows=True)], window=(5, 9))
    stages = Stages(cut=lambda task: file_facts(task.facts.number, task.facts.source.url, recognised=[4]))
    run = run_of(stages, facts, sources=[source("a", "2"), source("d"), source("b")], window=(6, 9))
    done = run_to_the_end(run, Manifest(program="p", schema=1, run="r", options={"profile": "windows"}), 7, 3)
    # Times of both runs.
    assert [(task.facts.number, task.facts.window) for _, task in stages.ran] == [(3, (5, 9)), (0, (5, 9))]
    assert facts.window == (5, 9)
    assert [(one.number, one.recognised) for one in facts.files] == [(0, [4]), (1, []), (2, []), (3, [4])]
    assert len(committed) == 1
    assert (done.manifest, done.read, done.analysed, done.rendered, done.shows) == (MADE, 2, 7, 3, True)
    assert done.problems == []


@pytest.mark.parametrize(
    ("options", "names", "more", "ends"),
    [
        ({"profile": "windows"}, "a1", {}, True),
        ({"profile": "windows"}, "", {}, True),
        ({"profile": "spec"}, "a1", {}, False),
        ({"profile": "windows"}, "a2", {}, False),
        ({"profile": "windows"}, "a1", {"site": "lab"}, False),
        ({"profile": "windows"}, "a1", {"damaged": {"x"}}, False),
    ],
)
def test_a_dataset_that_has_everything_is_as_it_was(
    options: dict[str, str], names: str, more: dict[str, Any], ends: bool, committed: list[Any]
) -> None:
    gap = Problem("gap", "tcp", (), "a gap")
    facts = Facts([file_facts(0, "a"), unread(1)])
    facts.files[1].problems.append(gap)
    stages = Stages(cut=lambda task: file_facts(task.facts.number, task.facts.source.url))
    sources = [source(*names)] if names else []
    known = Manifest(program="p", schema=1, run="r", options=options)
    done = run_to_the_end(run_of(stages, facts, sources=sources, missing=[InputError("lost")], **more), known)
    assert done.manifest is (known if ends else MADE)
    assert len(committed) == (0 if ends else 1)
    assert [one.text for one in done.problems] == ["lost", "file 1 is odd"]
    assert (done.shows, done.read) == (False, 1 if names == "a2" else 0)


def test_a_run_reads_something() -> None:
    facts = Facts(window=(5, 9))
    run = run_of(Stages(cut=lambda task: unread(0)), facts, sources=[source("a")], window=(5, 7))
    with pytest.raises(InputError, match="file 0 is odd"):
        run.run(None)
    assert [entry.stage for entry in run._stages] == ["cut"]


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        ([("A", 0, 10)], [("A", 0, 10)], None),
        ([("A", 0, 10)], [("A", 0, 9)], "1 requests"),
        ([("A", 0, 10)], [("A", 0, 12)], None),
        ([("A", 0, 10)], [], "10 requests"),
        # What is lost here is not made good by what is new elsewhere.
        ([("A", 0, 10)], [("A", 0, 0), ("B", 0, 50), ("A", 1, 50)], "10 requests"),
        # Conversations that were parted, or joined, are taken together.
        ([("A", 0, 10)], [("A", 0, 4), ("A", 0, 6)], None),
        ([("A", 0, 5), ("A", 1, 6)], [("A", 0, 11), ("A", 1, 0)], "6 requests"),
    ],
)
def test_what_could_be_read_before_can_be_read(before: Any, after: Any, lost: str | None) -> None:
    def made(given: Any) -> list[ConversationFacts]:
        pairs = {"A": A, "B": B}
        return [
            ConversationFacts(at, (pairs[pair],), [file], readable=readable)
            for at, (pair, file, readable) in enumerate(given)
        ]

    run = run_of(facts=Facts(conversations=made(after)))
    if lost is None:
        run._refuse_loss(made(before), ())
    else:
        with pytest.raises(InputError, match=f"the dataset would lose rows: {lost}"):
            run._refuse_loss(made(before), ())


def test_rows_that_could_be_written_before_can_be_written() -> None:
    failed = conversation(2, A, rows=RowsFacts("k", failure="memory ran out"))
    run = run_of(facts=Facts(conversations=[failed, conversation(3, B)]))
    run._refuse_loss([], {3})
    with pytest.raises(InputError, match="the dataset would lose rows: memory ran out"):
        run._refuse_loss([], {2})


def test_what_failed_is_stated_at_the_end(committed: list[Any]) -> None:
    facts = Facts(
        [file_facts(0, "a")],
        [
            conversation(1, A, rows=RowsFacts("k", failure="two"), lacking=["x"]),
            conversation(2, B, failure="one", shows=True),
            conversation(3, C, rows=RowsFacts("k"), lacking=[]),
        ],
    )
    done = run_to_the_end(run_of(facts=facts, missing=[InputError("lost")], asked={"memory": "2GB"}), None)
    ((lock, job, made_of, sites, problems, stated),) = committed
    assert (lock, job, sites) == (None, JOB, {0: 0})
    assert made_of is facts
    assert [(one.kind, one.layer, one.text) for one in problems] == [
        ("unreadable", "capture", "lost"),
        ("failed", "pipeline", "one"),
        ("failed", "pipeline", "two"),
    ]
    entry = StageEntry(stage="cut", tasks=0, failed=0, cpu_s=0, elapsed_s=0, bytes_in=0, bytes_out=0)
    assert replace(stated.pop("stages")[0], elapsed_s=0) == entry
    assert stated == {"skipped": [], "options": {"profile": "windows"}, "asked": {"memory": "2GB"}}
    assert (done.manifest, done.shows, done.sealed) == (MADE, True, 1)


# --------------------------------------------------------------------------------------------------------------- ends


def test_a_directory_that_is_no_dataset_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "calls").mkdir()
    (tmp_path / "calls" / "notes.txt").write_text("mine")
    request = CollectRequest([], [], Job(str(tmp_path), DEFAULTS))
    with pytest.raises(InputError, match="exists and is no dataset") as caught:
        collect(request, Stages())
    assert caught.value.hint == "Name a directory that is new, or the dataset that is to grow."
    assert [path.name for path in tmp_path.rglob("*")] == ["calls", "notes.txt"]


def test_runs_have_names_of_their_own_and_defaults_as_documented() -> None:
    one, other = (Job("out", DEFAULTS) for _ in range(2))
    assert one.run != other.run
    assert len(one.run) == 12
    assert (one.retries, one.profile, one.keys) == (3, "windows", "")
    asked = CollectRequest([], [], one)
    assert (asked.window, asked.metadata) == ((None, None), ())


# ------------------------------------------------------------------------------------------------------------- cluster


LOST = {98: module.NoWorkerError("x", 1.0), 99: module.FutureCancelledError("key", "lost")}


class Future:
    """A task that Dask has, done already."""

    def __init__(self, task: int) -> None:
        self.task = task
        self.released = False

    def result(self) -> int:
        if self.task == 2:
            raise KeyError("odd")
        if self.task in LOST:
            raise LOST[self.task]
        return self.task * 10

    def release(self) -> None:
        self.released = True


class Scheduler:
    """What a client of Dask is asked for."""

    def __init__(self, workers: dict[str, str] | None = None) -> None:
        self.asked: list[Any] = []
        self.futures: list[Future] = []
        self.status = "running"
        self.workers = workers or {}

    def submit(self, function: Any, task: int, **options: Any) -> Future:
        self.asked.append((function, task, options))
        self.futures.append(Future(task))
        return self.futures[-1]

    def register_plugin(self, plugin: Any) -> None:
        self.asked.append(plugin.name)

    def unregister_worker_plugin(self, name: str) -> None:
        self.asked.append(f"no {name}")

    def run(self, function: Any, *given: str) -> dict[str, str]:
        assert (function, given) == (module.version, ("pcq-analyzer",))
        return self.workers

    def __enter__(self) -> Scheduler:
        self.asked.append("client")
        return self

    def __exit__(self, *_: object) -> None:
        self.asked.append("closed")


def test_tasks_begin_in_their_order_and_have_names_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "as_completed", lambda futures: futures[::-1])
    client = Scheduler()
    executor = module.DaskExecutor(client, 5)
    found = list(executor.run("cut", len, [3, 2, 1]))
    assert [(task, repr(result)) for task, result in found] == [(1, "10"), (2, "KeyError('odd')"), (3, "30")]
    assert [task for _, task, _ in client.asked] == [3, 2, 1]
    keys = [options.pop("key") for _, _, options in client.asked]
    assert all(key.startswith("cut-") for key in keys)
    assert [options for _, _, options in client.asked] == [{"retries": 5, "pure": False}] * 3
    assert all(future.released for future in client.futures)
    # Names of tasks are not used again, nor by another run.
    quiet = module.DaskExecutor(client, 0)
    assert list(quiet.run("cut", len, [4])) == [(4, 40)]
    list(executor.run("cut", len, [4]))
    later = [options["key"] for _, _, options in client.asked[3:]]
    assert len({*later, *keys}) == 5
    for task, lost in ((98, "all workers were lost"), (99, "the scheduler was lost")):
        with pytest.raises(InputError, match=lost) as caught:
            list(executor.run("cut", len, [task]))
    assert caught.value.hint == "The dataset is unchanged; run again when there is a scheduler."


def test_keys_are_with_the_workers_as_long_as_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    client, keyring = Scheduler({"tcp://a": module.version("pcq-analyzer")}), Keyring()
    monkeypatch.setattr(module, "Client", lambda address, timeout: client)
    with module.cluster(keyring, "tcp://x", keys="k1") as found:
        assert found is client
        assert client.asked == ["client", "pcq-keys-k1"]
    assert client.asked == ["client", "pcq-keys-k1", "no pcq-keys-k1", "closed"]
    client.status = "closed"
    with pytest.raises(KeyError), module.cluster(keyring, "tcp://x", keys="k1"):
        raise KeyError
    assert client.asked[4:] == ["client", "pcq-keys-k1", "closed"]
    plugin = module.KeysPlugin(keyring, "k2")
    plugin.setup(None)
    assert HELD["k2"] is keyring
    plugin.teardown(None)
    plugin.teardown(None)
    assert "k2" not in HELD
    assert repr(plugin) == "KeysPlugin(pcq-keys-k2)"


def test_workers_have_the_same_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "version", lambda name: "1.0")
    module._check_workers(Scheduler({"tcp://b": "1.0", "tcp://a": "1.0"}), "tcp://s")
    with pytest.raises(InputError, match="the scheduler tcp://s has no workers") as caught:
        module._check_workers(Scheduler(), "tcp://s")
    assert caught.value.hint == "dask worker tcp://s starts one."
    with pytest.raises(InputError, match=r"^worker tcp://b has pcq-analyzer 0\.9, this is 1\.0\n") as caught:
        module._check_workers(Scheduler({"tcp://c": "0.8", "tcp://b": "0.9", "tcp://a": "1.0"}), "tcp://s")
    assert caught.value.hint == "Install the same version on each of these."


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError("no route\nmore"), "the scheduler tcp://x cannot be reached: no route"),
        (TimeoutError(), "the scheduler tcp://x cannot be reached: no answer"),
        (ValueError("odd"), "the scheduler tcp://x cannot be reached: odd"),
    ],
)
def test_a_scheduler_that_cannot_be_reached(error: Exception, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def client(address: str, timeout: int) -> Any:
        assert (address, timeout) == ("tcp://x", 30)
        raise error

    monkeypatch.setattr(module, "Client", client)
    with pytest.raises(InputError) as caught, module.cluster(Keyring(), "tcp://x"):
        pytest.fail("reached")
    assert str(caught.value) == words
    assert caught.value.hint == "dask scheduler starts one, dask worker ADDRESS its workers."

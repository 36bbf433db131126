"""What every display of a capture shows: rows of the call list, one call as layers of bytes with trees of fields, series, findings.

Made once by `analyzer.screens.viewmodel`; the text and JSON of `show`, the page of `report`, the terminal browser and the notebook
lay it out and add nothing to it. Text is as captured: each display escapes what it shows in its own way.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterator
from operator import attrgetter, itemgetter
from typing import Annotated, Any, Literal

from msgspec import UNSET, Struct, UnsetType

from analyzer.core.caches import cached_property
from analyzer.core.printable_text import Discreet
from analyzer.results.calls.call import CallState, SideName
from analyzer.results.records.record_types import Endpoint, Value, doc

# What became of a call, for its colour: it succeeded, its buffer was too small, it failed, could not be unsealed, was captured on
# one side only, or is damaged.
Outcome = Literal["ok", "size", "failed", "sealed", "one-sided", "damaged"]
LayerKind = Literal["frame", "tcp", "smb", "pdu", "sealed", "stub", "buffer"]
# What carried the PDUs: these layers are there only of packets that were read for it.
CARRIERS: tuple[LayerKind, ...] = ("frame", "tcp", "smb")


class Row(Value, frozen=True, kw_only=True):
    """A displayed row of the call list: one call."""

    number: Annotated[int, doc("number of the call")]
    time_ns: Annotated[int, doc("first frame of the request", unit="ns since 1970 UTC")]
    client: Annotated[Endpoint, doc("who called")]
    server: Annotated[Endpoint, doc("who was called")]
    user: Annotated[str | None, doc("account")]
    claimed_user: Annotated[str | None, doc("the account that the client claimed, where the server granted another")]
    interface: Annotated[str | None, doc("name of the interface, its UUID where it has none")]
    method: Annotated[str, doc("the method in short, `QueryCounterData`, `winreg.BaseRegCloseKey`")]
    handle: Annotated[str | None, doc("the handle, `q2`, `k1`")]
    asked: Annotated[str, doc("what was asked, in words")]
    answered: Annotated[str, doc("what came back after the status, in words")]
    status: Annotated[str, doc("the status in words")]
    outcome: Annotated[Outcome, doc("what became of it, for its colour")]
    state: Annotated[CallState, doc("how much of it there is")]
    reason: Annotated[str | None, doc("why it is not complete, in a sentence")]
    latency_ns: Annotated[int | None, doc("from the request's last frame to the response's first", unit="ns")]
    frames: Annotated[
        tuple[str, ...], doc("frames of request and response, `12`; `2:12` in the second of several files")
    ]


class Run(Value, frozen=True):
    """A run of captured bytes in a call's layer: where the bytes from `at` to `stop` of a layer were captured.

    This many bytes were captured, unless what was captured is compressed: then each byte came from all captured ones.
    """

    at: Annotated[int, doc("where it begins in the layer", unit="bytes")]
    stop: Annotated[int, doc("where it ends in the layer", unit="bytes")]
    frame: Annotated[int, doc("number of the frame, as Wireshark counts them")]
    file: Annotated[int, doc("position of its file in the list of files")]
    start: Annotated[int, doc("first byte, counted from the beginning of the frame's captured bytes", unit="bytes")]
    length: Annotated[int, doc("how many bytes of the frame", unit="bytes")]


_start_of, _stop_of = attrgetter("at"), attrgetter("stop")


# How a value follows from the bytes of a field that decides on no other: a number of either byte order, with a sign or without, a
# GUID, or the bytes.
Reads = Literal["", "le", "be", "signed-le", "signed-be", "guid-le", "guid-be", "bytes"]
# What a value stands for: a number in, or bytes where the value is no number.
Words = Callable[[Any], str | None]

NUMBERS: frozenset[Reads] = frozenset({"le", "be", "signed-le", "signed-be"})


def number_read(raw: bytes, reads: Reads) -> int:
    """The number that a display reads in the bytes of a field."""
    return int.from_bytes(raw, "little" if reads.endswith("le") else "big", signed=reads.startswith("signed"))


class Node(Value, frozen=True):
    """A node of a displayed call's tree: a field of a layer, or a structure with the fields in it."""

    name: Annotated[str, doc("id of the field in `ksy/`, or its name in the PDU")]
    spelling: Annotated[str, doc("its name in the specification")]
    type: Annotated[str, doc("`u4`, `text`, `bytes`, ..., or the name of a structure")]
    start: Annotated[int, doc("where it begins in its layer", unit="bytes")]
    length: Annotated[int, doc("its length", unit="bytes")]
    value: Annotated[int | float | str | bool | None, doc("its value; null of a structure")]
    meaning: Annotated[str | None, doc("name of the value, where it has one")]
    reference: Annotated[str, doc("document and section of a structure; empty for a field")]
    children: Annotated[tuple[Node, ...], doc("the fields in it")] = ()
    reads: Annotated[Reads, doc("how its value follows from its bytes; empty where other fields depend on it")] = ""
    words: Annotated[Words | None, doc("what makes the name of its value")] = None

    @property
    def stop(self) -> int:
        return self.start + self.length

    def in_order(self) -> Iterator[Node]:
        """This node of a displayed tree and all nodes in it, each before those in it."""
        left = [self]
        while left:
            node = left.pop()
            yield node
            if node.children:
                left.extend(reversed(node.children))

    def leaves(self) -> Iterator[Node]:
        """The fields in a displayed field that have no fields in them, in order."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()


class Spot(Struct, frozen=True):
    """A displayed field whose meaning follows from its bytes: its position in the tree, and its bytes in the layer."""

    position: int
    start: int
    stop: int
    reads: Reads
    words: Words

    def meaning(self, data: bytes) -> str | None:
        """The meaning of a value in the bytes of a layer, of the field that this display record describes."""
        raw = data[self.start : self.stop]
        return self.words(number_read(raw, self.reads) if self.reads in NUMBERS else raw)


class Form(Struct, frozen=True, eq=False, dict=True, weakref=True):
    """The form of all displayed layers that are alike: the tree of one of them, and what there is to say of each.

    Fields with `reads` have values of their own in each layer.
    """

    tree: Node
    notes: tuple[str, ...] = ()
    problem: str | None = None

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All fields of the form that displayed layers have in common, each before those in it."""
        return tuple(self.tree.in_order())

    @cached_property
    def spots(self) -> tuple[Spot, ...]:
        """The fields in the form of displayed layers whose meanings may differ."""
        return tuple(
            Spot(position, node.start, node.stop, node.reads, node.words)
            for position, node in enumerate(self.nodes)
            if node.words is not None and (node.reads or node.children)
        )

    @cached_property
    def telling(self) -> tuple[Spot, ...]:
        """The spots in a form, among the display records, whose bytes may have a meaning. Raw values of counters have none: these
        are most spots."""
        return tuple([spot for spot in self.spots if not getattr(spot.words, "is_silent", False)])

    @cached_property
    def bytes_that_tell(self) -> Callable[[bytes], Hashable]:
        """Returns a function for the bytes of these spots in a displayed layer: layers that have the same have the same
        meanings."""
        slices = [slice(spot.start, spot.stop) for spot in self.telling]
        return itemgetter(*slices) if slices else lambda _: ()


class LayerBytes(Discreet, frozen=True, kw_only=True):
    """A layer of a displayed call: a run of its bytes as one layer sees it, and the fields in it.

    `parent` is the layer it lies in and `offset` where, None for what was put together of others. Its `repr` shows no bytes.
    """

    hidden = ("data",)
    id: Annotated[str, doc("`request.frame1`, `request.pdu1`, `request.sealed1`, `response.stub`, `response.buffer`")]
    kind: Annotated[
        LayerKind,
        doc(
            "`frame` as captured, `tcp` a message as TCP carried it, `smb` the same decrypted, `pdu` as sent, `sealed` what is "
            "encrypted of it, `stub` joined and unsealed, `buffer` lpData"
        ),
    ]
    title: Annotated[str, doc("its name for people")]
    data: Annotated[bytes, doc("its bytes")]
    runs: Annotated[tuple[Run, ...], doc("where they were captured, before anything was undone")]
    steps: Annotated[tuple[str, ...], doc("what was undone to reach them")]
    stub_start: Annotated[int, doc("of a PDU: where its part of the stub begins", unit="bytes")] = 0
    stub_stop: Annotated[int, doc("of a PDU: where its part of the stub ends", unit="bytes")] = 0
    undone_by: Annotated[tuple[str, ...], doc("of what is sealed: what unsealed it; empty where nothing did")] = ()
    parent: Annotated[str | None, doc("id of the layer it lies in as it is")] = None
    offset: Annotated[int, doc("where in that layer", unit="bytes")] = 0
    tree: Annotated[Node | None, doc("its fields; null where nothing states its layout")] = None
    form: Annotated[Form | None, doc("its fields, for a display that asks for forms in place of trees")] = None
    notes: Annotated[tuple[str, ...], doc("readings that were chosen")] = ()
    problem: Annotated[str | None, doc("its first damage, in a sentence")] = None

    @property
    def frames(self) -> tuple[tuple[int, int], ...]:
        """File and number of each frame that the display record of a layer has, in order, each once."""
        return tuple(dict.fromkeys((run.file, run.frame) for run in self.runs))

    def runs_at(self, start: int, stop: int) -> Iterator[Run]:
        """The runs in the display record of a layer where its bytes from `start` to `stop` were captured, cut to that range where
        each byte has its place."""
        # Runs are in the order of the bytes: none begins or ends before the one before it does.
        reached = slice(bisect_right(self.runs, start, key=_stop_of), bisect_left(self.runs, stop, key=_start_of))
        for run in self.runs[reached]:
            first, last = max(run.at, start), min(run.stop, stop)
            if first < last and run.stop - run.at == run.length:
                yield Run(first, last, run.frame, run.file, run.start + first - run.at, last - first)
            elif first < last:
                yield run

    def frames_at(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        """File and number of each frame that carried the layer's bytes from `start` to `stop`, ascending."""
        return tuple(sorted({(run.file, run.frame) for run in self.runs_at(start, stop)}))


class Fact(Value, frozen=True):
    """A displayed line about what carried a call: a label and what there is to say."""

    layer: Annotated[Literal["frames", "TCP", "SMB", "DCERPC"], doc("which layer states it")]
    label: Annotated[str, doc("what it is")]
    text: Annotated[str, doc("what is stated of it")]


class SideView(Value, frozen=True, kw_only=True):
    """The displayed request or response of a call, layer by layer, outermost first."""

    name: Annotated[SideName, doc("which side")]
    missing: Annotated[str | None, doc("why there is no stub: `not captured`, `sealed`, `undecodable`")]
    buffer_kind: Annotated[str | None, doc("how `lpData` is laid out; null where there is none or it is not known")]
    layers: Annotated[tuple[LayerBytes, ...], doc("its layers")]
    problem: Annotated[str | None, doc("why the stub does not decode, in a sentence")] = None
    lacking: Annotated[str | None, doc("why there are no frames, TCP payload and SMB messages")] = None

    def layer(self, kind: LayerKind) -> LayerBytes | None:
        """The first layer of a kind in a displayed call's side."""
        return next((layer for layer in self.layers if layer.kind == kind), None)


class CallView(Value, frozen=True):
    """One call as displays show it, taken apart."""

    row: Annotated[Row, doc("its line of the list")]
    facts: Annotated[tuple[Fact, ...], doc("how it was carried and secured")]
    sides: Annotated[tuple[SideView, ...], doc("request and response, as far as they were captured")]


class SeriesView(Value, frozen=True, kw_only=True):
    """A displayed series: one counter of one instance as one client saw it, with all its readings."""

    number: Annotated[int, doc("number of the series")]
    source: Annotated[str, doc("`perflib-v2` or `winperf`")]
    server: Annotated[str, doc("address of the server")]
    client: Annotated[str, doc("client's end of the connection")]
    handle: Annotated[str, doc("the handle it was read through")]
    group: Annotated[str, doc("name of the counterset or object")]
    instance: Annotated[str | None, doc("name of the instance")]
    counter: Annotated[str, doc("name of the counter")]
    path: Annotated[str, doc("counter path")]
    added: Annotated[str | None, doc("what the client added to its query to get it, as a path")]
    type: Annotated[str | None, doc("name of the counter type")]
    unit: Annotated[str | None, doc("unit of the values")]
    hidden: Annotated[bool, doc("whether a monitor does not list it")]
    calls: Annotated[tuple[int, ...], doc("call of each reading")]
    times_ns: Annotated[tuple[int, ...], doc("time of each reading", unit="ns")]
    values: Annotated[tuple[float | None, ...], doc("formatted value of each reading; null where there is none")]
    reasons: Annotated[
        tuple[tuple[int, str], ...], doc("position of each reading without a value or with a remark, and why")
    ]


class FindingView(Value, frozen=True, kw_only=True, cache_hash=True):
    """A displayed finding of the audit, and where it is to be seen."""

    rule: Annotated[str, doc("code of the rule")]
    name: Annotated[str, doc("name of the rule")]
    severity: Annotated[Literal["error", "warning", "info"], doc("how bad it is")]
    verdict: Annotated[str, doc("`fail` or `warn`")]
    confidence: Annotated[str, doc("how sure it is")]
    requirements: Annotated[tuple[str, ...], doc("ids of the requirements")]
    section: Annotated[str, doc("document and section of the first of them")]
    statement: Annotated[str, doc("what that section demands")]
    actor: Annotated[str, doc("whom it binds")]
    message: Annotated[str, doc("what was seen, in a sentence")]
    expected: Annotated[str | None, doc("what the specification wants, in words")]
    seen: Annotated[str | None, doc("what there is instead, in words")]
    call: Annotated[int | None, doc("number of the call")]
    layer: Annotated[str | None, doc("id of the layer whose bytes show it")]
    start: Annotated[int, doc("first byte in that layer", unit="bytes")]
    stop: Annotated[int, doc("end of the range in that layer", unit="bytes")]
    field: Annotated[str | None, doc("the place as `show --field` takes it")]
    frames: Annotated[tuple[str, ...], doc("frames that show it")]
    excused: Annotated[bool, doc("whether the profile lets it pass")]


class SectionCoverage(Value, frozen=True):
    """What a display says of an audit's coverage of one section of a document."""

    section: Annotated[str, doc("document and section")]
    verdicts: Annotated[dict[str, int], doc("number of its requirements by verdict")]


class AccountLine(Value, frozen=True, kw_only=True):
    """A displayed line about what was observed of one kind at one machine: sums over observations."""

    machine: Annotated[str, doc("name and address of the machine")]
    severity: Annotated[Literal["high", "medium", "info"], doc("how much the gravest of it matters")]
    kind: Annotated[str, doc("what it is, as `triage` has it")]
    words: Annotated[str, doc("what it was done to, by whom, how often, and what became of it")]
    count: Annotated[int, doc("how many calls, logons or messages it is about")]
    observations: Annotated[int, doc("how many observations there are")]
    first_time_ns: Annotated[int | None, doc("the first time, since 1970 UTC", unit="ns")]
    last_time_ns: Annotated[int | None, doc("the last time, since 1970 UTC", unit="ns")]
    call_numbers: Annotated[tuple[int, ...], doc("numbers of the first 16 calls")]
    frames: Annotated[tuple[int, ...], doc("the first 16 frames")]


class FileView(Value, frozen=True):
    """A file of the capture, as displays show it."""

    name: Annotated[str, doc("name as given; `-` is standard input")]
    size: Annotated[int | None, doc("its size; null where it was not asked for", unit="bytes")]
    sha256: Annotated[str | None, doc("its SHA-256 in hexadecimal; null where it was not asked for")]


class HostView(Value, frozen=True):
    """One address, as displays show it, and what the traffic states about it."""

    ip: Annotated[str, doc("address")]
    roles: Annotated[tuple[str, ...], doc("what it took part as")]
    names: Annotated[tuple[tuple[str, str], ...], doc("its names, and where each was stated")]
    users: Annotated[tuple[str, ...], doc("accounts that were used from there")]
    systems: Annotated[tuple[str, ...], doc("versions of its operating system")]


class IdentityView(Value, frozen=True):
    """An account at a client that was used with a server, as displays show it."""

    user: Annotated[str | None, doc("account, a guest's with the name it claimed; null where nothing states it")]
    client: Annotated[str, doc("address of the client")]
    server: Annotated[str, doc("address of the server")]
    security: Annotated[str, doc("provider and level")]
    calls: Annotated[int, doc("calls made so")]
    failed: Annotated[int, doc("how many of these failed")]
    unread: Annotated[int, doc("how many of these could not be read in whole")]


class ProcessView(Value, frozen=True):
    """A process that was to be seen on a server, as displays show it."""

    server: Annotated[str, doc("address of the server")]
    name: Annotated[str, doc("image name")]
    pid: Annotated[int | None, doc("process id, where a counter shows it")]
    parent: Annotated[str, doc("process id and name of its parent, as far as counters show them")]
    oddities: Annotated[tuple[str, ...], doc("what is odd about it, a sentence each")]
    answers: Annotated[int, doc("in how many answers it was")]
    first_time_ns: Annotated[int, doc("first sighting, since 1970 UTC", unit="ns")]
    last_time_ns: Annotated[int, doc("last sighting, since 1970 UTC", unit="ns")]
    call: Annotated[int, doc("number of the first call whose answer shows it")]


class ProblemView(Value, frozen=True):
    """Something that could not be read, as displays show it, and how often the same was met."""

    kind: Annotated[str, doc("`gap`, `sealed`, `truncated`, `malformed`, ...")]
    layer: Annotated[str, doc("layer that noticed")]
    text: Annotated[str, doc("one sentence, of the first")]
    count: Annotated[int, doc("how many there are")]
    frames: Annotated[tuple[str, ...], doc("frames of the first")]
    frames_left_out: Annotated[int, doc("how many more frames the first has")]


class IncompleteView(Value, frozen=True):
    """Calls that are not complete for the same reason, as displays show them."""

    state: Annotated[CallState, doc("state of the calls")]
    reason: Annotated[str | None, doc("why, in a sentence")]
    count: Annotated[int, doc("how many there are")]


class Overview(Value, frozen=True, kw_only=True):
    """What displays begin with: what was captured, by whom, and what of it could not be read."""

    files: Annotated[tuple[FileView, ...], doc("the files of the capture")]
    frames: Annotated[int, doc("frames in them")]
    bytes: Annotated[int, doc("captured bytes", unit="bytes")]
    redacted: Annotated[bool, doc("whether names and addresses are pseudonyms")]
    first_time_ns: Annotated[int | None, doc("time of the first frame, since 1970 UTC", unit="ns")]
    last_time_ns: Annotated[int | None, doc("time of the last frame, since 1970 UTC", unit="ns")]
    calls: Annotated[int, doc("calls of all interfaces")]
    failed: Annotated[int, doc("of these, answered with a fault or a return value that is not 0, as `stats` counts")]
    unanswered: Annotated[int, doc("without an answer in the capture, as `stats` counts")]
    unread: Annotated[int, doc("sealed, cut, malformed, or with a damaged buffer, as `stats` counts")]
    account: Annotated[tuple[AccountLine, ...], doc("what was observed, a line for each machine and kind")]
    processes: Annotated[tuple[ProcessView, ...], doc("processes that were to be seen in answers")]
    processes_left_out: Annotated[int | UnsetType, doc("how many more there were, if there were too many")] = UNSET
    methods: Annotated[dict[str, int], doc("calls by interface and method")]
    sessions: Annotated[tuple[str, ...], doc("SMB sessions, a sentence each")]
    hosts: Annotated[tuple[HostView, ...], doc("every address")]
    identities: Annotated[tuple[IdentityView, ...], doc("who called")]
    decrypted: Annotated[tuple[str, ...], doc("what the keys decrypted, a sentence each")]
    undecrypted: Annotated[str | None, doc("that nothing was decrypted, in a sentence")]
    hint: Annotated[str | None, doc("what would decrypt the rest")]
    incomplete: Annotated[tuple[IncompleteView, ...], doc("calls that are not complete, by reason")]
    problems: Annotated[tuple[ProblemView, ...], doc("what could not be read")]

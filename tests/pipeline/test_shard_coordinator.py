"""Several processes that share a capture: the same result as one, whatever is in it, and a sentence where one of them ends."""

import io
import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.core.errors import InputError
from analyzer.core.events import CaptureEnds, Event, Problem, StandsAlone
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.traced_bytes import untraced
from analyzer.pipeline import shard_coordinator
from analyzer.pipeline.case import write_case
from analyzer.pipeline.layer_chain import MOST_EVENTS
from analyzer.pipeline.run import analyze
from analyzer.pipeline.shard_worker import Dealer, EventMoment, Shard, ShardFacts, ShardTask, read_shard
from analyzer.results.calls.call_table import CallTable
from analyzer.results.calls.merged_call_tables import CallMerger, MergedTable, MovedCalls, blocks_of
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.tcp.stream_events import Connection, Recognised, StreamBatch
from tests.collect.sets import CAPTURES, keyring_of
from tests.commands.test_all_commands import here
from tests.truth import handful

NAMES = sorted(path.name for path in CAPTURES.iterdir() if path.suffix in (".pcap", ".pcapng"))
_Sent = TypeVar("_Sent")
CLIENTS = "pcq_smbd_scapy_impacket_smb311_ntlm_privacy_2clients.pcap"


class HereReader:
    """Reads a shard in this process; what it is given and gives travels as between processes."""

    def __init__(self, task: ShardTask) -> None:
        self._facts, self._blocks = read_shard(_sent(task))

    def facts(self) -> ShardFacts:
        return _sent(self._facts)

    def blocks(self) -> Iterator[MovedCalls]:
        return map(_sent, self._blocks)

    def end(self) -> None:
        """Nothing is left to be stopped."""


def _sent(given: _Sent) -> _Sent:
    received: _Sent = pickle.loads(pickle.dumps(given))
    return received


@pytest.fixture
def sums(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Shards are read in this process. Whether each capture was the sum of its shards."""
    found: list[bool] = []
    are_a_sum = shard_coordinator._are_a_sum

    def noted(facts: Sequence[ShardFacts]) -> bool:
        found.append(are_a_sum(facts))
        return found[-1]

    monkeypatch.setattr(shard_coordinator, "_are_a_sum", noted)
    monkeypatch.setattr(shard_coordinator, "ProcessReader", HereReader)
    return found


def case_of(names: Sequence[str | Path], jobs: int | None, keyring: Keyring, limits: Limits = DEFAULTS) -> bytes:
    """All that is known of captures, as a case."""
    out = io.BytesIO()
    analysis = analyze([CAPTURES / name for name in names], keyring, jobs=jobs, pdus=False, limits=limits)
    write_case(analysis, out, limits=limits, options={})
    return out.getvalue()


# ------------------------------------------------------------------------------------------------ the same result


@pytest.mark.parametrize("name", [capture.file for capture in handful()])
def test_a_capture_reads_the_same_in_any_number_of_shards(name: str, sums: list[bool]) -> None:
    alone = case_of([name], 1, keyring_of(name))
    for count in (2, 3):
        assert case_of([name], count, keyring_of(name)) == alone
    assert sums == [True, True]


# A capture without binds has calls that may use the keys of others.
@pytest.mark.parametrize(("first", "is_sum"), [(0, True), (1, False), (2, True), (3, True)])
def test_captures_of_many_hosts_read_the_same(first: int, is_sum: bool, sums: list[bool]) -> None:
    names = NAMES[first::4]
    keyring = Keyring().merged(*map(keyring_of, names))
    alone = case_of(names, 1, keyring)
    for count in (2, 3):
        assert case_of(names, count, keyring) == alone
    assert sums == [is_sum, is_sum]


def test_what_reaches_a_limit_is_left_to_one_process(sums: list[bool]) -> None:
    limits = replace(DEFAULTS, smb_memory=20_000)
    assert case_of([CLIENTS], 2, keyring_of(CLIENTS), limits) == case_of([CLIENTS], 1, keyring_of(CLIENTS), limits)
    assert sums == [False]


def test_a_mistake_of_ours_is_found_by_one_process(sums: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shard, "feed", lambda *_: 1 / 0)
    assert case_of([CLIENTS], 2, Keyring()) == case_of([CLIENTS], 1, Keyring())
    assert sums == []


_Change = Callable[[ShardFacts], ShardFacts]


def _shared(**changes: Any) -> _Change:
    return lambda facts: replace(facts, shared=replace(facts.shared, **changes))


def _with(**changes: Any) -> _Change:
    return lambda facts: replace(facts, **changes)


def _numbered(facts: ShardFacts) -> ShardFacts:
    return replace(facts, numbered={**facts.numbered, "keys": [1]})


_SESSION = (7, "10.0.0.2", "10.0.0.1")


@pytest.mark.parametrize(
    ("one", "other", "is_sum"),
    [
        pytest.param(_with(), _with(), True, id="nothing"),
        pytest.param(_shared(sessions={_SESSION}), _shared(sessions={(7, "10.0.0.2", "10.0.0.3")}), True, id="same id"),
        pytest.param(_shared(sessions={_SESSION}), _shared(sessions={_SESSION}), False, id="one session"),
        pytest.param(_shared(sessions={_SESSION}), _shared(bound={7}), False, id="session bound elsewhere"),
        pytest.param(_shared(granted={("s", b"f")}), _shared(granted={("s", b"f")}), True, id="two opens"),
        pytest.param(
            _shared(granted={("s", b"f")}), _shared(reopened={("s", b"f")}), False, id="opened again elsewhere"
        ),
        pytest.param(_shared(handles={("s", "h")}), _shared(handles={("s", "h")}), False, id="one handle"),
        pytest.param(
            _shared(handles={("s", str(at)) for at in range(1 << 15)}),
            _shared(handles={("t", str(at)) for at in range((1 << 15) + 1)}),
            False,
            id="more handles than are remembered",
        ),
        pytest.param(_with(read=(3, 300)), _with(), False, id="file that grows"),
        pytest.param(_with(ended_at=3), _with(), False, id="other events"),
        pytest.param(_with(is_partial=True), _with(), False, id="limit of all"),
        pytest.param(_with(events=[(1, Problem("limit", "smb", (), ""))]), _with(), False, id="limit"),
        pytest.param(_with(events=[(1, Problem("gap", "smb", (), ""))]), _with(), True, id="gap"),
        pytest.param(_with(has_end=True), _with(), True, id="one end"),
        pytest.param(_with(has_end=True), _with(has_end=True), False, id="two ends"),
        pytest.param(_with(has_unbound=True), _with(), True, id="unbound"),
        pytest.param(_with(has_unbound=True), _numbered, False, id="unbound, and keys"),
    ],
)
def test_what_shards_have_in_common_is_found(one: _Change, other: _Change, is_sum: bool) -> None:
    facts = [change(Shard(Keyring(), DEFAULTS, 2).finish((2, 200))) for change in (one, other)]
    assert shard_coordinator._are_a_sum(facts) is is_sum
    assert shard_coordinator._are_a_sum(facts[::-1]) is is_sum


# ------------------------------------------------------------------------------------------------ tables put together


@given(st.data())
@settings(max_examples=25)
def test_tables_of_parts_make_the_table_of_the_whole(data: st.DataObject) -> None:
    calls = [call for name in (CLIENTS, "v1_samba_impacket_smb311_noauth.pcap") for call in _calls_of(name)]
    count = data.draw(st.integers(1, 3))
    parts = data.draw(st.lists(st.integers(0, count - 1), min_size=len(calls), max_size=len(calls)))
    whole, tables = CallTable(), [CallTable() for _ in range(count)]
    moments: list[list[int]] = [[] for _ in tables]
    ends: list[list[int]] = [[] for _ in tables]
    for moment, (call, part) in enumerate(zip(calls, parts, strict=True)):
        whole.append(call)
        tables[part].append(call)
        moments[part].append(moment)
        ends[part].append(tables[part].log.end)
    merged = MergedTable()
    same = {name: np.arange(1, 1 << 10) for name in ("keys", "services", "reads")}
    merger = CallMerger(merged, [table.shared for table in tables], [same] * count)
    blocks = [
        blocks_of(table, np.array(at, np.int64), np.array(end, np.int64))
        for table, at, end in zip(tables, moments, ends, strict=True)
    ]
    found = list(merger.merge(blocks))
    assert [table for some in found for table in some.tables.tolist()] == parts
    everything = np.arange(len(whole))
    assert merged.rows(everything).tobytes() == whole.rows(everything).tobytes()
    assert b"".join(merged.log.pieces()) == b"".join(whole.log.pieces())
    assert merged.shared.contexts == whole.shared.contexts
    assert (merged.shared.smbs, merged.shared.texts) == (whole.shared.smbs, whole.shared.texts)
    assert (merged.shared.steps, merged.shared.handles) == (whole.shared.steps, whole.shared.handles)
    assert list(merged.tally.items()) == list(whole.tally.items())
    assert merged.unbound == whole.unbound


@cache
def _calls_of(name: str) -> list[Any]:
    return list(islice(analyze([CAPTURES / name], keyring_of(name), pdus=False).calls, 60))


# ------------------------------------------------------------------------------------------------ dealing


class _Fed:
    """Stands for a shard: keeps what it is fed."""

    def __init__(self) -> None:
        self.groups: list[Sequence[Event]] = []

    def feed(self, dealt: Sequence[Event]) -> None:
        self.groups.append(dealt)

    def moments(self) -> dict[int, int]:
        """The moment of each event, by its identity."""
        found, now = {}, 0
        for event in chain.from_iterable(self.groups):
            if isinstance(event, EventMoment):
                now = event.number
            else:
                found[id(event)] = now
        return found


def test_the_events_of_a_shard_come_in_order_and_in_large_groups() -> None:
    """Two shards have every other pair of events; a problem lies between some, and a connection is recognised."""
    events = [event for group in islice(_groups(8, 1, _PDU), 400) for event in group for _ in range(2)]
    noise = Problem("note", "tcp", (), "")
    connection = events[100].connection  # type: ignore[attr-defined]
    sent = [*events[:100], noise, Recognised(connection, "smb"), *events[100:], CaptureEnds()]
    shards = [_Fed(), _Fed()]
    others = []
    for number, shard in enumerate(shards):
        groups = [sent[at : at + 64] for at in range(0, len(sent), 64)]
        others.append(list(Dealer(2, by_connection=False).deal(groups, number, shard)))  # type: ignore[arg-type]
    assert others == [[(101, noise)]] * 2
    moments = [shard.moments() for shard in shards]
    order = [(given[id(event)], at) for given in moments for at, event in enumerate(sent) if id(event) in given]
    # No event of the other shard lies between the moment of an event and the event.
    assert [at for _, at in sorted(order)] == sorted(at for _, at in order)
    assert [given[id(sent[-1])] for given in moments] == [len(sent)] * 2
    for shard in shards:
        assert all(isinstance(group[0], EventMoment) for group in shard.groups)
        assert all(len(group) == 2 for group in shard.groups if any(isinstance(one, StandsAlone) for one in group))
        assert sum(len(group) < MOST_EVENTS for group in shard.groups) <= 3


# ------------------------------------------------------------------------------------------------ when it pays


_PDU = bytes.fromhex("0500000310000000") + bytes(92)


def _groups(hosts: int, messages: int, message: bytes) -> Iterator[list[Event]]:
    """So many messages in each of 1000 batches, of so many clients of a server."""
    for at in range(1000):
        client = Endpoint(f"10.0.0.{at % hosts + 1}", 50_000 + at % 4)
        connection = Connection(at % (4 * hosts), client, Endpoint("10.0.1.1", 445), True)
        yield [StreamBatch.of_part(connection, 0, 0, untraced(message * messages))]


@pytest.mark.parametrize(
    ("hosts", "messages", "message", "share_read", "pays", "by_connection"),
    [
        (8, 4, _PDU, 0.09, True, False),
        (1, 4, _PDU, 0.09, True, True),
        (8, 4, _PDU, 0.9, False, False),
        (8, 1, _PDU, 0.09, False, False),
        (8, 8, bytes(4000), 0.01, False, False),
        (8, 4, b"\xfdSMB" + bytes(60), 0.09, True, False),
    ],
)
def test_large_captures_of_several_hosts_are_shared(
    hosts: int, messages: int, message: bytes, share_read: float, pays: bool, by_connection: bool
) -> None:
    groups, read = _groups(hosts, messages, message), [0]

    def share() -> float:
        """As if the capture were read in blocks of 400 batches."""
        read[0] += 1
        return share_read * (1 + read[0] // 400)

    seen = shard_coordinator.preview(groups, share, has_keys=True, always=False)
    assert (seen.pays, seen.by_connection) == (pays, by_connection)
    assert len(list(seen.then(groups))) == 1000


@pytest.mark.parametrize(("hosts", "held", "by_connection"), [(8, 2, False), (1, 1000, True)])
def test_a_second_pair_of_hosts_is_enough_to_begin(hosts: int, held: int, by_connection: bool) -> None:
    seen = shard_coordinator.preview(_groups(hosts, 1, _PDU), lambda: 0.5, has_keys=False, always=True)
    assert (seen.pays, seen.by_connection, len(seen.groups)) == (True, by_connection, held)


# ------------------------------------------------------------------------------------------------ processes


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of several clients, which by itself is too small to be shared."""
    path = tmp_path_factory.mktemp("many") / "many.pcap"
    path.write_bytes((CAPTURES / CLIENTS).read_bytes())
    return path


@pytest.mark.parametrize(
    "command",
    [
        ("timeline", "--format", "jsonl"),
        ("hosts", "--format", "jsonl"),
        ("stats",),
    ],
)
def test_processes_print_the_same(command: tuple[str, ...], many: Path) -> None:
    name, *options = command
    secrets = CAPTURES / CLIENTS.replace(".pcap", ".secrets.json")
    given = [many, "--secrets", secrets, *options]
    alone, shared = (here(name, *given, "--jobs", count) for count in (1, 2))
    assert alone.returncode == 0, alone.stderr
    assert (shared.returncode, shared.stdout, shared.stderr) == (alone.returncode, alone.stdout, alone.stderr)


def test_standard_input_is_read_by_one_process(many: Path) -> None:
    alone, shared = (here("timeline", "-", "--jobs", count, stdin=many.read_bytes()) for count in (1, 2))
    assert shared.stdout == alone.stdout


def test_a_process_that_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[shard_coordinator.ProcessReader] = []

    class Killed(shard_coordinator.ProcessReader):
        def __init__(self, task: ShardTask) -> None:
            super().__init__(task)
            started.append(self)
            self.process.kill()

    monkeypatch.setattr(shard_coordinator, "ProcessReader", Killed)
    with pytest.raises(InputError, match="has ended before its time") as raised:
        analyze([CAPTURES / CLIENTS], jobs=2, pdus=False)
    assert raised.value.hint is not None
    assert "--jobs 1" in raised.value.hint
    assert [reader.process.is_alive() for reader in started] == [False]


def test_an_interrupted_reading_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[shard_coordinator.ProcessReader] = []

    class Interrupting(shard_coordinator.ProcessReader):
        def __init__(self, task: ShardTask) -> None:
            super().__init__(task)
            started.append(self)

        def facts(self) -> ShardFacts | None:
            raise KeyboardInterrupt

    monkeypatch.setattr(shard_coordinator, "ProcessReader", Interrupting)
    with pytest.raises(KeyboardInterrupt):
        analyze([CAPTURES / CLIENTS], jobs=2, pdus=False)
    assert [reader.process.is_alive() for reader in started] == [False]


class Failing(shard_coordinator.ProcessReader):
    def __init__(self, task: ShardTask) -> None:
        super().__init__(replace(task, files=[task.files[0].with_name("removed meanwhile")]))


def refused(*_: object) -> shard_coordinator.ProcessReader:
    raise OSError("no more processes")


@pytest.mark.parametrize("reader", [Failing, refused])
def test_a_process_that_fails_or_cannot_be_started_leaves_the_capture_to_one(
    reader: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_coordinator, "ProcessReader", reader)
    assert case_of([CLIENTS], 2, Keyring()) == case_of([CLIENTS], 1, Keyring())

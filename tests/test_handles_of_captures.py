"""Handle lifetimes and the meaning of blocks are what the server itself noted, in every capture whose server did."""

from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from analyzer.interfaces.pcq.perflib_layer import CatalogLearner
from analyzer.interfaces.resolution.whole_capture_resolution import resolved
from analyzer.interfaces.winperf.winreg_layer import KeyFollower
from analyzer.questions.statistics.handle_lifetimes import HandleCall, HandleLifetime, handle_lifetimes
from analyzer.results.calls.call_table import CallTable
from analyzer.results.calls.query_state import Identifier
from tests import truth
from tests.analyses import analysis_of_file

OPEN, CLOSE, INFO, POLL, VALIDATE = 3, 4, 5, 6, 7
KINDS = {OPEN: "open", CLOSE: "close", INFO: "info", POLL: "poll"}
NEVER_GIVEN_OUT = "11111111-1111-1111-1111-111111111111"
Line = dict[str, Any]
Key = tuple[str, int, int, str]

CAPTURES = [capture for capture in truth.captures() if capture.file.startswith("pcq_")]


def lifetimes_of(capture: truth.Capture) -> dict[str, HandleLifetime]:
    analysis = analysis_of_file(capture.file)
    lifetimes = handle_lifetimes(analysis)
    assert len({lifetime.handle for lifetime in lifetimes}) == len(lifetimes)
    return {lifetime.handle: lifetime for lifetime in lifetimes}


def lines_of(capture: truth.Capture) -> dict[str, list[Line]]:
    """What the server did with each handle, in its order."""
    lines: dict[str, list[Line]] = {}
    for view in truth.server_views(truth.document_of(capture)).values():
        for line in view:
            # A refused opening gives out no handle.
            if line["opnum"] == OPEN and line["status"] != 0:
                continue
            if OPEN <= line["opnum"] <= VALIDATE and line.get("handle") and line["name"] != "opnum9":
                lines.setdefault(str(UUID(bytes_le=bytes.fromhex(line["handle"]))), []).append(line)
    return lines


def key(item: Line) -> Key:
    return item["guid"], item["counter_id"], item["instance_id"], item["instance"]


def ours(identifier: Identifier) -> Key:
    return identifier.counterset, identifier.counter_id, identifier.instance_id, identifier.instance or ""


def compare(event: HandleCall, line: Line, held: list[Key]) -> None:
    """One call as we report it and as the server noted it; `held` is the server's list before it."""
    kind = KINDS.get(line["opnum"]) or ("add" if line["add"] else "remove")
    assert event.kind == kind
    assert (event.status, event.fault) == (line.get("status"), line.get("fault"))
    if line["opnum"] in (INFO, VALIDATE) and line["status"] == 0:
        reported = [(*ours(one), one.status) for one in event.identifiers or ()]
        assert reported == [(*key(item), item["status"]) for item in line["decoded"]]
        if line["opnum"] == INFO:
            assert [one.index for one in event.identifiers or ()] == [item["index"] for item in line["decoded"]]
    if event.succeeded and line["opnum"] != OPEN:
        assert event.view.held is not None
        assert [ours(one) for one in event.view.held] == held
    if line["opnum"] == POLL and line.get("status") == 0:
        assert event.blocks == len(line["decoded"]["blocks"]) == len(held)
        assert event.view.id_source is not None
        assert [ours(event.view.blocks[block]) for block in range(len(held))] == held


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.file)
def test_lives_and_blocks_are_those_of_the_server(capture: truth.Capture) -> None:
    lifetimes, lines = lifetimes_of(capture), lines_of(capture)
    assert set(lifetimes) == set(lines)
    for handle, noted in lines.items():
        lifetime = lifetimes[handle]
        assert len(lifetime.events) == len(noted)
        # Calls of several clients on the same handle are reported in the order of time.
        held: list[Key] = []
        closed = False
        for event, line in zip(lifetime.events, noted, strict=True):
            compare(event, line, held)
            assert ("after-close" in event.violations) == closed
            if line["opnum"] == VALIDATE and line["status"] == 0:
                for item in line["decoded"]:
                    if item["status"] == 0 and line["add"]:
                        held.append(key(item))
                    elif item["status"] == 0:
                        held.remove(key(item))
            closed |= line["opnum"] == CLOSE and line["status"] == 0
        was_opened = noted[0]["opnum"] == OPEN
        assert lifetime.origin == ("opened" if was_opened else "never opened")
        assert was_opened or handle == NEVER_GIVEN_OUT
        assert lifetime.end == ("closed" if closed else "never closed")


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.file)
def test_the_order_of_adding_alone_tells_no_other(capture: truth.Capture) -> None:
    analysis = analysis_of_file(capture.file)
    writer = CallTable()
    for call in analysis.calls:
        if call.opnum != INFO:
            writer.append(call)
    calls, _ = resolved(writer, CatalogLearner(), KeyFollower(), ())
    lifetimes = {lifetime.handle: lifetime for lifetime in handle_lifetimes(replace(analysis, calls=calls))}
    replayed = 0
    for handle, noted in lines_of(capture).items():
        held: list[Key] = []
        events = iter(lifetimes[handle].events)
        for line in noted:
            if line["opnum"] == INFO:
                continue
            event = next(events)
            if line["opnum"] == POLL and line.get("status") == 0 and event.view.id_source is not None:
                assert event.view.id_source == "replay"
                assert [ours(event.view.blocks[block]) for block in range(len(held))] == held
                replayed += len(held)
            elif line["opnum"] == VALIDATE and line["status"] == 0:
                changed = [key(item) for item in line["decoded"] if item["status"] == 0]
                held = [*held, *changed] if line["add"] else [one for one in held if one not in changed]
    assert replayed or not any(lifetime.polls for lifetime in lifetimes.values())


def test_two_clients_are_distinguished() -> None:
    (capture,) = (capture for capture in CAPTURES if "2clients" in capture.file)
    lifetimes = [lifetime for lifetime in lifetimes_of(capture).values() if lifetime.origin == "opened"]
    assert len(lifetimes) == 4
    assert len({lifetime.clients for lifetime in lifetimes}) == 2
    assert all(len(lifetime.channels) == 1 for lifetime in lifetimes)
    calls = sorted((event.call, lifetime.clients[0]) for lifetime in lifetimes for event in lifetime.events)
    turns = sum(one[1] != other[1] for one, other in pairwise(calls))
    assert turns > len(calls) // 2, "their calls lie between each other"

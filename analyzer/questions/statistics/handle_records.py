"""Makes the records of `handles`: each query handle with its events and counters, and what it held when, as positions in these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from analyzer.core.win32_errors import win32_name
from analyzer.questions.statistics.handle_lifetimes import HandleCall, HandleLifetime, shown_lifetimes
from analyzer.results.analysis import Analysis
from analyzer.results.calls.query_state import Identifier, QueryView
from analyzer.results.methods.perflib import NONE_ID
from analyzer.results.records.handle import CounterFacts, EventCounter, HandleEvent, HandleRecord, Holding
from analyzer.results.reported_names.counterset_catalog import Catalog
from analyzer.transport.rpc.fault_names import fault_name

# A client that changes a long list before each poll must not make the record as long as the square of it.
MAX_POSITIONS = 2_000_000
_NOT_LISTED = f"not listed: the polls of this handle held more than {MAX_POSITIONS} counters in different lists"
_Key = tuple[str, int, int, str | None]


def handle_records(analysis: Analysis) -> Iterator[HandleRecord]:
    """Yields a record of `handles` for each shown query handle, in the order of their numbers."""
    return (handle_record(lifetime, analysis) for lifetime in shown_lifetimes(analysis))


def handle_record(lifetime: HandleLifetime, analysis: Analysis) -> HandleRecord:
    """Returns the record of one query handle. `counters` lists each counter once. `holdings` lists each set of counters that it
    held, as positions in `counters`. Each poll states its holding."""
    catalog = analysis.catalogs.catalog_of(lifetime.server)
    counters: dict[_Key, int] = {}
    listed: list[CounterFacts] = []

    def place(identifier: Identifier) -> int:
        if identifier.key not in counters:
            counters[identifier.key] = len(listed)
            listed.append(CounterFacts(**_counter_keys(identifier, catalog)))
        return counters[identifier.key]

    holdings: list[Holding] = []
    known: dict[int, int] = {}
    positions = 0
    events = []
    for event in lifetime.events:
        holding = None
        if event.kind == "poll":
            holding = known.setdefault(id(event.view), len(holdings))
            if holding == len(holdings):
                holdings.append(_holding(event.view, place, is_listed=positions < MAX_POSITIONS))
                positions += len(event.view.held or ())
        events.append(_event_record(event, holding, analysis, catalog))
    return HandleRecord(
        handle=f"q{lifetime.number}",
        uuid=lifetime.handle,
        server=lifetime.server,
        clients=lifetime.clients,
        channels=lifetime.channels,
        origin=lifetime.origin,
        opened=lifetime.opened,
        end=lifetime.end,
        closed=lifetime.closed,
        reason=lifetime.reason,
        first_time_ns=lifetime.events[0].time_ns,
        last_time_ns=lifetime.events[-1].time_ns,
        polls=sum(event.succeeded for event in lifetime.polls),
        counters=tuple(listed),
        holdings=tuple(holdings),
        events=tuple(events),
    )


def _event_record(event: HandleCall, holding: int | None, analysis: Analysis, catalog: Catalog) -> HandleEvent:
    is_answered = event.identifiers is not None
    identifiers = event.identifiers if event.identifiers is not None else event.asked
    frames, files = analysis.capture.numbered(analysis.calls.frames(event.call))
    counters = None
    if identifiers is not None:
        counters = tuple(
            EventCounter(
                **_counter_keys(one, catalog),
                # Counters that only the request names have no status yet.
                status=one.status if is_answered else None,
                status_name=win32_name(one.status) if is_answered else None,
                index=one.index if event.kind == "info" and is_answered else None,
            )
            for one in identifiers
        )
    return HandleEvent(
        kind=event.kind,
        call=event.call,
        time_ns=event.time_ns,
        frames=frames,
        frame_files=files,
        client=event.client,
        channel=event.channel,
        state=event.state,
        status=event.status,
        status_name=win32_name(event.status) if event.status is not None else None,
        fault=event.fault,
        fault_name=fault_name(event.fault) if event.fault is not None else None,
        violations=event.violations,
        holding=holding,
        counters=counters,
        blocks=event.blocks,
    )


def _holding(view: QueryView, place: Callable[[Identifier], int], *, is_listed: bool) -> Holding:
    """Returns the counters that a query handle held, and the counter of each block of a data answer, as positions in the handle's
    `counters`."""
    if not is_listed:
        return Holding(None, None, view.id_source, _NOT_LISTED)
    blocks = None
    if view.held is not None and view.id_source is not None:
        size = max(view.blocks, default=-1) + 1
        # An index that a server made up must not become a list of that length.
        if size <= 2 * len(view.held) + 16:
            named = [view.blocks.get(block) for block in range(size)]
            blocks = tuple([place(identifier) if identifier is not None else None for identifier in named])
    held = tuple([place(identifier) for identifier in view.held]) if view.held is not None else None
    return Holding(held, blocks, view.id_source, view.unknown)


def _counter_keys(identifier: Identifier, catalog: Catalog) -> dict[str, Any]:
    """Returns the keys of a counter identifier for the record of a handle. None means all counters, or any instance number."""
    one = identifier.counter_id if identifier.names_one_counter else None
    entry = catalog.counter(identifier.counterset, one)
    return {
        "counterset": identifier.counterset,
        "counterset_name": catalog.label(identifier.counterset),
        "counter_id": one,
        "counter_name": entry.label if entry is not None else None,
        "instance": identifier.instance,
        "instance_id": identifier.instance_id if identifier.instance_id != NONE_ID else None,
    }

"""`handles`: the lifetime of each query handle, as records and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby

from msgspec import Struct

from analyzer.contents.fields import status_name
from analyzer.contents.lines import Record, endpoint_json, frames_json
from analyzer.core.times import NS_PER_S
from analyzer.core.win32 import win32_name
from analyzer.model.analysis import Analysis
from analyzer.model.catalog import Catalog
from analyzer.model.perflib import NONE_ID
from analyzer.model.query import Identifier, QueryView
from analyzer.rpc.status import fault_name
from analyzer.statistics.handles import HandleEvent, HandleLifetime, handle_lifetimes
from analyzer.viewmodel.words import counterset_words
from analyzer.views.text import folded, problem_lines, safe, styled
from analyzer.views.view import OfCapture

_INDENT = 20
# A client that changes a long list before each poll must not make the record as long as the square of it.
MAX_POSITIONS = 2_000_000
_NOT_LISTED = f"not listed: the polls of this handle held more than {MAX_POSITIONS} counters in different lists"
_Key = tuple[str, int, int, str | None]


class Handles(Struct, OfCapture, frozen=True):
    analysis: Analysis

    def records(self) -> Iterator[Record]:
        return (handle_record(lifetime, self.analysis) for lifetime in handle_lifetimes(self.analysis))

    def lines(self, width: int | None) -> Iterator[str]:
        return handle_lines(self.analysis, width)


# --------------------------------------------------------------------------------------------------------- records


def handle_record(lifetime: HandleLifetime, analysis: Analysis) -> Record:
    """The record of one handle. Each counter is listed once in `counters`; what the handle held is listed once in `holdings`, by
    positions in `counters`, and each poll says which of these was then."""
    catalog = analysis.catalogs.of(lifetime.server)
    counters: dict[_Key, int] = {}
    listed: list[Record] = []

    def place(identifier: Identifier) -> int:
        if identifier.key not in counters:
            counters[identifier.key] = len(listed)
            listed.append(identifier_json(identifier, catalog))
        return counters[identifier.key]

    holdings: list[Record] = []
    known: dict[int, int] = {}
    positions = 0
    events = []
    for event in lifetime.events:
        holding = None
        if event.kind == "poll":
            holding = known.setdefault(id(event.view), len(holdings))
            if holding == len(holdings):
                holdings.append(_holding_json(event.view, place, is_listed=positions < MAX_POSITIONS))
                positions += len(event.view.held or ())
        events.append(_event_json(event, holding, analysis, catalog))
    return {
        "record": "handle",
        "number": lifetime.number,
        "server": endpoint_json(lifetime.server),
        "handle": lifetime.handle,
        "clients": [endpoint_json(client) for client in lifetime.clients],
        "channels": list(lifetime.channels),
        "origin": lifetime.origin,
        "opened": lifetime.opened,
        "end": lifetime.end,
        "closed": lifetime.closed,
        "reason": lifetime.reason,
        "first_time_ns": lifetime.events[0].time_ns,
        "last_time_ns": lifetime.events[-1].time_ns,
        "polls": sum(event.succeeded for event in lifetime.polls),
        "counters": listed,
        "holdings": holdings,
        "events": events,
    }


def _event_json(event: HandleEvent, holding: int | None, analysis: Analysis, catalog: Catalog) -> Record:
    identifiers = event.identifiers if event.identifiers is not None else event.asked
    return {
        "kind": event.kind,
        "call": event.call,
        "time_ns": event.time_ns,
        **frames_json(analysis.calls[event.call - 1].frames, analysis.capture),
        "client": endpoint_json(event.client),
        "channel": event.channel,
        "state": event.state,
        "status": event.status,
        "status_name": win32_name(event.status) if event.status is not None else None,
        "fault": event.fault,
        "fault_name": fault_name(event.fault) if event.fault is not None else None,
        "anomalies": list(event.anomalies),
        "holding": holding,
        "counters": None
        if identifiers is None
        else [
            identifier_json(one, catalog)
            | {
                # What only the request says has no status yet.
                "status": one.status if event.identifiers is not None else None,
                "status_name": win32_name(one.status) if event.identifiers is not None else None,
                "index": one.index if event.kind == "info" and event.identifiers is not None else None,
            }
            for one in identifiers
        ],
        "blocks": event.blocks,
    }


def _holding_json(view: QueryView, place: Callable[[Identifier], int], *, is_listed: bool) -> Record:
    """What a handle held, and for each block of a data answer which counter it is of, as positions in the handle's `counters`."""
    if not is_listed:
        return {"held": None, "blocks": None, "id_source": view.id_source, "reason": _NOT_LISTED}
    blocks = None
    if view.held is not None and view.id_source is not None:
        size = max(view.blocks, default=-1) + 1
        # An index that a server made up must not become a list of that length.
        if size <= 2 * len(view.held) + 16:
            named = [view.blocks.get(block) for block in range(size)]
            blocks = [place(identifier) if identifier is not None else None for identifier in named]
    return {
        "held": [place(identifier) for identifier in view.held] if view.held is not None else None,
        "blocks": blocks,
        "id_source": view.id_source,
        "reason": view.unknown,
    }


def identifier_json(identifier: Identifier, catalog: Catalog) -> Record:
    """What an identifier asks for; null stands for all counters, and for any instance number."""
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


# ------------------------------------------------------------------------------------------------------------ text


def handle_lines(analysis: Analysis, width: int | None) -> Iterator[str]:
    """Each handle with its calls; polls of the same counters with the same outcome share a line."""
    lifetimes = handle_lifetimes(analysis)
    for number, lifetime in enumerate(lifetimes):
        if number:
            yield ""
        yield from _lifetime_lines(lifetime, analysis, width)
    if not lifetimes:
        yield "no query handle was used in any call that could be read"
        yield from problem_lines(analysis, width)


def _lifetime_lines(lifetime: HandleLifetime, analysis: Analysis, width: int | None) -> Iterator[str]:
    clients = ", ".join(str(client) for client in lifetime.clients)
    yield styled("bold", f"q{lifetime.number}  {lifetime.handle}") + safe(f"  {clients} → {lifetime.server}")
    polls = sum(event.succeeded for event in lifetime.polls)
    span = (lifetime.events[-1].time_ns - lifetime.events[0].time_ns) / NS_PER_S
    begin = {
        "opened": f"opened by #{lifetime.opened}",
        "not captured": f"in use from #{lifetime.events[0].call}, its opening was not captured",
        "never opened": f"never opened, used by #{lifetime.events[0].call}",
    }[lifetime.origin]
    end = {
        "closed": f"closed by #{lifetime.closed}",
        "never closed": "never closed in the capture",
        "unknown": "its end is not known",
    }[lifetime.end]
    words = f"    {begin}, {end}, {_counted(polls, 'poll')} answered over {span:,.3f} s"
    yield from _safely(words + (f" ({lifetime.reason})" if lifetime.reason else ""), 4, width)
    start = analysis.capture.first_time_ns or 0
    catalog = analysis.catalogs.of(lifetime.server)
    for _, group in groupby(lifetime.events, key=_alike):
        yield from _event_lines(list(group), start, analysis, catalog, width)


def _alike(event: HandleEvent) -> tuple[object, ...]:
    """Polls that can share a line have the same key, everything else one of its own."""
    if event.kind != "poll":
        return (event.call,)
    return event.state, event.status, event.fault, event.blocks, event.anomalies, id(event.view), event.channel


def _event_lines(
    events: list[HandleEvent], start: int, analysis: Analysis, catalog: Catalog, width: int | None
) -> Iterator[str]:
    first, last = events[0], events[-1]
    numbers = f"#{first.call}" if first is last else f"#{first.call}…#{last.call}"
    marks = "".join(f" [{anomaly.replace('-', ' ')}]" for anomaly in first.anomalies)
    prefix = f"{(first.time_ns - start) / NS_PER_S:12.6f}  {numbers:<10} "
    style = "red" if first.anomalies else None if _went_well(first) else "yellow"
    line = f"{prefix}{_event_words(events)}{_outcome(first)}{marks}"
    for text in folded(line, _INDENT, width):
        yield styled(style, text) if style else safe(text)
    if first.kind in ("add", "remove", "info"):
        for identifier in first.identifiers if first.identifiers is not None else first.asked or ():
            place = f"{identifier.index:>4}: " if first.kind == "info" and first.identifiers is not None else ""
            failed = first.identifiers is not None and identifier.status != 0
            text = f"{'':{_INDENT}}{place}{identifier_words(identifier, catalog)}"
            text += f"  ⇒ {status_name(identifier.status)}" if failed else ""
            for one in folded(text, _INDENT + 4, width):
                yield styled("yellow", one) if failed else safe(one)
    elif first.kind == "poll" and first.succeeded and first.view.unknown is not None:
        yield from _safely(f"{'':{_INDENT}}what its blocks are is not known: {first.view.unknown}", _INDENT, width)


def _went_well(event: HandleEvent) -> bool:
    return event.succeeded and not any(one.status for one in event.identifiers or () if event.kind != "info")


def _event_words(events: list[HandleEvent]) -> str:
    event = events[0]
    count = len(event.identifiers if event.identifiers is not None else event.asked or ())
    if event.kind == "open":
        return "open"
    if event.kind == "close":
        return "close"
    if event.kind == "add":
        return f"add {_counted(count, 'counter')}"
    if event.kind == "remove":
        return f"remove {_counted(count, 'counter')}"
    if event.kind == "info":
        return f"info: {_counted(count, 'counter')} by position" if event.succeeded else "info"
    words = "poll" if len(events) == 1 else f"{len(events)} polls"
    if not event.succeeded:
        return words
    words += f": {_counted(event.blocks or 0, 'block')}"
    source = {"index": "named by QueryCounterInfo", "replay": "named in the order of adding", None: ""}
    return words + (f", {source[event.view.id_source]}" if event.blocks and event.view.id_source else "")


def _outcome(event: HandleEvent) -> str:
    if event.fault is not None:
        return f" ⇒ fault {fault_name(event.fault) or hex(event.fault)}"
    if event.state != "complete":
        return f" ⇒ {event.state}"
    if event.status:
        return f" ⇒ {status_name(event.status)}"
    refused = Counter(one.status for one in event.identifiers or () if one.status and event.kind != "info")
    return f", {sum(refused.values())} refused" if refused else ""


def identifier_words(identifier: Identifier, catalog: Catalog) -> str:
    """`\\Processor Information(_Total)\\% Processor Time`, with `*` for all and numbers where nothing has a name."""
    counter = "*"
    if identifier.names_one_counter:
        entry = catalog.counter(identifier.counterset, identifier.counter_id)
        counter = entry.label if entry is not None and entry.label else f"counter {identifier.counter_id}"
    instance = f"({identifier.instance})" if identifier.instance else ""
    if identifier.instance and identifier.instance_id != NONE_ID:
        instance = f"({identifier.instance}#{identifier.instance_id})"
    return f"\\{counterset_words(identifier.counterset, catalog)}{instance}\\{counter}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _safely(line: str, indent: int, width: int | None) -> Iterator[str]:
    return (safe(text) for text in folded(line, indent, width))

"""The view of `handles`: the lifetime of each query handle, and what was read through registry keys, as records and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, groupby

from msgspec import Struct

from analyzer.core.printable_text import counted
from analyzer.core.times import NS_PER_S
from analyzer.interfaces.call_contents.call_field_maps import status_name
from analyzer.questions.statistics.call_statistics import poll_stats
from analyzer.questions.statistics.handle_lifetimes import HandleCall, HandleLifetime, handle_records, shown_lifetimes
from analyzer.results.analysis import Analysis
from analyzer.results.calls.query_state import Identifier
from analyzer.results.methods.perflib import NONE_ID
from analyzer.results.records.handle import HandleRecord
from analyzer.results.records.record_types import Endpoint
from analyzer.results.records.statistics import PollStatsRecord
from analyzer.results.reported_names.counterset_catalog import Catalog
from analyzer.screens.viewmodel.call_summary_words import counterset_words
from analyzer.screens.views.stats import duration
from analyzer.screens.views.text_report import doubt_lines, folded, nothing_passes, problem_lines, safe, styled
from analyzer.screens.views.view_type import OfCapture

_INDENT = 20


class Handles(Struct, OfCapture, frozen=True):
    analysis: Analysis

    def records(self) -> Iterator[HandleRecord | PollStatsRecord]:
        """Yields the records of `handles`: one a query handle, then one for each value that was read through a registry key."""
        return chain(handle_records(self.analysis), *_by_key(self.analysis))

    def lines(self, width: int | None) -> Iterator[str]:
        """Yields each query handle with its calls; polls of the same counters with the same outcome share a line."""
        found = [_lifetime_lines(one, self.analysis, width) for one in shown_lifetimes(self.analysis)]
        found += [_key_lines(reads, width) for reads in _by_key(self.analysis)]
        for number, lines in enumerate(found):
            if number:
                yield ""
            yield from lines
        if not found:
            yield from nothing_passes(self.analysis) or (
                "no query handle was used, and no performance data read through the registry, in any call that could be read",
            )
            yield from problem_lines(self.analysis, width)
        yield from doubt_lines(self.analysis, width, of_values=False)


# ------------------------------------------------------------------------------------------------------------ text


def _by_key(analysis: Analysis) -> Iterable[list[PollStatsRecord]]:
    """Groups the values read through registry keys by key and client, in the order of first reads, for `handles`."""
    found: dict[tuple[str, Endpoint, Endpoint], list[PollStatsRecord]] = {}
    for one in poll_stats(analysis):
        if one.what is not None:
            found.setdefault((one.handle, one.client, one.server), []).append(one)
    return found.values()


def _key_lines(reads: list[PollStatsRecord], width: int | None) -> Iterator[str]:
    """Yields the heading of a registry key in `handles`, and one line for each value that was read through it."""
    first = reads[0]
    yield from _head(f"{first.handle}  registry key", f"{first.client} → {first.server}", width)
    for read in reads:
        numbers = (
            f"#{read.first_call}" if read.first_call == read.last_call else f"#{read.first_call}…#{read.last_call}"
        )
        words = f"{counted(read.polls, 'poll')} answered"
        if read.failed:
            words += f", {read.failed:,} not"
        if (median := read.intervals_ns.median) is not None:
            known = read.intervals_ns.count
            # Whether all intervals are like those that are known, nobody knows.
            some = f"; {counted(known, 'interval')} known, {duration(median)} in the median"
            words += f", every {duration(median)}" if known == read.polls + read.failed - 1 else some
        yield from _safely(f"    {numbers:<12} {read.what}: {words}", _INDENT, width)


def _lifetime_lines(lifetime: HandleLifetime, analysis: Analysis, width: int | None) -> Iterator[str]:
    clients = ", ".join(str(client) for client in lifetime.clients)
    yield from _head(f"q{lifetime.number}  {lifetime.handle}", f"{clients} → {lifetime.server}", width)
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
    words = f"    {begin}, {end}, {counted(polls, 'poll')} answered over {span:,.3f} s"
    yield from _safely(words + (f" ({lifetime.reason})" if lifetime.reason else ""), 4, width)
    start = analysis.capture.first_time_ns or 0
    catalog = analysis.catalogs.catalog_of(lifetime.server)
    for _, group in groupby(lifetime.events, key=_alike):
        yield from _event_lines(list(group), start, catalog, width)


def _alike(event: HandleCall) -> tuple[object, ...]:
    """Returns a key that is equal for polls in `handles` that share a line, and unique for other calls."""
    if event.kind != "poll":
        return (event.call,)
    return event.state, event.status, event.fault, event.blocks, event.violations, id(event.view), event.channel


def _event_lines(events: list[HandleCall], start: int, catalog: Catalog, width: int | None) -> Iterator[str]:
    first, last = events[0], events[-1]
    numbers = f"#{first.call}" if first is last else f"#{first.call}…#{last.call}"
    marks = "".join(f" [{violation.replace('-', ' ')}]" for violation in first.violations)
    prefix = f"{(first.time_ns - start) / NS_PER_S:12.6f}  {numbers:<10} "
    style = "red" if first.violations else None if _went_well(first) else "yellow"
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


def _went_well(event: HandleCall) -> bool:
    return event.succeeded and not any(one.status for one in event.identifiers or () if event.kind != "info")


def _event_words(events: list[HandleCall]) -> str:
    event = events[0]
    count = len(event.identifiers if event.identifiers is not None else event.asked or ())
    if event.kind == "open":
        return "open"
    if event.kind == "close":
        return "close"
    if event.kind == "add":
        return f"add {counted(count, 'counter')}"
    if event.kind == "remove":
        return f"remove {counted(count, 'counter')}"
    if event.kind == "info":
        return f"info: {counted(count, 'counter')} by position" if event.succeeded else "info"
    words = "poll" if len(events) == 1 else f"{len(events)} polls"
    if not event.succeeded:
        return words
    words += f": {counted(event.blocks or 0, 'block')}"
    source = {"index": "named by QueryCounterInfo", "replay": "named in the order of adding", None: ""}
    return words + (f", {source[event.view.id_source]}" if event.blocks and event.view.id_source else "")


def _outcome(event: HandleCall) -> str:
    if event.fault is not None:
        return f" ⇒ {event.fault_words}"
    if event.state != "complete":
        return f" ⇒ {event.state}"
    if event.status:
        return f" ⇒ {status_name(event.status)}"
    refused = Counter(one.status for one in event.identifiers or () if one.status and event.kind != "info")
    return f", {sum(refused.values())} refused" if refused else ""


def identifier_words(identifier: Identifier, catalog: Catalog) -> str:
    """Describes a counter identifier in `handles`: `\\Processor Information(_Total)\\% Processor Time`, with `*` for all counters,
    and numbers for unknown names."""
    counter = "*"
    if identifier.names_one_counter:
        entry = catalog.counter(identifier.counterset, identifier.counter_id)
        counter = entry.label if entry is not None and entry.label else f"counter {identifier.counter_id}"
    instance = f"({identifier.instance})" if identifier.instance else ""
    if identifier.instance and identifier.instance_id != NONE_ID:
        instance = f"({identifier.instance}#{identifier.instance_id})"
    return f"\\{counterset_words(identifier.counterset, catalog)}{instance}\\{counter}"


def _head(name: str, hosts: str, width: int | None) -> Iterator[str]:
    """Yields the heading of a handle in `handles`, with who used it at which server."""
    first, *others = folded(f"{name}  {hosts}", 4, width)
    yield styled("bold", first[: len(name)]) + safe(first[len(name) :])
    yield from map(safe, others)


def _safely(line: str, indent: int, width: int | None) -> Iterator[str]:
    return (safe(text) for text in folded(line, indent, width))

"""Finds how clients offer a larger buffer after a server said that it is too small: calls in, a mark of each connection out.

A mark is `calls.growth=INTERFACE RULE`: `exact` (the size that the server stated), `doubled`, or `+4096` for a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analyzer.results.calls.call import Call, Side
from analyzer.results.calls.call_row_columns import Context
from analyzer.results.calls.held_calls import HeldCall, HeldSide
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.connection import ClientMarks
from analyzer.results.methods import perflib, winreg

# By interface: the status for too small a buffer, and the parameters with the size offered and the size needed.
_TOO_SMALL = {perflib.INTERFACE: perflib.ERROR_NOT_ENOUGH_MEMORY, winreg.INTERFACE: winreg.ERROR_MORE_DATA}
_OFFERED = {perflib.INTERFACE: "dwInSize", winreg.INTERFACE: "lpcbData"}
_NEEDED = {perflib.INTERFACE: "pdwRtnSize", winreg.INTERFACE: "lpcbData"}
_TARGET = ("szMachine", "CounterSetGuid", "RequestCode", "RequestLCID", "hQuery", "hKey", "lpValueName")
# A rule shows in two steps; so many of each connection are looked at.
_FEWEST, _MOST, _MOST_FRAMES = 2, 8, 8
_Looked = Call | HeldCall
# The next try is among this many calls after a refused one.
_NEAR = 64


def growth_marks(calls: OrderedCalls) -> Iterator[ClientMarks]:
    """Yields a mark for each connection whose client follows one rule of buffer growth, at least twice and without exception."""
    if not len(calls):
        return
    import numpy as np  # a list of sessions has no calls

    contexts, opnums, codes = calls.table.contexts, calls.column("opnum"), calls.column("context")
    wanted = np.array([_TOO_SMALL.get(one.interface.uuid or "", -1) for one in contexts], np.int64)[codes]
    refused = np.flatnonzero((wanted >= 0) & (calls.column("status") == wanted))
    of_context: dict[int, list[tuple[int, int]]] = {}
    for at in refused.tolist():
        known = of_context.setdefault(int(codes[at]), [])
        if len(known) < _MOST:
            behind = np.flatnonzero(
                (codes[at + 1 : at + 1 + _NEAR] == codes[at]) & (opnums[at + 1 : at + 1 + _NEAR] == opnums[at])
            )
            if len(behind):
                known.append((at, at + 1 + int(behind[0])))
    places = sorted({at for pairs in of_context.values() for pair in pairs for at in pair})
    held = dict(zip(places, calls.held([at + 1 for at in places]), strict=True))
    for code, pairs in of_context.items():
        looked = [(at, held[at] or calls[at], held[again] or calls[again]) for at, again in pairs]
        yield from _mark(calls, contexts[code], looked)


def _mark(calls: OrderedCalls, context: Context, pairs: list[tuple[int, _Looked, _Looked]]) -> Iterator[ClientMarks]:
    """Yields the mark of buffer growth for the calls of one context. `pairs` has positions of refused calls, each such call, and
    the next call."""
    interface = context.interface.uuid or ""
    steps = [(at, rules) for at, first, again in pairs if (rules := _rules(first, again, interface))]
    common = [rule for rule in steps[0][1] if all(rule in rules for _, rules in steps)] if steps else []
    if len(steps) >= _FEWEST and common:
        call = calls[steps[0][0]]
        mark = f"calls.growth={context.interface.name} {common[0]}"
        yield ClientMarks(context.client, context.server, call.time_ns, call.frames[:_MOST_FRAMES], (mark,))


def _rules(first: _Looked, again: _Looked, interface: str) -> list[str]:
    """Returns the rules of buffer growth that fit two calls. There is none if the second offers no more room, or the first offered
    none."""
    offered, more = (_number(one.request, _OFFERED[interface]) for one in (first, again))
    if not offered or not more or more <= offered or _target(first) != _target(again):
        return []
    needed = _number(first.response, _NEEDED[interface])
    found = [("exact", more == needed), ("doubled", more == 2 * offered), (f"+{more - offered}", True)]
    return [rule for rule, fits in found if fits]


def _target(call: _Looked) -> list[Any]:
    """Returns the parameters that say what a call asks for, without the size of its buffer."""
    return [call.request.params.get(name) for name in _TARGET] if call.request is not None else []


def _number(side: Side | HeldSide | None, name: str) -> int | None:
    value = side.params.get(name) if side is not None else None
    return value if isinstance(value, int) else None

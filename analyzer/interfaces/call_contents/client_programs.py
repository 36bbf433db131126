"""Recognises the client programs of a capture: marks of connections in, names of known programs that leave the same marks out.

`programs.json` is the table of programs with their marks. `python -m tests.programs` writes it from captures of the programs
themselves; nothing in it is from memory. A connection is like a program if every mark that both have is equal, if these are enough,
and if no other program has more equal marks. Programs with equally many are all named.

How clients offer a larger buffer after a server said that it is too small is a mark of a connection too. It is written
`calls.growth=INTERFACE RULE`: `exact` (the size that the server stated), `doubled`, or `+4096` for a step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.json import decode

from analyzer.core.caches import cached_property, once_for_each
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call, Side
from analyzer.results.calls.call_row_columns import Context
from analyzer.results.calls.held_calls import HeldCall, HeldSide
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.connection import ClientMarks, SmbSession
from analyzer.results.methods import perflib, winreg
from analyzer.results.records.record_types import Endpoint

# -------------------------------------------------------------------------------------------------------- buffer growth


# By interface: the status for too small a buffer, and the parameters with the size offered and the size needed.
_TOO_SMALL = {perflib.INTERFACE: perflib.ERROR_NOT_ENOUGH_MEMORY, winreg.INTERFACE: winreg.ERROR_MORE_DATA}
_OFFERED = {perflib.INTERFACE: "dwInSize", winreg.INTERFACE: "lpcbData"}
_NEEDED = {perflib.INTERFACE: "pdwRtnSize", winreg.INTERFACE: "lpcbData"}
_TARGET = ("szMachine", "CounterSetGuid", "RequestCode", "RequestLCID", "hQuery", "hKey", "lpValueName")
# A rule shows in two steps; so many of each connection are looked at.
_FEWEST_STEPS, _MOST_REFUSED, _FRAMES_OF_GROWTH = 2, 8, 8
_Looked = Call | HeldCall
# The next try is among this many calls after a refused one.
_NEAR = 64


def growth_marks(calls: OrderedCalls) -> Iterator[ClientMarks]:
    """Yields a mark of the client's program for each connection whose client follows one rule of buffer growth, at least twice and
    without exception."""
    if not len(calls):
        return
    import numpy as np  # a list of sessions has no calls

    contexts, opnums, codes = calls.table.contexts, calls.column("opnum"), calls.column("context")
    wanted = np.array([_TOO_SMALL.get(one.interface.uuid or "", -1) for one in contexts], np.int64)[codes]
    refused = np.flatnonzero((wanted >= 0) & (calls.column("status") == wanted))
    of_context: dict[int, list[tuple[int, int]]] = {}
    for at in refused.tolist():
        known = of_context.setdefault(int(codes[at]), [])
        if len(known) < _MOST_REFUSED:
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
    """Yields the client's mark of buffer growth for the calls of one context. `pairs` has positions of refused calls, each such
    call, and the next call."""
    interface = context.interface.uuid or ""
    steps = [(at, rules) for at, first, again in pairs if (rules := _rules(first, again, interface))]
    common = [rule for rule in steps[0][1] if all(rule in rules for _, rules in steps)] if steps else []
    if len(steps) >= _FEWEST_STEPS and common:
        call = calls[steps[0][0]]
        mark = f"calls.growth={context.interface.name} {common[0]}"
        yield ClientMarks(context.client, context.server, call.time_ns, call.frames[:_FRAMES_OF_GROWTH], (mark,))


def _rules(first: _Looked, again: _Looked, interface: str) -> list[str]:
    """Returns the rules of a client's buffer growth that fit two calls. There is none if the second offers no more room, or the
    first offered none."""
    offered, more = (_number(one.request, _OFFERED[interface]) for one in (first, again))
    if not offered or not more or more <= offered or _target(first) != _target(again):
        return []
    needed = _number(first.response, _NEEDED[interface])
    found = [("exact", more == needed), ("doubled", more == 2 * offered), (f"+{more - offered}", True)]
    return [rule for rule, fits in found if fits]


def _target(call: _Looked) -> list[Any]:
    """Returns what a call of a client program asks for, to compare it with others: parameters without the size of its buffer."""
    return [call.request.params.get(name) for name in _TARGET] if call.request is not None else []


def _number(side: Side | HeldSide | None, name: str) -> int | None:
    value = side.params.get(name) if side is not None else None
    return value if isinstance(value, int) else None


# ------------------------------------------------------------------------------------------------------ client programs


# A program is named for so many marks, and so many of them of other kinds than `_PLAIN`: what the specification proposes, or a user
# chooses, many programs have alike.
_FEWEST_MARKS, _FEWEST_OWN = 4, 2
_PLAIN = frozenset(
    (
        "rpc.fragments",
        "rpc.bind",
        "rpc.bind_call",
        "rpc.contexts",
        "rpc.first_call",
        "rpc.next_call",
        "rpc.calls",
        "calls.growth",
        "rpc.mechanisms",
        "smb.mechanisms",
        "smb2.security_mode",
    )
)
# Marks that differ with settings, or with the methods called. An equal one counts; a different one contradicts nothing.
_BY_SETTING = _PLAIN - {"rpc.fragments", "rpc.next_call"}
# What depends on what is called: such a mark counts among those of a connection only where it is alike. A program has the values
# that so many of its connections show.
BY_CALLS = frozenset(("rpc.calls", "calls.growth"))
_FEWEST_CONNECTIONS = {"rpc.calls": 2, "calls.growth": 1}
# Marks that depend on the user's request or on earlier connections: no program has them.
NOT_LEARNT = frozenset(("rpc.auth", "rpc.group", "rpc.auth_padding"))
# The share of a connection's marks that a program must have.
_LEAST_SHARE = 2 / 3
_MOST_FRAMES, _MOST_KNOWN = 16, 1024

Marks = Mapping[str, str]
# The meaning of each mark, and its source.
MEANINGS: Mapping[str, str] = {
    "smb1.dialects": "the dialects of an SMB1 negotiation, in their order ([MS-CIFS] section 2.2.4.52.1)",
    "smb1.native_os": "the text for the operating system in an SMB1 session setup ([MS-CIFS] section 2.2.4.53.1)",
    "smb1.lan_manager": "the text for the LAN manager beside it",
    "smb2.header": "CreditCharge, CreditRequest and the process id of the negotiation ([MS-SMB2] section 2.2.1.2)",
    "smb2.dialects": "the dialects of the negotiation, in their order ([MS-SMB2] section 2.2.3)",
    "smb2.security_mode": "SecurityMode of the negotiation: 1 signing is enabled, 2 required",
    "smb2.capabilities": "Capabilities of the negotiation",
    "smb2.client_guid": "how ClientGuid is made: a UUID of version 1 or 4, letters and digits, zeros, other bytes",
    "smb2.contexts": "types of the negotiate contexts in their order, with the algorithms of each ([MS-SMB2] section 2.2.3.1)",
    "smb2.setup_capabilities": "Capabilities of the session setup ([MS-SMB2] section 2.2.5)",
    "smb.mechanisms": "the mechanisms that SPNEGO offers for the logon by SMB, or NTLM without SPNEGO (RFC 4178 section 4.2.1)",
    "smb.ntlm_flags": "NegotiateFlags of NEGOTIATE_MESSAGE without those for signing, sealing and identification "
    "([MS-NLMP] section 2.2.2.5)",
    "smb.ntlm_version": "major and minor version in NEGOTIATE_MESSAGE ([MS-NLMP] section 2.2.2.10)",
    "smb.ntlm_names": "whether NEGOTIATE_MESSAGE has the names of domain and workstation ([MS-NLMP] section 2.2.1.1)",
    "smb.ntlm_workstation": "whether AUTHENTICATE_MESSAGE names the workstation ([MS-NLMP] section 2.2.1.3)",
    "smb.ntlm_mic": "whether AUTHENTICATE_MESSAGE has a MIC",
    "smb.ntlm_authenticate_version": "major and minor version in AUTHENTICATE_MESSAGE",
    "smb.ntlm_client_challenge": "whether the client's challenge is of letters and digits ([MS-NLMP] section 2.2.2.7)",
    "rpc.mechanisms": "the same as `smb.mechanisms`, for a logon by RPC; so are the other marks `rpc.ntlm_...`",
    "rpc.fragments": "max_xmit_frag and max_recv_frag of the first bind (C706 section 12.6.4.3)",
    "rpc.bind": "version and flags of the first bind",
    "rpc.bind_call": "call id of the first bind",
    "rpc.contexts": "ids of the presentation contexts of the first bind, and the transfer syntaxes that each offers",
    "rpc.auth_context": "auth_context_id of the first bind ([MS-RPCE] section 2.2.2.11)",
    "rpc.first_call": "how far the call id of the first request is from that of the bind",
    "rpc.next_call": "how far the call id of the second request is from that of the first",
    "rpc.calls": "the interface and the methods (opnums) of the first three requests, in their order",
    "calls.growth": "how a client offers more room each time the server said that the buffer is too small: the size that the "
    "server stated (`exact`), twice the room (`doubled`), or so many bytes more",
}


class Program(Struct, frozen=True):
    """A client program: the values of the marks that it leaves, and the captures that show it."""

    name: str
    marks: Mapping[str, tuple[str, ...]]
    sources: tuple[str, ...] = ()

    def agrees(self, marks: Marks) -> tuple[str, ...] | None:
        """Returns the names of the marks that a connection shares with the client program; None if a mark contradicts."""
        alike = []
        for name, value in marks.items():
            known = self.marks.get(name)
            if known is None:
                continue
            if value in known:
                alike.append(name)
            elif name not in _BY_SETTING:
                return None
        return tuple(alike)


class ProgramLikeness(Struct, frozen=True):
    """The client programs that a connection is like, and the marks that show it."""

    names: tuple[str, ...]
    alike: tuple[str, ...]
    marks: int

    @property
    def name(self) -> str:
        return " or ".join(self.names)

    @property
    def listed(self) -> str:
        """Returns the marks that show the likeness to a client program, in words: `smb2 header dialects, rpc fragments`."""
        groups: dict[str, list[str]] = {}
        for one in self.alike:
            of, _, mark = one.partition(".")
            groups.setdefault(of, []).append(mark)
        return ", ".join(f"{of} {' '.join(marks)}" for of, marks in groups.items())

    @property
    def words(self) -> str:
        return f"like {self.name} ({marks_words(self.alike, self.marks)})"


def marks_words(alike: Sequence[str], marks: int) -> str:
    """Returns in words how many marks of a connection a client program shares: `31 marks of 31`."""
    return f"{len(alike)} marks of {marks}"


def shows_most(alike: Collection[str], marks: int, frames: Sequence[int]) -> tuple[int, int, Sequence[int]]:
    """Returns the key that ranks connections like one client program by how well they show it. The least key stands for the
    program: most shared marks, then fewest other marks, then the first frames."""
    return -len(alike), marks, frames


def recognized(marks: Marks, programs: Iterable[Program]) -> ProgramLikeness | None:
    """Returns the client programs that one connection's marks are like; None if these are too few or like no known program."""
    counted = {name: value for name, value in marks.items() if name not in NOT_LEARNT}
    found = [(one.name, alike) for one in programs if (alike := one.agrees(counted))]
    most = max((len(alike) for _, alike in found), default=0)
    best = [(name, alike) for name, alike in found if len(alike) == most]
    if not best:
        return None
    alike = best[0][1]
    total = len([name for name in counted if name not in BY_CALLS or name in alike])
    if most < _FEWEST_MARKS or most < _LEAST_SHARE * total:
        return None
    if len([name for name in alike if name not in _PLAIN]) < _FEWEST_OWN:
        return None
    return ProgramLikeness(tuple(name for name, _ in best), alike, total)


@cache
def known_programs() -> tuple[Program, ...]:
    """The table of client programs and their marks."""
    return decode(Path(__file__).with_name("programs.json").read_bytes(), type=tuple[Program, ...])


@lru_cache(maxsize=_MOST_KNOWN)
def _likeness(marks: tuple[tuple[str, str], ...]) -> ProgramLikeness | None:
    """Returns the known client programs that these marks are like. Many connections have equal marks."""
    return recognized(dict(marks), known_programs())


class ClientConnection(Struct, dict=True):
    """The marks that the client of one connection left."""

    client: Endpoint
    server: Endpoint
    seen: list[ClientMarks]

    @property
    def marks(self) -> Marks:
        """Returns the marks of a connection's client. If a mark has several values, the first counts: a later logon may be of
        another kind."""
        found: dict[str, str] = {}
        for one in self.seen:
            for mark in one.marks:
                name, _, value = mark.partition("=")
                found.setdefault(name, value)
        return found

    @cached_property
    def likeness(self) -> ProgramLikeness | None:
        return _likeness(tuple(self.marks.items()))

    @property
    def rank(self) -> tuple[int, int, Sequence[int]]:
        """The rank of this connection among those like its program (`shows_most`); it is like one."""
        assert self.likeness is not None
        return shows_most(self.likeness.alike, self.likeness.marks, self.frames())

    @property
    def sent_by_smb(self) -> bool:
        """Whether some of the client's marks are of SMB, not all of RPC."""
        return any(one.startswith("smb") for one in self.marks)

    def frames(self) -> tuple[int, ...]:
        """The first frames that show the client's marks."""
        return tuple(dict.fromkeys(frame for one in self.seen for frame in one.frames))[:_MOST_FRAMES]


class ClientPrograms:
    """The programs that the clients of an analysis are like. `client_programs` makes it once per analysis."""

    def __init__(self, analysis: Analysis) -> None:
        self._connections: dict[tuple[Endpoint, Endpoint], ClientConnection] = {}
        for one in (*analysis.marks, *growth_marks(analysis.calls)):
            ends = one.client, one.server
            known = self._connections.get(ends)
            if known is None:
                known = self._connections[ends] = ClientConnection(*ends, [])
            known.seen.append(one)

    def __iter__(self) -> Iterator[ClientConnection]:
        return iter(self._connections.values())

    def of_session(self, session: SmbSession) -> ProgramLikeness | None:
        """The programs that the client of an SMB session is like."""
        return self.between(session.client, session.server)

    def between(self, client: Endpoint, server: Endpoint) -> ProgramLikeness | None:
        """The programs that the client of a connection is like."""
        found = self._connections.get((client, server))
        return found.likeness if found is not None else None

    def shown(self, analysis: Analysis) -> Iterator[tuple[ClientConnection, ProgramLikeness]]:
        """Yields the connections whose client is like a known program, for the sessions and logons that the analysis shows."""
        ends = None
        if analysis.part is not None:
            ends = {(one.client, one.server) for one in analysis.shown_sessions}
            ends |= {(one.client, one.server) for one in analysis.shown_logons}
        for one in self:
            if (ends is None or (one.client, one.server) in ends) and one.likeness is not None:
                yield one, one.likeness


@once_for_each
def client_programs(analysis: Analysis) -> ClientPrograms:
    """Finds the programs that the clients of an analysis are like."""
    return ClientPrograms(analysis)


def _is_random(mark: str, values: Iterable[str]) -> bool:
    """Whether a client program's mark is a GUID of random bytes. Such a GUID looks like each of the other kinds now and then."""
    return mark == "smb2.client_guid" and "bytes" in values


def learnt(name: str, connections: Sequence[Marks], sources: Sequence[str]) -> Program:
    """Returns a client program learnt from connections with these marks. Drops marks that differ on nearly every connection."""
    values: dict[str, Counter[str]] = {}
    for marks in connections:
        for mark, value in marks.items():
            values.setdefault(mark, Counter())[value] += 1
    kept = {mark: tuple(sorted(_learnt_values(mark, found))) for mark, found in sorted(values.items())}
    return Program(name, {mark: found for mark, found in kept.items() if found}, tuple(sources))


def _learnt_values(mark: str, found: Counter[str]) -> Iterable[str]:
    """Returns the values of a mark that a client program leaves, by how many connections show each; none if it is no mark."""
    if mark in BY_CALLS:
        return [value for value, count in found.items() if count >= _FEWEST_CONNECTIONS[mark]]
    is_steady = len(found) == 1 or len(found) * 2 <= found.total()
    return found if mark not in NOT_LEARNT and is_steady and not _is_random(mark, found) else ()

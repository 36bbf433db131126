"""Says what was not read of a capture, and why: in one sentence whether it has anything to read, and summaries of what was left
out.

This program is for performance calls: the methods of PerflibV2, and winreg's reads of HKEY_PERFORMANCE_DATA and its relatives. A
sealed call of winreg counts as one, since nothing states what it reads.

The summaries are of calls by reason, of problems that are alike, and of which keys decrypted what, or lack.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from analyzer.core.absence import Missing
from analyzer.core.array_functions import distinct
from analyzer.core.events import Problem
from analyzer.core.frame_ids import FrameSet
from analyzer.core.printable_text import counted
from analyzer.interfaces.call_contents.call_records import all_problems
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call, CallState, Side
from analyzer.results.calls.call_row_columns import STATES
from analyzer.results.security import Decryption, Identity

if TYPE_CHECKING:
    from analyzer.results.records.display_records import IncompleteView

# ------------------------------------------------------------------------------------------------------ nothing to read


# Layers whose problems are only about our connections: what they lost may have been a call.
_OURS = frozenset({"smb", "rpc"})
# More files or interfaces than these are counted in a sentence, not named.
_NAMED = 5
_LOSSES = frozenset({"unreadable", "failed", "gap", "sealed", "truncated", "malformed", "unsupported", "limit"})


class CallsMet:
    """Counts the calls of a capture, to tell whether there is anything to read; they may come one by one."""

    def __init__(self, calls: Iterable[Call] = ()) -> None:
        self.has_performance = False
        # Whether there is a call whose bind was not captured: it may be about anything.
        self.has_unknown = False
        # Whether a performance call, or one of an unknown interface, could not be read.
        self.is_unread = False
        # The frames of the calls that are certainly about something else.
        self.others = FrameSet()
        self.interfaces: Counter[str] = Counter()
        for call in calls:
            self.count_call(call)

    def count_call(self, call: Call) -> None:
        """Counts one more call, to say whether a capture has anything to read: its interface, and whether it is a performance call
        that was read."""
        self.interfaces[call.interface.name or call.interface.uuid or "unknown interface"] += 1
        is_unknown = call.interface.uuid is None
        if call.is_performance or is_unknown:
            self.has_performance |= not is_unknown
            self.has_unknown |= is_unknown
            self.is_unread |= call.state != "complete"
            return
        for side in (call.request, call.response):
            if side is not None:
                self.others.update(side.frames)


def no_performance_call_words(analysis: Analysis, met: CallsMet | None = None) -> str | None:
    """Says why nothing was read of a capture that is to be shown, and what it holds instead. Returns None if there is a performance
    call, or something that may hide one. `met` are its calls if `analysis` does not hold them."""
    if met is None:
        if analysis.has_performance_call:
            return None
        met = CallsMet(analysis.calls)
    if met.has_performance or met.has_unknown:
        return None
    others = met.others
    if any(problem.layer in _OURS and may_hide(problem, others) for problem in analysis.problems):
        return None
    found = _holding(analysis, met)
    # Bytes that were not read or not captured may be anything.
    for kind, words in (("truncated", "read"), ("gap", "captured")):
        for problem in analysis.problems:
            if (problem.kind, problem.layer) == (kind, "capture"):
                return f"{found} Not all of it was {words}: {problem.text}."
    return found


def _holding(analysis: Analysis, met: CallsMet) -> str:
    """Says what the capture holds in place of performance calls."""
    first, *more = analysis.capture.files
    name = ", ".join(analysis.capture.files) if len(more) < _NAMED else f"{first} and {len(more)} more files"
    if analysis.capture.frames == 0:
        return f"{name} holds no frames."
    if (calls := met.interfaces.total()) > 0:
        return f"{name} holds {counted(calls, 'DCERPC call')} ({_interfaces(met)}), but no performance call."
    if analysis.bounds:
        return f"{name} holds {counted(len(analysis.bounds), 'DCERPC bind')}, but no call."
    if analysis.sessions:
        where = "it" if len(analysis.sessions) == 1 else "them"
        return f"{name} holds {counted(len(analysis.sessions), 'SMB session')}, but no DCERPC call in {where}."
    for protocol, words in (("smb", "SMB"), ("dcerpc", "DCERPC")):
        if count := analysis.connections.get(protocol):
            return f"{name} holds {counted(count, 'connection')} with {words}, but no DCERPC call."
    return f"{name} holds {counted(analysis.capture.frames, 'frame')}, but neither SMB nor DCERPC among them."


def _interfaces(met: CallsMet) -> str:
    """Lists the interfaces called in a capture without performance calls, the most frequent first."""
    counts = met.interfaces
    names = [name for name, _ in counts.most_common(_NAMED)]
    more = len(counts) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def nothing_decrypted(analysis: Analysis) -> str | None:
    """Says that all shown calls are encrypted and none was decrypted. Returns None if one was decrypted, or none is encrypted."""
    # Whether there are calls, and how many are sealed: of all interfaces, and of ours. If there are calls of ours, only these
    # count.
    met, sealed = set[bool](), {False: 0, True: 0}
    is_read = False
    for _, call in analysis.shown:
        is_ours = call.is_perflib or call.is_winreg
        if (is_ours or True not in met) and any(_has_content(side) for side in (call.request, call.response)):
            if is_ours:
                return None
            is_read = True
        for is_counted in {False, is_ours}:
            met.add(is_counted)
            sealed[is_counted] += call.state == "sealed"
    if is_read and True not in met:
        return None
    if count := sealed[True in met]:
        return f"nothing was decrypted: {counted(count, 'call is', 'calls are')} encrypted, and no key was given that fits."
    problems = sum(problem.kind == "sealed" for problem in all_problems(analysis))
    if problems and not len(analysis.calls):
        return "nothing was decrypted: all messages that may carry calls are encrypted, and no key was given that fits."
    return None


def _has_content(side: Side | None) -> bool:
    """Tells, to say what was not read, whether one side of a call has anything to read: a stub. A fault carries none."""
    return side is not None and not isinstance(stub := side.stub, Missing) and len(stub) > 0


def unread(analysis: Analysis, met: CallsMet | None = None) -> bool:
    """Tells whether a performance call, or something that may have been one, could not be read. `met` are the calls with their
    problems if `analysis` does not hold them."""
    problems = all_problems(analysis) if met is None else analysis.problems
    met = met or CallsMet(analysis.calls)
    return met.is_unread or any(may_hide(problem, met.others) for problem in problems)


def may_hide(problem: Problem, others: FrameSet) -> bool:
    """Tells whether a problem may leave a performance call unread: a loss that is not entirely in calls of other interfaces."""
    return problem.kind in _LOSSES and not (problem.frames and others.issuperset(problem.frames))


# ---------------------------------------------------------------------------------------------------- decryption counts


class Decrypted(Struct, frozen=True):
    """How many `contexts` of an account (`SMB sessions`, `RPC security contexts`) the given keys decrypted, of those `tried`."""

    account: str
    contexts: str
    decrypted: int
    tried: int


def decrypted_by_account(analysis: Analysis) -> Iterator[Decrypted]:
    """Yields, to say what was read and what was not, how many contexts keys decrypted, by account and kind; nothing for accounts
    without a key, or without secrets."""
    if not analysis.secrets_given:
        return
    sessions: dict[str, list[Decryption]] = {}
    for session in analysis.sessions:
        # Without encrypted messages, no key decrypted anything. Guests' sessions and null sessions have no key.
        if session.encrypted_messages and (account := _account_with_key(session.identity)) is not None:
            sessions.setdefault(account, []).append(session.decryption)
    contexts: dict[str, dict[tuple[int, str], Decryption]] = {}
    for shared in analysis.calls.contexts_by_last_call():
        auth = shared.security
        by_rpc = auth.identity if shared.auth.user_from == "rpc" else None
        # Below privacy nothing is sealed, so no key could decrypt anything.
        is_sealed = auth.decryption is not Decryption.NOT_SEALED
        if is_sealed and by_rpc is not None and (account := _account_with_key(by_rpc)) is not None:
            of_account = contexts.setdefault(account, {})
            key = (shared.channel, auth.mechanism)
            if of_account.get(key) is not Decryption.DECRYPTED:
                of_account[key] = auth.decryption
    by_kind = (
        ("SMB sessions", sessions),
        ("RPC security contexts", {account: list(found.values()) for account, found in contexts.items()}),
    )
    had_key = {
        account
        for _, found in by_kind
        for account, statuses in found.items()
        if any(status is not Decryption.NO_KEY for status in statuses)
    }
    for kind, found in by_kind:
        for account, statuses in sorted(found.items()):
            if account in had_key:
                yield Decrypted(account, kind, statuses.count(Decryption.DECRYPTED), len(statuses))


def _account_with_key(identity: Identity) -> str | None:
    """Returns the account whose password makes decryption keys; None for guests, null sessions and unknown accounts."""
    return None if identity.is_anonymous or identity.is_guest else identity.account


# ------------------------------------------------------------------------------------------------------- unread summary


_NUMBERS = r"0x[0-9a-fA-F]+|\d+"


def incomplete(analysis: Analysis) -> tuple[IncompleteView, ...]:
    """Counts the calls that are not complete, by state and reason, for the summary of what was not read."""
    from analyzer.results.records.display_records import IncompleteView  # only screens for people have this summary

    calls = analysis.calls
    states, rare = calls.column("state"), calls.column("rare")
    # Only calls with a `rare` entry have a reason.
    reasons: Counter[tuple[CallState, str | None]] = Counter()
    for code in distinct(states).tolist():
        if (state := STATES[code]) != "complete":
            reasons[state, None] += int(((states == code) & (rare == 0)).sum())
    for at in np.flatnonzero((states != STATES.index("complete")) & (rare > 0)).tolist():
        reasons[STATES[states[at]], calls.rare(at + 1).reason] += 1
    ordered = sorted(reasons.items(), key=lambda item: (item[0][0], str(item[0][1])))
    return tuple(IncompleteView(state, reason, count) for (state, reason), count in ordered if count)


def alike(problems: Iterable[Problem]) -> list[list[Problem]]:
    """Groups, for the summary of what was not read, the problems of a capture whose sentences differ only in numbers."""
    groups: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in problems:
        groups.setdefault((problem.kind, problem.layer, re.sub(_NUMBERS, "0", problem.text)), []).append(problem)
    return list(groups.values())


def decrypted(analysis: Analysis) -> tuple[str, ...]:
    """Says what the keys of each account decrypted, one sentence an account."""
    by_account: dict[str, list[str]] = {}
    for one in decrypted_by_account(analysis):
        contexts = one.contexts if one.tried != 1 else one.contexts.removesuffix("s")
        by_account.setdefault(one.account, []).append(f"{one.decrypted} of {one.tried} {contexts}")
    return tuple(f"keys given for {account} decrypted {', '.join(words)}" for account, words in by_account.items())


def key_hint(analysis: Analysis) -> str | None:
    """Says which keys would decrypt the calls that no key opened; None if no call lacks a key."""
    undecrypted = [
        shared.security for shared in analysis.calls.contexts_by_last_call() if shared.security.decryption.lacks_key
    ]
    if not undecrypted:
        return None
    keys = (
        ["the password or NT hash (--password, --nt-hash)"]
        if any("ntlm" in auth.mechanism for auth in undecrypted)
        else []
    )
    if any("krb5" in auth.mechanism for auth in undecrypted):
        keys.append("the service's keytab or password (--keytab, --password)")
    return f"to decrypt what is sealed, give {' or '.join(keys)}, or --secrets with them" if keys else None

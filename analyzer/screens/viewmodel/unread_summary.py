"""Summarises what was not read of a capture: calls by reason, problems that are alike, and which keys decrypted what, or lack."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import numpy as np

from analyzer.core.array_functions import distinct
from analyzer.core.events import Problem
from analyzer.questions.statistics.decryption_counts import decrypted_by_account
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import CallState
from analyzer.results.calls.call_row_columns import STATES
from analyzer.results.records.display_records import IncompleteView

_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")


def incomplete(analysis: Analysis) -> tuple[IncompleteView, ...]:
    """Counts the calls that are not complete, by state and reason, for the summary of what was not read."""
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
    """Groups the problems of a capture whose sentences differ only in numbers."""
    groups: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in problems:
        groups.setdefault((problem.kind, problem.layer, _NUMBERS.sub("0", problem.text)), []).append(problem)
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

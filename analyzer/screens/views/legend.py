"""Who talked to whom, in a name short enough for every line; the addresses stand once, in a legend.

A name is `user@client → server`, of the names the traffic gives them, else of addresses. Two pairs never share one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from analyzer.interfaces.contents.machines import machine_names
from analyzer.questions.statistics.summary import Caller, who_of
from analyzer.results.analysis import Analysis
from analyzer.results.call import Call
from analyzer.results.call_rows import Context
from analyzer.results.security import who_words

_MOST_CHARACTERS = 24
# More pairs than these are counted, not listed.
_SHOWN_PAIRS = 12


class _Pair(Struct):
    label: str
    workstation: str | None
    clients: dict[str, None] = field(default_factory=dict)
    servers: dict[str, None] = field(default_factory=dict)
    calls: int = 0


class Legend:
    """The names of the pairs that the calls with some numbers are between."""

    def __init__(self, analysis: Analysis, numbers: Sequence[int]) -> None:
        self._names = {ip: names[0] for ip, names in machine_names(analysis).items()}
        self._pairs: dict[Caller, _Pair] = {}
        taken: set[str] = set()
        for common, count in analysis.calls.contexts_of(numbers):
            pair = self._pairs.get(who_of(common))
            if pair is None:
                pair = self._pairs[who_of(common)] = _Pair(self._unique_label(common, taken), common.auth.workstation)
            pair.calls += count
            if len(pair.clients) < 2:
                pair.clients[str(common.client)] = None
            if len(pair.servers) < 2:
                pair.servers[str(common.server)] = None

    def __len__(self) -> int:
        return len(self._pairs)

    def label(self, call: Call) -> str:
        """The name of a call's pair, without a blank but around the arrow."""
        return self._pairs[who_of(call)].label

    def lines(self) -> Iterator[str]:
        """One a pair: its name, the account, both addresses, how many calls."""
        for (user, client, server, claimed, later), pair in list(self._pairs.items())[:_SHOWN_PAIRS]:
            sender = next(iter(pair.clients)) if len(pair.clients) == 1 else client
            receiver = next(iter(pair.servers)) if len(pair.servers) == 1 else server
            on = f" on {pair.workstation}" if pair.workstation else ""
            calls = f"{pair.calls:,} call{'s' if pair.calls != 1 else ''}"
            yield f"{pair.label}: {who_words(user, claimed, later)}{on} at {sender} → {receiver}, {calls}"
        if (more := len(self._pairs) - _SHOWN_PAIRS) > 0:
            yield f"and {more:,} more: pcq-analyzer stats shows who called"

    def _unique_label(self, common: Context, taken: set[str]) -> str:
        auth = common.auth
        user = "anonymous" if auth.anonymous else (auth.user or "").rpartition("\\")[2].partition("@")[0]
        client = _short(auth.workstation or self._names.get(common.client.ip), common.client.ip)
        server = _short(self._names.get(common.server.ip), common.server.ip)
        label = f"{_short(user, '?')}@{client} → {server}" if user else f"{client} → {server}"
        number = 1
        unique = label
        while unique in taken:
            number += 1
            unique = f"{label}#{number}"
        taken.add(unique)
        return unique


def _short(name: str | None, otherwise: str) -> str:
    """A name in one word; the first label of a DNS name."""
    if not name:
        return otherwise
    word = "_".join(name.partition(".")[0].split()) if not name.replace(".", "").isdigit() else name
    return word[:_MOST_CHARACTERS] or otherwise

"""Groups the calls of a side into conversations, and gives each call the keys by which calls of two sides are aligned.

A conversation is all that one account asks a machine through one interface. Connections that ask exactly the same are paired first;
the calls of the others follow each other, connection by connection.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from analyzer.questions.differences.machine_facts import CaptureView
from analyzer.questions.statistics.call_statistics import who_of
from analyzer.results.calls.call import handle_of
from analyzer.results.calls.call_row_columns import Context
from analyzer.results.calls.held_calls import HeldCall, HeldSide, held_call_of
from analyzer.results.security import who_words

# Parameters for sizes of buffers and the server's name: they are compared, but calls are not aligned by them.
_ALIGN_NOTHING = frozenset({"szMachine", "lpMachineName", "dwInSize", "lpcbData", "lpcbLen", "cbBufSize"})
# Parameters that are context handles, of requests and of answers.
USED = ("hQuery", "phQuery", "hKey", "hService", "hSCManager", "hSCObject")
GIVEN = ("phQuery", "phKey", "phkResult", "lpServiceHandle", "lpScHandle")
# A context handle is the first parameter of the methods that take one, and has so many bytes ([MS-RPCE] section 2.2.5.3.4).
HANDLE_LENGTH = 20


class AlignedCall(Struct, frozen=True):
    """A call for alignment: its keys, the finest first, and digests of both stubs (None: no stub)."""

    number: int
    keys: tuple[Hashable, ...]
    digests: tuple[int | None, int | None]
    has_handles: bool

    @property
    def is_whole(self) -> bool:
        return None not in self.digests


class Conversation(Struct, frozen=True):
    """The calls of one account at one machine through one interface, aligned with another capture's."""

    server: str
    interface: str
    user: str
    calls: Sequence[AlignedCall]
    properties: Mapping[str, str]

    @property
    def words(self) -> str:
        return f"{self.user} → {self.server}, {self.interface}"


class _Talk(Struct):
    """A conversation while it is collected: its calls by channel."""

    channels: dict[int, list[AlignedCall]]
    contexts: dict[Context, None]
    smb: dict[str, dict[str, None]]


_TalkKey = tuple[str, str, str]


def talks_of(view: CaptureView) -> dict[_TalkKey, _Talk]:
    """Collects the conversations of a capture, by machine, interface and account."""
    calls, numbers = view.analysis.calls, view.analysis.shown.numbers
    found: dict[_TalkKey, _Talk] = {}
    keys: dict[Context, _TalkKey] = {}
    for number, held in zip(numbers, calls.held(numbers), strict=True):
        call = held or held_call_of(calls[number - 1])
        shared = call.shared
        if shared not in keys:
            keys[shared] = _key_of(view, shared)
        talk = found.setdefault(keys[shared], _Talk({}, {}, {}))
        talk.channels.setdefault(shared.channel, []).append(_asked(number, call, view.guids))
        talk.contexts[shared] = None
        if call.smb is not None:
            for name, value in (
                ("SMB", call.smb.dialect or "not captured"),
                ("SMB encryption", _yes(call.smb.encrypted)),
                ("SMB signatures", _yes(call.smb.signed)),
            ):
                talk.smb.setdefault(name, {})[value] = None
    return found


def paired_talks(
    a: Mapping[_TalkKey, _Talk], b: Mapping[_TalkKey, _Talk]
) -> Iterator[tuple[Conversation | None, Conversation | None]]:
    """Pairs the conversations of two captures. If one account of a machine and interface is left on each side, the two are
    paired."""
    partner = {key: key for key in a if key in b}
    for key in a:
        if key in partner:
            continue
        ones = [one for one in a if one[:2] == key[:2] and one not in b]
        others = [one for one in b if one[:2] == key[:2] and one not in a]
        if len(ones) == 1 and len(others) == 1:
            partner[key] = others[0]
    for key, talk in a.items():
        other = partner.get(key)
        if other is None:
            yield _conversation(key, talk, list(talk.channels.values())), None
        else:
            channels_a, channels_b = _same_first(talk, b[other])
            yield _conversation(key, talk, channels_a), _conversation(other, b[other], channels_b)
    for key, talk in b.items():
        if key not in partner.values():
            yield None, _conversation(key, talk, list(talk.channels.values()))


def _same_first(a: _Talk, b: _Talk) -> tuple[list[list[AlignedCall]], list[list[AlignedCall]]]:
    """Returns the channels of two conversations that their keys paired; channels that ask the same have the same place."""
    left: dict[tuple[Hashable, ...], list[list[AlignedCall]]] = {}
    for channel in b.channels.values():
        left.setdefault(tuple(one.keys[1] for one in channel), []).append(channel)
    alike: list[tuple[list[AlignedCall], list[AlignedCall]]] = []
    others: list[list[AlignedCall]] = []
    for channel in a.channels.values():
        if waiting := left.get(tuple(one.keys[1] for one in channel)):
            alike.append((channel, waiting.pop(0)))
        else:
            others.append(channel)
    of_b = [other for _, other in alike]
    taken = set(map(id, of_b))
    rest = [one for one in b.channels.values() if id(one) not in taken]
    return [*(one for one, _ in alike), *others], [*of_b, *rest]


def _conversation(key: _TalkKey, talk: _Talk, channels: Sequence[Sequence[AlignedCall]]) -> Conversation:
    properties = {name: ", ".join(sorted(values)) for name, values in talk.smb.items()}
    pipes = [one.pipe for one in talk.contexts if one.transport == "ncacn_np"]
    for name, words in (
        ("transport", [one.transport for one in talk.contexts]),
        ("pipe", [one for one in pipes if one is not None] or ["not captured"] * bool(pipes)),
        ("transfer syntax", [one.syntax for one in talk.contexts]),
        ("security", [f"{one.auth.type}, level {one.auth.level}" for one in talk.contexts]),
    ):
        if words:
            properties[name] = "; ".join(sorted(set(words)))
    server, interface, user = key
    return Conversation(server, interface, user, [one for channel in channels for one in channel], properties)


def _key_of(view: CaptureView, context: Context) -> _TalkKey:
    user, _, server, claimed, later = who_of(context)
    interface = context.interface.name or context.interface.uuid or "unknown interface"
    return view.label(server), interface, who_words(user, claimed, later)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _asked(number: int, call: HeldCall, guids: Mapping[str, str]) -> AlignedCall:
    request, response = call.request, call.response
    has_handle = any(handle_of(request, name) is not None for name in USED)
    gives_handle = any(handle_of(response, name) is not None for name in GIVEN)
    digest = _digest(request, HANDLE_LENGTH if has_handle else 0)
    method = call.opnum if call.opnum is not None else call.method
    is_read = request is not None and request.missing is None
    key = (method, hash(means(call, guids)) if is_read else None)
    digests = digest, _digest(response, 0)
    return AlignedCall(number, ((*key, digest), key, method), digests, has_handle or gives_handle)


def means(call: HeldCall, guids: Mapping[str, str] = MappingProxyType({})) -> tuple[Hashable, ...]:
    """Returns the key of what a call in a conversation asks: its parameters without handles and sizes, and what its handle was
    opened for. Counterset GUIDs are replaced by those that `guids` gives for them."""
    params = dict(call.request.params) if call.request is not None else {}
    if (guid := str(params.get("CounterSetGuid"))) in guids:
        params["CounterSetGuid"] = guids[guid]
    asked = sorted(
        (name, value) for name, value in params.items() if name not in _ALIGN_NOTHING and not _is_handle(value)
    )
    read = call.rare.read.value_name if call.rare.read is not None else None
    return repr(asked), call.rare.path, call.rare.key, read


def _is_handle(value: Any) -> bool:
    return isinstance(value, dict) and "uuid" in value


def _digest(side: HeldSide | None, start: int) -> int | None:
    """Returns the digest of the stub of a call in a conversation, from offset `start` on; None without a stub."""
    if side is None or side.missing is not None or side.stub is None:
        return None
    stub = side.stub if isinstance(side.stub, bytes) else side.stub.data
    return hash((len(stub), stub[start:]))

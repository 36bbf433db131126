"""The layer of `--redact`: events of the RPC layer in, events without names out. Names become pseudonyms before calls are decoded.

Everything above, from the parameters of calls to the countersets of a server, is read from stubs with pseudonyms. So is all output.
Captured bytes are not kept, except the headers of PDUs. Authentication tokens and sealed bytes become zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from msgspec.structs import replace

from analyzer.core.events import Event, Problem
from analyzer.core.traced_bytes import TracedBytes
from analyzer.interfaces.calls_from_exchanges import plain_call
from analyzer.interfaces.redaction.pseudonyms import Pseudonyms
from analyzer.interfaces.redaction.redacted_stubs import redacted_call
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.calls.call import Side
from analyzer.results.calls.pdus import Fragment, Fragments, Pdus
from analyzer.results.connection import (
    Bound,
    Channel,
    ClientMarks,
    FeaturesOffered,
    FlowLink,
    LateLogon,
    Logon,
    Pdu,
    SmbSession,
)
from analyzer.results.records.capture_records import EventTrace
from analyzer.results.records.record_types import Endpoint
from analyzer.results.reported_names.saved_metadata import Metadata
from analyzer.results.security import AuthInfo, Identity
from analyzer.transport.channel.channels import ChannelClosed, ChannelGap, SmbInfo
from analyzer.transport.rpc.exchange_maker import Exchange
from analyzer.transport.smb.trees_and_opens import RPC_PIPES
from analyzer.transport.tcp.stream_events import Recognised

_NAMES_OF_IDENTITY = (
    "user",
    "domain",
    "workstation",
    "server_name",
    "server_domain",
    "server_dns_name",
    "server_dns_domain",
    "server_dns_tree",
    "service",
    "realm",
    "client_principal",
)
_SEC_TRAILER = 8


class Redactor:
    """The layer above RPC that replaces names and addresses in events by pseudonyms."""

    takes: ClassVar[frozenset[type[Event]]] = frozenset(
        (
            Exchange,
            Problem,
            SmbSession,
            Logon,
            Bound,
            ChannelGap,
            ChannelClosed,
            ClientMarks,
            FeaturesOffered,
            FlowLink,
            LateLogon,
            Pdu,
            Recognised,
        )
    )

    def __init__(self, names: Pseudonyms) -> None:
        self._names = names
        self._channels: dict[int, tuple[Channel, Channel]] = {}
        self._identities: dict[Identity, Identity] = {}

    def feed(self, event: Event) -> Iterator[Event]:
        names = self._names
        match event:
            case Exchange():
                yield self._exchange(event)
            case Problem():
                yield replace(event, text=names.free(event.text))
            case SmbSession():
                yield self._session(event)
            case Logon():
                yield self._logon(event)
            case LateLogon():
                yield replace(event, identity=self._known(event.identity))
            case FlowLink():
                # The address of a network card leads to its owner, and nothing is said by a pseudonym of it.
                yield replace(event, src=self._end(event.src), dst=self._end(event.dst), mac=None)
            case Bound(reason=reason):
                yield replace(event, channel=self._channel(event.channel), reason=self._sentence(reason))
            case ChannelGap():
                yield replace(event, channel=self._channel(event.channel), reason=names.free(event.reason))
            case ChannelClosed() | FeaturesOffered() | Pdu():
                yield replace(event, channel=self._channel(event.channel))
            case ClientMarks():
                yield replace(event, client=self._end(event.client), server=self._end(event.server))
            case Recognised(connection=connection):
                ends = {"a": self._end(connection.a), "b": self._end(connection.b)}
                yield replace(event, connection=replace(connection, **ends))
            case _:
                yield event

    def finish(self) -> Iterator[Event]:
        return iter(())

    def _end(self, end: Endpoint) -> Endpoint:
        return Endpoint(self._names.address(end.ip), end.port)

    def _sentence(self, text: str | None) -> str | None:
        return self._names.free(text) if text is not None else None

    def _channel(self, channel: Channel) -> Channel:
        known = self._channels.get(channel.number)
        if known is None or known[0] != channel:
            pipe = channel.pipe
            if pipe is not None and pipe not in RPC_PIPES:
                pipe = self._names.name(pipe)
            made = replace(
                channel,
                client=self._end(channel.client),
                server=self._end(channel.server),
                pipe=pipe,
                identity=self._identity(channel.identity),
            )
            known = self._channels[channel.number] = channel, made
        return known[1]

    def _identity(self, identity: Identity | None) -> Identity | None:
        return self._known(identity) if identity is not None else None

    def _known(self, identity: Identity) -> Identity:
        found = self._identities.get(identity)
        if found is None:
            values = {name: getattr(identity, name) for name in _NAMES_OF_IDENTITY}
            named = {name: self._names.name(value) for name, value in values.items() if value}
            found = self._identities[identity] = replace(identity, **named)
        return found

    def _session(self, session: SmbSession) -> SmbSession:
        names = self._names
        pipes = tuple(pipe if pipe in RPC_PIPES else names.name(pipe) for pipe in session.pipes)
        hosts = tuple((names.address(ip), names.name(name), source) for ip, name, source in session.hosts)
        identity = self._known(session.identity)
        return replace(
            session,
            client=self._end(session.client),
            server=self._end(session.server),
            client_guid=names.guid(session.client_guid),
            server_guid=names.guid(session.server_guid),
            identity=identity,
            later=tuple(self._known(one) for one in session.later),
            trees=tuple(map(names.name, session.trees)),
            pipes=pipes,
            hosts=hosts,
            reason=self._sentence(session.reason),
        )

    def _exchange(self, exchange: Exchange) -> Exchange:
        channel, auth = self._channel(exchange.channel), self._auth(exchange.auth)
        stubs = redacted_call(plain_call(exchange), self._names)
        return replace(
            exchange,
            channel=channel,
            smb=self._smb(exchange.smb),
            auth=auth,
            request=_side(exchange.request, stubs["request"]),
            response=_side(exchange.response, stubs["response"]),
            reason=self._sentence(exchange.reason),
        )

    def _smb(self, smb: SmbInfo | None) -> SmbInfo | None:
        """Redacts how SMB carried a call: the ends of the connection and the logged-on account."""
        if smb is None:
            return None
        ends = {
            name: self._end(end) for name, end in (("client", smb.client), ("server", smb.server)) if end is not None
        }
        return replace(smb, identity=self._identity(smb.identity), **ends)

    def _auth(self, auth: AuthInfo) -> AuthInfo:
        decrypted_by = self._key_words(auth.decrypted_by)
        return replace(auth, identity=self._identity(auth.identity), decrypted_by=decrypted_by)

    def _key_words(self, words: str | None) -> str | None:
        """Redacts the words that say which key decrypted something: the account becomes a pseudonym."""
        if words is None:
            return None
        kind, of, name = words.partition(" of ")
        return kind + of + self._names.name(name)

    def _logon(self, logon: Logon) -> Logon:
        return replace(
            logon,
            client=self._end(logon.client),
            server=self._end(logon.server),
            identity=self._known(logon.identity),
            opened_by=self._key_words(logon.opened_by),
        )


def _side(side: Side | None, stub: bytes | None) -> Side | None:
    """Returns a request or response with its redacted stub; without a stub, its PDUs hold none either."""
    if side is None:
        return None
    fragments: list[Fragment] = []
    at = 0
    for fragment in side.pdus:
        start, stop = fragment.stub_start, fragment.stub_stop
        length = stop - start
        part = (stub[at : at + length] if stub is not None else b"").ljust(length, b"\0")
        at += length
        raw = fragment.pdu.data
        out = bytearray(len(raw))
        out[:start] = raw[:start]
        out[start:stop] = part
        auth_length = int.from_bytes(raw[10:12], "little" if raw[4] & 0x10 else "big")
        trailer = len(raw) - auth_length - _SEC_TRAILER
        if auth_length and trailer >= stop:
            out[trailer : trailer + _SEC_TRAILER] = raw[trailer : trailer + _SEC_TRAILER]
        old = fragment.pdu
        pdu = TracedBytes(bytes(out), old.source, old.start, old.steps)
        plain = fragment.plain
        if isinstance(plain, TracedBytes):
            plain = TracedBytes(part[: len(plain)], plain.source, plain.start, plain.steps)
        fragments.append(Fragment(pdu, start, stop, plain))
    kept = _joined(side.pdus, fragments)
    length = side.stub_length if stub is None else len(stub)
    return replace(side, pdus=kept, stub_length=length)


def _joined(old: Fragments, new: Sequence[Fragment]) -> Fragments:
    """Returns the redacted PDUs in the form in which the old ones were kept."""
    if isinstance(old, tuple):
        return tuple(new)
    whole = TracedBytes(b"".join(one.pdu.data for one in new), old.whole.source, old.whole.start, old.whole.steps)
    unsealed, plains = old.unsealed, old.plains
    if unsealed is not None:
        data = b"".join(one.plain.data for one in new if isinstance(one.plain, TracedBytes))
        unsealed = TracedBytes(data, unsealed.source, unsealed.start, unsealed.steps)
    if plains is not None:
        pairs = zip(plains, new, strict=True)
        plains = tuple(
            one.plain.data if isinstance(plain, bytes) and isinstance(one.plain, TracedBytes) else plain
            for plain, one in pairs
        )
    return Pdus(whole, old.stops, old.bounds, old.step, plains, unsealed)


def redacted_facts(facts: CaptureFacts, names: Pseudonyms) -> CaptureFacts:
    """Returns the facts about the capture with pseudonyms for names. Names of capture files stay."""
    known = {names.address(ip): names.name(name) for ip, name in facts.names.items()}
    traces = tuple(_redacted_trace(trace, names) for trace in facts.traces)
    return replace(facts, names=known, traces=traces, redacted=True)


def _redacted_trace(trace: EventTrace, names: Pseudonyms) -> EventTrace:
    """Returns the redacted facts of an etl file: the computer by its pseudonym, without the names of network interfaces, which
    contain users and machines."""
    return replace(
        trace,
        computer=names.name(trace.computer) if trace.computer is not None else None,
        interfaces=tuple(replace(each, name="", description="") for each in trace.interfaces),
    )


def redacted_metadata(metadata: Sequence[Metadata], names: Pseudonyms) -> list[Metadata]:
    """Returns metadata files with pseudonyms for the addresses of their servers."""
    return [replace(one, servers={names.address(ip): server for ip, server in one.servers.items()}) for one in metadata]


def without_names(analysis: Analysis, names: Pseudonyms) -> Analysis:
    """Returns a redacted analysis with its sentences redacted again: only now are all names known."""
    problems = tuple(replace(problem, text=names.free(problem.text)) for problem in analysis.problems)
    sessions = tuple(
        replace(one, reason=names.free(one.reason)) if one.reason is not None else one for one in analysis.sessions
    )
    return replace(analysis, capture=redacted_facts(analysis.capture, names), problems=problems, sessions=sessions)

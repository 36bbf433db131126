"""Builds exchanges as the RPC layer yields them, and the stubs of PerflibV2 and winreg that go into them.

`Calls` counts: every exchange it makes has the next call id and the next two frames, a millisecond apart.
"""

from collections.abc import Iterable
from pathlib import Path
from struct import pack
from typing import Any, Literal

from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.events import Event
from analyzer.core.limits import DEFAULTS
from analyzer.core.traced_bytes import TracedBytes
from analyzer.interfaces.pcq.perflib_layer import CatalogLearner, PerflibLayer
from analyzer.interfaces.resolution.whole_capture_resolution import resolved
from analyzer.interfaces.svcctl.service_layer import ServiceLayer
from analyzer.interfaces.winperf.winreg_layer import KeyFollower, WinregLayer
from analyzer.pipeline.run import EventCollector
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.calls.call import CallState, Side
from analyzer.results.calls.pdus import Fragment
from analyzer.results.connection import Channel, Logon, SmbSession
from analyzer.results.records.opened_file import FoundFiles
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import AuthInfo, AuthLevel, Decryption, Identity
from analyzer.screens.formats.unsealed_packets import write_conversation
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import Ndr
from tests.build.rpc import CHANNEL, FAULT, PCQ, REQUEST, RESPONSE, SMB, WINREG, Auth, pdu

MACHINE = "\\\\SRV1"
HANDLE = "5e0c6a4e-9b1d-4f3c-8a55-0d2b7c9e1f10"
OTHER_HANDLE = "aaaaaaaa-9b1d-4f3c-8a55-0d2b7c9e1f10"
NO_HANDLE = "00000000-0000-0000-0000-000000000000"
COUNTERSET = "383487a6-3676-4870-a4e7-d45b30c35629"
OTHER_COUNTERSET = "51d1685c-35ed-45be-99fe-17261a4f27f3"
NO_SECURITY = AuthInfo(0, AuthLevel.NONE, "none", None, Decryption.NOT_SEALED, None, None)
MS = 1_000_000


class Calls:
    """Makes exchanges of one channel and interface."""

    def __init__(
        self,
        interface: str = PCQ,
        *,
        channel: Channel = CHANNEL,
        ndr64: bool = False,
        big_endian: bool = False,
        first_frame: int = 1,
        level: int = AuthLevel.NONE,
        auth_type: int = 10,
    ) -> None:
        """At a `level` above NONE, every PDU has a security trailer (whose signature nobody checks)."""
        self.interface, self.channel, self.ndr64, self.big_endian = interface, channel, ndr64, big_endian
        self.frame = first_frame - 1
        self.call_id = 0
        self.level, self.auth_type = level, auth_type

    def stub(self) -> Ndr:
        """An empty stub in the representation of these calls."""
        return Ndr(ndr64=self.ndr64, order="big" if self.big_endian else "little")

    def message(
        self,
        stub: Ndr | bytes | Missing | None,
        *,
        opnum: int | None = None,
        fault: int | None = None,
        trailer: Literal["ok", "bad"] | None = None,
    ) -> Side | None:
        """A request where an opnum is given, else a response or fault."""
        if stub is None:
            return None
        self.frame += 1
        data = stub.data if isinstance(stub, Ndr) else stub if isinstance(stub, bytes) else b"\x55" * 32
        ptype = REQUEST if opnum is not None else FAULT if fault is not None else RESPONSE
        head = pack(">IHH" if self.big_endian else "<IHH", len(data), 0, opnum or 0)
        if fault is not None:
            head += pack(">II" if self.big_endian else "<II", fault, 0)
        start = 16 + len(head)
        auth = None if self.level == AuthLevel.NONE else Auth(bytes(16), self.level, self.auth_type)
        pad = -len(data) % 16 if auth is not None else 0
        whole = pdu(ptype, head + data + bytes(pad), call_id=self.call_id, big=self.big_endian, auth=auth, pad=pad)
        traced = TracedBytes.of_frame(whole, self.frame, 100, self.frame * MS)
        plain = stub if isinstance(stub, Missing) else traced[start : start + len(data)]
        return Side(
            pdus=(Fragment(traced, start, start + len(data), plain),),
            missing=plain if isinstance(plain, Missing) else None,
            stub_length=0 if isinstance(plain, Missing) else len(data),
            wire_length=len(data),
            verification_trailer=trailer,
            big_endian=self.big_endian,
            first_time_ns=self.frame * MS,
            last_time_ns=self.frame * MS,
        )

    def exchange(
        self,
        opnum: int | None,
        request: Ndr | bytes | Missing | None,
        response: Ndr | bytes | Missing | None,
        *,
        state: CallState | None = None,
        reason: str | None = None,
        fault: int | None = None,
        trailer: Literal["ok", "bad"] | None = None,
    ) -> Exchange:
        """One call. The state follows from what is there, unless it is reported."""
        self.call_id += 1
        asked = self.message(request, opnum=opnum or 0, trailer=trailer)
        answered = self.message(response, fault=fault)
        if state is None:
            state = "request-only" if answered is None else "response-only" if asked is None else "complete"
            if Missing.SEALED in (request, response):
                state = "sealed"
        return Exchange(
            channel=self.channel,
            smb=SMB,
            auth=self.security,
            interface=self.interface,
            version=(1, 0),
            syntax="ndr64" if self.ndr64 else "ndr",
            opnum=opnum,
            call_id=self.call_id,
            context_id=0,
            object_uuid=None,
            request=asked,
            response=answered,
            fault=fault,
            state=state,
            reason=reason if state == "complete" or reason is not None else f"the test says {state}",
            cancelled=False,
            orphaned=False,
        )

    @property
    def security(self) -> AuthInfo:
        if self.level == AuthLevel.NONE:
            return NO_SECURITY
        decryption = Decryption.DECRYPTED if self.level == AuthLevel.PRIVACY else Decryption.NOT_SEALED
        return AuthInfo(self.auth_type, self.level, "ntlm", None, decryption, True, True)

    def faulted(self, opnum: int, request: Ndr | bytes, status: int) -> Exchange:
        """A call that was answered by a fault."""
        return self.exchange(opnum, request, b"", fault=status)

    # PerflibV2

    def sized(
        self,
        data: bytes,
        status: int = 0,
        *,
        needed: int | None = None,
        element: int = 1,
        room: int | None = None,
        out_size: int | None = None,
    ) -> Ndr:
        """The answer of opnums 0, 1, 2, 5 and 6 to somebody who offered `room`."""
        count = len(data) // element
        stub = self.stub().uint(count if out_size is None else out_size).uint(count if needed is None else needed)
        return stub.array(data, max(count, 1) if room is None else room, element).uint(status)

    def enumerate_sets(self, guids: bytes) -> Exchange:
        return self.exchange(0, self.stub().string(MACHINE).uint(256), self.sized(guids, element=16, room=256))

    def registration(
        self, code: int, data: bytes, *, lcid: int = 0, guid: str = COUNTERSET, status: int = 0
    ) -> Exchange:
        room = max(4096, len(data))
        asked = self.stub().string(MACHINE).uuid(guid).uint(code).uint(lcid).uint(room)
        return self.exchange(1, asked, self.sized(data, status, room=room))

    def open_query(self, handle: str = HANDLE, status: int = 0) -> Exchange:
        return self.exchange(3, self.stub().string(MACHINE), self.stub().handle(handle).uint(status))

    def close_query(self, handle: str = HANDLE, status: int = 0) -> Exchange:
        answer = self.stub().handle(NO_HANDLE if status == 0 else handle).uint(status)
        return self.exchange(4, self.stub().handle(handle), answer)

    def counter_info(self, identifiers: bytes, handle: str = HANDLE) -> Exchange:
        room = max(4096, len(identifiers))
        return self.exchange(5, self.stub().handle(handle).uint(room), self.sized(identifiers, room=room))

    def counter_data(
        self, data: bytes, handle: str = HANDLE, status: int = 0, *, needed: int | None = None
    ) -> Exchange:
        room = max(4096, len(data))
        return self.exchange(
            6, self.stub().handle(handle).uint(room), self.sized(data, status, needed=needed, room=room)
        )

    def validate(
        self, asked: bytes, answered: bytes | None = None, handle: str = HANDLE, *, add: int = 1, status: int = 0
    ) -> Exchange:
        request = self.stub().handle(handle).uint(len(asked)).conformant(asked).uint(add)
        response = self.stub().conformant(asked if answered is None else answered).uint(status)
        return self.exchange(7, request, response)

    # winreg

    def open_key(self, opnum: int = 3, handle: str = HANDLE, status: int = 0) -> Exchange:
        return self.exchange(opnum, self.stub().null().uint(0x02000000), self.stub().handle(handle).uint(status))

    def close_key(self, handle: str = HANDLE, status: int = 0) -> Exchange:
        return self.exchange(5, self.stub().handle(handle), self.stub().handle(HANDLE).uint(status))

    def query_value(
        self,
        name: str,
        data: bytes | None,
        handle: str = HANDLE,
        *,
        status: int = 0,
        room: int = 4096,
        kind: int = 3,
        needed: int | None = None,
    ) -> Exchange:
        request = value_stub(self.stub().handle(handle).unicode_string(name), 0, b"", room, room, 0)
        size = needed if needed is not None else len(data or b"")
        return self.exchange(
            17, request, value_stub(self.stub(), kind, data, room, size, len(data or b"")).uint(status)
        )

    def enumerate_value(self, index: int, name: str, data: bytes, handle: str = HANDLE) -> Exchange:
        request = value_stub(self.stub().handle(handle).uint(index).unicode_string(""), 0, None, 0, 4096, 0)
        response = value_stub(self.stub().unicode_string(name), 3, data, len(data), len(data), len(data))
        return self.exchange(10, request, response.uint(0))


def value_stub(stub: Ndr, kind: int | None, data: bytes | None, room: int, size: int | None, length: int | None) -> Ndr:
    """What BaseRegQueryValue ends with: lpType, lpData, lpcbData, lpcbLen; a null pointer where one is None."""
    for number, value in enumerate((kind, data, size, length)):
        if value is None:
            stub.null()
        elif isinstance(value, bytes):
            stub.pointer(number + 5).array(value, max(room, len(value)))
        else:
            stub.pointer(number + 5).uint(value)
    return stub


def winreg(**options: Any) -> Calls:
    return Calls(WINREG, **options)


def with_stub(message: Side, stub: TracedBytes) -> Side:
    """The same message, had its (only) PDU carried this stub."""
    (fragment,) = message.pdus
    carried = replace(fragment, stub_stop=fragment.stub_start + len(stub), plain=stub)
    return replace(message, pdus=(carried,), stub_length=len(stub))


def sealed(exchange: Exchange) -> Exchange:
    """The same call, as it looks without a key."""

    def unread(message: Side | None) -> Side | None:
        if message is None:
            return None
        fragments = tuple(replace(fragment, plain=Missing.SEALED) for fragment in message.pdus)
        return replace(message, pdus=fragments, missing=Missing.SEALED, stub_length=0)

    return replace(
        exchange, request=unread(exchange.request), response=unread(exchange.response), state="sealed", reason="no key"
    )


def unanswered(exchange: Exchange, reason: str = "lost") -> Exchange:
    """The same call without its answer."""
    return replace(exchange, response=None, state="request-only", reason=reason)


def altered(exchange: Exchange) -> Exchange:
    """The same call, had others changed it: its signature does not fit."""
    assert exchange.smb is not None
    return replace(exchange, smb=replace(exchange.smb, signature_ok=False))


def smb_session(number: int, refused: int | None = None, *, anonymous: bool = False) -> SmbSession:
    """Of user N, in frame N at the time N; it may have been refused with a status."""
    return SmbSession(
        number=number,
        session_id=number,
        client=Endpoint("10.0.0.2", 50000),
        server=Endpoint("10.0.0.1", 445),
        dialect="3.1.1",
        client_guid=None,
        server_guid=None,
        cipher=None,
        signing=None,
        identity=Identity(
            "ntlm",
            None if anonymous else f"user{number}",
            is_anonymous=anonymous,
            granted=None if refused is not None else "anonymous" if anonymous else "account",
        ),
        decryption=Decryption.NOT_SEALED,
        reason=None,
        first_time_ns=number,
        last_time_ns=number,
        frames=(number,),
        encrypted_messages=0,
        decrypted_messages=0,
        signed_messages=0,
        verified_messages=0,
        trees=(),
        pipes=(),
        hosts=(),
        refused=refused,
    )


def logon_of(session: SmbSession) -> Logon:
    """The only logon of a session."""
    return Logon(
        number=session.number,
        by="smb",
        session=session.number,
        channel=None,
        client=session.client,
        server=session.server,
        identity=session.identity,
        first_time_ns=session.first_time_ns,
        until_ns=session.last_time_ns,
        frames=session.frames,
        refused=session.refused,
        is_answered=session.identity.granted is not None or session.refused is not None or bool(session.pipes),
    )


def analysis_of(*events: Event, files: tuple[str, ...] = ("made.pcap",)) -> Analysis:
    """What the layers above make of these events, as the pipeline puts it together."""
    learner, follower, collected = CatalogLearner(), KeyFollower(), EventCollector(DEFAULTS)
    pcq, registry, services = PerflibLayer(learner), WinregLayer(follower), ServiceLayer()
    for event in events:
        for higher in pcq.feed(event):
            for highest in registry.feed(higher):
                for made in services.feed(highest):
                    collected.take_event(made)
    calls, notes = resolved(collected.calls, learner, follower, pcq.losses)
    return Analysis(
        capture=CaptureFacts(files, 100, 6400, 0, 1000 * MS),
        calls=calls,
        problems=(*collected.problems, *notes),
        sessions=tuple(collected.sessions),
        bounds=tuple(collected.bounds),
        pdus=tuple(collected.pdus),
        catalogs=learner.catalogs,
        name_tables=follower.names,
        features=tuple(collected.features),
        logons=tuple(logon_of(one) for one in collected.sessions),
        closed=frozenset(collected.closed),
        connections=collected.connections,
        files=FoundFiles(()),
    )


def with_sessions(analysis: Analysis, sessions: Iterable[SmbSession]) -> Analysis:
    """An analysis with these sessions, each of one logon."""
    listed = tuple(sessions)
    return replace(analysis, sessions=listed, logons=tuple(map(logon_of, listed)))


def write_capture(path: Path, *events: Event) -> Path:
    """A pcapng file of these calls, as `export` writes it."""
    with path.open("wb") as out:
        write_conversation(analysis_of(*events).shown, out, files=["made"], names={})
    return path

"""A model of a counter server on the loopback interface: PerflibV2 and winreg over TCP, and over impacket's SMB server as a pipe.

It keeps to the specification as `tests.questions.audit.conversation` does, with the same countersets. Its NTLM, PDUs and
buffers are those of `tests.build`, its requests are taken apart by the analyzer's parsers; impacket, the probe's client, has no
part in it but the SMB below the pipe.
"""

import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from struct import pack, unpack_from
from typing import Any, ClassVar
from uuid import UUID, uuid4

from msgspec import Struct

from analyzer.core.errors import DecodeError
from analyzer.interfaces.buffers.stub_decoding import decode_stub
from tests.build import rpc
from tests.build.auth import (
    OID_NTLM,
    USUAL_FLAGS,
    NtlmConversation,
    Rc4,
    av_pair,
    challenge_message,
    hmac_md5,
    md4,
    neg_token_resp,
)
from tests.build.buffers import (
    Block,
    Counter,
    Instance,
    Ndr,
    PerfObject,
    instance_header,
    perf_data,
    string_table,
    wide,
    winperf,
)
from tests.build.calls import value_stub
from tests.questions.audit.conversation import BASE, COUNTERS, FRACTION, MULTIPLE, RAW, SINGLE, counter, record, u4, u8

USER, PASSWORD, OTHER = "prober", "no secret of anybody", "stranger"
DOMAIN = "LAB"
PCQ, WINREG = rpc.PCQ, "338cd001-2244-31f1-aaaa-900038001003"
NDR64 = ("71710533-beba-4937-8319-b5dbef9ccc36", 1)
ALL, BAD_STUB, BAD_HANDLE, NO_METHOD = 0xFFFFFFFF, 0x6F7, 0x1C00001A, 0x1C010002
DENIED, INVALID, TOO_SMALL, TWICE, NO_LANGUAGE = 5, 0x57, 8, 0xB7, 1815
NOT_FOUND, NO_INSTANCES, NO_COUNTER, NO_INSTANCE = 0x1068, 0x1069, 0x106A, 3
MOST = {0: 256, 1: 134217728, 2: 67108864, 5: 67108864, 6: 1073741824, 7: 67108864}
ROW = (u4(5), u8(1 << 20), u4(3), u4(4))
FREQUENCY = 10_000_000
_SPNEGO = 9
# A mechListMIC of 16 bytes in a NegTokenResp (RFC 4178 section 4.2.2).
_MIC = b"\xa3\x12\x04\x10"


class FaultError(Exception):
    """A call that is answered by a fault."""

    def __init__(self, status: int) -> None:
        self.status = status


class Acceptor:
    """The server's end of NTLM, bare or inside SPNEGO. `user` is known, and messages protected, once the last token came."""

    def __init__(self, number: int, level: int, auth_type: int = 10) -> None:
        self.number, self.level, self.auth_type = number, level, auth_type
        self.user = ""
        self.sealer: rpc.RealSealer | None = None
        self._challenge = b"\1\2\3\4\5\6\7\x08"

    def answer(self, token: bytes) -> bytes:
        """What answers a token of the client; nothing where that was the last one, or is sent again."""
        at = token.find(b"NTLMSSP\0")
        kind = token[at + 8] if at >= 0 else 0
        if kind == 1:
            challenge = self._challenged()
            if self.auth_type == _SPNEGO:
                return neg_token_resp(state=1, mechanism=OID_NTLM, token=challenge)
            return challenge
        if kind == 3 and self.sealer is None:
            self._finish(token[at:])
            if self.auth_type == _SPNEGO:
                if _MIC not in token:
                    return neg_token_resp(state=0)
                # The keystream that mechListMICs spend is given back afterwards ([MS-SPNG] section 3.3.5.1), their numbers are not.
                spent = NtlmConversation(b"", b"", b"", self._keys.session_key, self._keys.flags)
                self._keys._ends["acceptor"].number = 1
                return neg_token_resp(state=0, mic=spent.mech_list_mic("acceptor", [OID_NTLM]))
        return b""

    def _challenged(self) -> bytes:
        domain = DOMAIN.encode("utf-16-le")
        now = (int(datetime.now(UTC).timestamp()) + 11644473600) * FREQUENCY
        names = av_pair(2, domain) + av_pair(1, domain) + av_pair(3, domain) + av_pair(7, u8(now)) + av_pair(0, b"")
        return challenge_message(USUAL_FLAGS, self._challenge, domain, names)

    def _finish(self, token: bytes) -> None:
        def part(at: int) -> bytes:
            length, _, start = unpack_from("<HHI", token, at)
            return token[start : start + length]

        response, domain, user, sealed_key = part(20), part(28), part(36), part(52)
        (flags,) = unpack_from("<I", token, 60)
        self.user = user.decode("utf-16-le")
        key = hmac_md5(md4(PASSWORD.encode("utf-16-le")), self.user.upper().encode("utf-16-le") + domain)
        assert response[:16] == hmac_md5(key, self._challenge + response[16:]), "the password is wrong"
        session_key = Rc4(hmac_md5(key, response[:16])).update(sealed_key)
        self._keys = NtlmConversation(b"", b"", b"", session_key, flags)
        self.sealer = rpc.RealSealer(
            self._keys, "acceptor", level=self.level, auth_type=self.auth_type, context_id=self.number
        )

    def opened(self, body: bytes) -> bytes:
        """What the client sealed; its signature has spent keystream as well."""
        keystream = self._keys._ends["initiator"].rc4
        plain = keystream.update(body) if self.level == 6 else body
        keystream.update(bytes(8))
        return plain


class Contents:
    """What a server has, and what it tells of it. This one has two countersets, whose values stand still."""

    sets: ClassVar[Sequence[str]] = (MULTIPLE, SINGLE)

    def registered(self, guid: str, code: int, language: int) -> tuple[int, bytes]:
        """Status and buffer of a RequestCode."""
        if not 1 <= code <= 10:
            return INVALID, b""
        if guid not in self.sets:
            return NOT_FOUND, b""
        if code in (3, 4, 5, 6) and language not in (0, 0x409):
            return NO_LANGUAGE, b""
        return self.registration(guid, code, language)

    def registration(self, guid: str, code: int, language: int) -> tuple[int, bytes]:
        """Status and buffer of a RequestCode of a counterset that there is, in a language that there is."""
        counters = COUNTERS if guid == MULTIPLE else (counter(1, RAW),)
        match code:
            case 1:
                return 0, record(MULTIPLE, 2, *COUNTERS) if guid == MULTIPLE else record(SINGLE, 0, counter(1, RAW))
            case 2:
                found = next((one for one in counters if one[:4] == u4(language)), None)
                return (0, found) if found is not None else (NO_COUNTER, b"")
            case 5 | 6 | 10:
                names = [(int.from_bytes(one[:4], "little"), f"name {one[0]}") for one in counters]
                return 0, string_table(list(names), from_start=False)
            case 8:
                return 0, UUID(guid).bytes_le
            case _:
                return 0, wide(f"text {code}")

    def counters(self, guid: str) -> Sequence[int]:
        """The counters of a counterset, by number."""
        return (1, 2, 3, 4) if guid == MULTIPLE else (1,)

    def instances(self, guid: str) -> Mapping[str, int] | None:
        """The instances of a counterset; None of one that has no instances."""
        return {"a": 0, "b": 1} if guid == MULTIPLE else None

    def status(self, one: bytes, held: list[bytes], *, add: int) -> int:
        """What becomes of an identifier. One that is held and to be removed is taken as it was added."""
        same = next((other for other in held if _key(other) == _key(one)), None)
        if not add:
            if same is None:
                return INVALID
            held[held.index(same)] = one[:16] + u4(0) + one[20:]
            return 0
        guid, wanted, name = str(UUID(bytes_le=one[:16])), int.from_bytes(one[24:28], "little"), _name(one)
        if guid not in self.sets:
            return NOT_FOUND
        if wanted != ALL and wanted not in self.counters(guid):
            return NO_COUNTER
        instances = self.instances(guid)
        if instances is not None and name not in ("*", *instances):
            return NO_INSTANCE
        return TWICE if same is not None else 0

    def blocks(self, held: list[bytes]) -> list[Block]:
        """A block for each identifier of a query."""
        blocks = []
        for one in held:
            guid, wanted, name = str(UUID(bytes_le=one[:16])), int.from_bytes(one[24:28], "little"), _name(one)
            ids = tuple(self.counters(guid))
            if name == "*":
                every = tuple((self.instances(guid) or {}).items())
                rows = tuple(self.row(guid, each, (wanted,) if wanted != ALL else ids) for each, _ in every)
                block = Block(4 if wanted != ALL else 6, ids=ids, instances=every, values=rows)
            elif wanted != ALL:
                block = Block(1, values=(self.row(guid, name, (wanted,)),))
            else:
                block = Block(2, ids=ids, values=(self.row(guid, name, ids),))
            blocks.append(block)
        return blocks

    def row(self, guid: str, instance: str, counters: Sequence[int]) -> tuple[bytes, ...]:
        """The values of these counters now."""
        return tuple(ROW[number - 1] for number in counters)

    def perf_data(self, blocks: list[Block]) -> bytes:
        """A _PERF_DATA_HEADER with these blocks, as of now."""
        moment = self.now()
        data = perf_data(blocks, _clocks(moment))
        return data[:32] + _system_time(moment) + data[48:]

    def winperf(self, objects: list[PerfObject]) -> bytes:
        """A PERF_DATA_BLOCK with these objects, as of now."""
        moment = self.now()
        ticks, now, frequency = _clocks(moment)
        data = winperf(objects, clocks=(ticks, frequency, now))
        return data[:36] + _system_time(moment) + data[52:]

    def now(self) -> datetime:
        """The time of the server."""
        return datetime.now(UTC)

    def objects(self) -> list[PerfObject]:
        """What HKEY_PERFORMANCE_DATA has now."""
        counters = (Counter(784, RAW, 4), Counter(6, FRACTION, 4), Counter(8, BASE, 4))
        rows = (Instance("a", 1, (0, 0), (7, 8, 9)), Instance("b", 2, (0, 0), (4, 5, 6)))
        return [PerfObject(238, counters, rows)]


class Answer(Struct, frozen=True):
    """What a server made of a call: the stub of its response or the status of its fault, and what it told of counters, as blocks
    of PerflibV2 or as objects of HKEY_PERFORMANCE_DATA."""

    stub: bytes = b""
    fault: int | None = None
    blocks: Sequence[Block] | None = None
    objects: Sequence[PerfObject] | None = None


Heed = Callable[[str, int, bytes, Answer], None]


class Caller:
    """Answers the calls of one association, and knows the handles that it gave out there."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._queries: dict[str, list[bytes]] = {}
        self._keys: set[str] = set()
        self._big = False
        self._blocks: list[Block] | None = None
        self._objects: list[PerfObject] | None = None

    def answer(
        self, interface: str, opnum: int, stub: bytes, *, allowed: bool = True, ndr64: bool = False, big: bool = False
    ) -> Answer:
        """One call; who is not `allowed` gets ERROR_ACCESS_DENIED of PerflibV2."""
        self._blocks = self._objects = None
        self._big = big
        made = Ndr(ndr64=ndr64, order="big" if big else "little")
        try:
            if interface == PCQ:
                answer = self._perflib(opnum, stub, made, allowed=allowed)
            else:
                answer = self._registry(opnum, stub, made)
        except FaultError as fault:
            return Answer(fault=fault.status)
        return Answer(answer.data, None, self._blocks, self._objects)

    # --- PerflibV2 ------------------------------------------------------------------------------------------------------

    def _perflib(self, opnum: int, stub: bytes, answer: Ndr, *, allowed: bool) -> Ndr:
        if opnum > 7:
            raise FaultError(NO_METHOD)
        try:
            asked = decode_stub(
                "perflib-v2", opnum, "request", stub, ndr64=answer.width == 8, big_endian=answer.order == "big"
            )
        except DecodeError:
            raise FaultError(BAD_STUB) from None
        params = asked.params
        room = params.get("dwInSize", 0)
        if asked.notes or asked.consumed != len(stub) or room > MOST.get(opnum, 0):
            raise FaultError(BAD_STUB)
        if opnum == 3:
            return self._open(answer, allowed=allowed)
        held: list[bytes] = []
        if opnum >= 4:
            handle = params.get("hQuery") or params["phQuery"]
            held = self._query(handle["uuid"])
        if opnum == 4:
            return self._close(answer, handle["uuid"], allowed=allowed)
        if opnum == 7:
            status, data = (
                self._validate(asked.data or b"", held, add=params["dwAdd"]) if allowed else (DENIED, asked.data)
            )
            return answer.conformant(data or b"").uint(status)
        status, data = (DENIED, b"") if not allowed else self._told(opnum, params, held)
        element = 16 if opnum == 0 else 1
        needed = len(data) // element
        if status == 0 and needed > room:
            status, data, self._blocks = TOO_SMALL, b"", None
        answer.uint(len(data) // element).uint(needed if status in (0, TOO_SMALL) else 0)
        return answer.array(data, room, element).uint(status)

    def _query(self, uuid: str) -> list[bytes]:
        if uuid not in self._queries:
            raise FaultError(BAD_HANDLE)
        return self._queries[uuid]

    def _open(self, answer: Ndr, *, allowed: bool) -> Ndr:
        if not allowed:
            return answer.handle(str(UUID(int=0))).uint(DENIED)
        uuid = str(uuid4())
        self._queries[uuid] = []
        return answer.handle(uuid).uint(0)

    def _close(self, answer: Ndr, uuid: str, *, allowed: bool) -> Ndr:
        if not allowed:
            return answer.handle(uuid).uint(DENIED)
        del self._queries[uuid]
        return answer.handle(str(UUID(int=0))).uint(0)

    def _told(self, opnum: int, params: dict[str, Any], held: list[bytes]) -> tuple[int, bytes]:
        match opnum:
            case 0:
                # NDR marshals these GUIDs; those in buffers are always little-endian.
                return 0, b"".join(rpc.uuid_bytes(guid, big=self._big) for guid in self._contents.sets)
            case 1:
                guid, code, language = params["CounterSetGuid"], params["RequestCode"], params["RequestLCID"]
                return self._contents.registered(guid, code, language)
            case 2:
                if params["CounterSetGuid"] not in self._contents.sets:
                    return NOT_FOUND, b""
                instances = self._contents.instances(params["CounterSetGuid"])
                if instances is None:
                    return NO_INSTANCES, b""
                return 0, b"".join(instance_header(name, number) for name, number in instances.items())
            case 5:
                return 0, b"".join(one[:16] + u4(0) + one[20:32] + u4(n) + one[36:] for n, one in enumerate(held))
            case _:
                self._blocks = self._contents.blocks(held)
                return 0, self._contents.perf_data(self._blocks)

    def _validate(self, data: bytes, held: list[bytes], *, add: int) -> tuple[int, bytes]:
        if len(data) < 40:
            return INVALID, data
        identifiers = []
        at = 0
        while at < len(data):
            size = int.from_bytes(data[at + 20 : at + 24], "little") if len(data) - at >= 40 else 0
            if size < 40 or size % 8 or at + size > len(data):
                return INVALID, data
            identifiers.append(data[at : at + size])
            at += size
        answered = []
        for one in identifiers:
            status = self._contents.status(one, held, add=add)
            if status == 0:
                (held.append if add else held.remove)(one[:16] + u4(0) + one[20:])
            answered.append(one[:16] + u4(status) + one[20:])
        return 0, b"".join(answered)

    # --- winreg -------------------------------------------------------------------------------------------------------------

    def _registry(self, opnum: int, stub: bytes, answer: Ndr) -> Ndr:
        if opnum == 3:
            uuid = str(uuid4())
            self._keys.add(uuid)
            return answer.handle(uuid).uint(0)
        if opnum not in (5, 17) or _handle(stub, answer.order) not in self._keys:
            raise FaultError(BAD_HANDLE)
        if opnum == 5:
            return answer.handle(str(UUID(int=0))).uint(0)
        self._objects = self._contents.objects()
        data = self._contents.winperf(self._objects)
        return value_stub(answer, 3, data, len(data), len(data), len(data)).uint(0)


class Association:
    """One connection: its presentation and security contexts, and the handles it was given. `heed` is told of each call and of
    what became of it. Some servers protect faults too, others (`seals_faults` is not set) send them bare."""

    def __init__(
        self, connection: socket.socket, contents: Contents, heed: Heed = lambda *_: None, *, seals_faults: bool = True
    ) -> None:
        self._connection, self._heed, self._seals_faults = connection, heed, seals_faults
        self._caller = Caller(contents)
        self._held = b""
        self._contexts: dict[int, tuple[str, bool, Acceptor | None]] = {}
        self._acceptors: dict[int, Acceptor] = {}
        self._request = b""

    def run(self) -> None:
        with suppress(OSError, EOFError):
            while True:
                self._take(self._receive())
        self._connection.close()

    def _receive(self) -> bytes:
        while len(self._held) < 16 or len(self._held) < unpack_from("<H", self._held, 8)[0]:
            more = self._connection.recv(65536)
            if self._connection.family != socket.AF_UNIX:
                self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
            if not more:
                raise EOFError
            self._held += more
        length = unpack_from("<H", self._held, 8)[0]
        pdu, self._held = self._held[:length], self._held[length:]
        return pdu

    def _take(self, pdu: bytes) -> None:
        kind, call_id = pdu[2], unpack_from("<I", pdu, 12)[0]
        auth_length = unpack_from("<H", pdu, 10)[0]
        trailer = len(pdu) - auth_length - 8
        acceptor = None
        if auth_length:
            number = unpack_from("<I", pdu, trailer + 4)[0]
            made = Acceptor(number, pdu[trailer + 1], pdu[trailer])
            acceptor = self._acceptors.setdefault(number, made)
        if kind in (rpc.BIND, rpc.ALTER):
            self._bind(pdu, call_id, acceptor, pdu[len(pdu) - auth_length :])
        elif kind == rpc.AUTH3:
            acceptor.answer(pdu[-auth_length:])
        elif kind == rpc.REQUEST:
            body = pdu[24:]
            if acceptor is not None:
                body = acceptor.opened(pdu[24:trailer])[: trailer - 24 - pdu[trailer + 2]]
            self._request += body
            if pdu[3] & rpc.LAST:
                stub, self._request = self._request, b""
                context, opnum = unpack_from("<HH", pdu, 20)
                self._answer(call_id, context, opnum, stub, acceptor)

    def _bind(self, pdu: bytes, call_id: int, acceptor: Acceptor | None, token: bytes) -> None:
        results = []
        at = 28
        for _ in range(pdu[24]):
            number, transfers = unpack_from("<HB", pdu, at)
            interface, *offered = (
                str(UUID(bytes_le=pdu[place : place + 16])) for place in range(at + 4, at + 24 + 20 * transfers, 20)
            )
            at += 24 + 20 * transfers
            known = {PCQ: (rpc.NDR, NDR64), WINREG: (rpc.NDR,)}.get(interface, ())
            found = next((one for one in known if one[0] in offered), None)
            nothing = ("00000000-0000-0000-0000-000000000000", 0)
            refused = (3, 0, nothing) if rpc.FEATURES[0][:18] in offered[0] else (2, 2, nothing)
            results.append((0, 0, found) if found else refused)
            if found is not None:
                self._contexts[number] = interface, found == NDR64, acceptor
        answer = acceptor.answer(token) if acceptor is not None else None
        auth = rpc.Auth(answer, acceptor.level, acceptor.auth_type, acceptor.number) if acceptor and answer else None
        ptype = rpc.BIND_ACK if pdu[2] == rpc.BIND else rpc.ALTER_RESP
        flags = rpc.WHOLE | pdu[3] & rpc.HEADER_SIGN
        self._connection.sendall(rpc.bind_ack(results, ptype=ptype, call_id=call_id, auth=auth, flags=flags))

    def _answer(self, call_id: int, context: int, opnum: int, stub: bytes, protecting: Acceptor | None) -> None:
        interface, ndr64, bound = self._contexts[context]
        # An alter_context without a token adds an interface to the security context that there is.
        acceptor = protecting or bound
        sealer = acceptor.sealer if acceptor is not None and acceptor.level >= 3 else None
        allowed = acceptor is not None and acceptor.level == 6 and acceptor.user != OTHER
        answer = self._caller.answer(interface, opnum, without_trailer(stub), allowed=allowed, ndr64=ndr64)
        self._heed(interface, opnum, stub, answer)
        if answer.fault is not None:
            on_faults = sealer if self._seals_faults else None
            self._connection.sendall(rpc.fault(answer.fault, call_id=call_id, context_id=context, sealer=on_faults))
            return
        for flags, piece in rpc.fragments(answer.stub, 4096):
            made = rpc.response(piece, call_id=call_id, context_id=context, flags=flags, sealer=sealer)
            self._connection.sendall(made)


def without_trailer(stub: bytes) -> bytes:
    """A stub without the verification trailer that may follow it ([MS-RPCE] section 2.2.2.13)."""
    at = stub.rfind(rpc.VT_SIGNATURE)
    return stub if at < 0 else stub[:at]


def _handle(stub: bytes, order: str) -> str:
    """The handle that a request of winreg begins with."""
    return str(UUID(bytes=stub[4:20]) if order == "big" else UUID(bytes_le=stub[4:20]))


def _name(one: bytes) -> str:
    return one[40:].decode("utf-16-le").partition("\0")[0]


def _key(one: bytes) -> tuple[bytes, bytes, str]:
    return one[:16], one[24:32], _name(one).casefold()


def _system_time(moment: datetime) -> bytes:
    """A SYSTEMTIME."""
    parts = (moment.year, moment.month, moment.isoweekday() % 7, moment.day, moment.hour, moment.minute, moment.second)
    return pack("<8H", *parts, moment.microsecond // 1000)


def _clocks(moment: datetime) -> tuple[int, int, int]:
    """Both clocks of the computer, and the frequency of the first."""
    now = (int(moment.timestamp()) + 11644473600) * FREQUENCY + moment.microsecond * 10
    return now, now, FREQUENCY


class Server:
    """The model on a port of the loopback interface. `smb` is the port of a file server whose pipe winreg leads to it."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._smb: Any = None
        self.accepted = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.accepted += 1
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=Association(connection, Contents()).run, daemon=True).start()

    def smb(self) -> int:
        """Starts the file server; its port."""
        from impacket.smbserver import SMBSERVER, SimpleSMBServer

        class AtOnce(SMBSERVER):
            """Sends what it has at once, or every answer waits for an acknowledgement."""

            def get_request(self) -> Any:
                connection, address = super().get_request()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return connection, address

        self._smb = SimpleSMBServer("127.0.0.1", 0, smbserverclass=AtOnce)
        self._smb.setSMB2Support(True)
        hashed = md4(PASSWORD.encode("utf-16-le")).hex()
        for user in (USER, OTHER):
            self._smb.addCredential(user, 0, "", hashed)
        self._smb.registerNamedPipe("winreg", ("127.0.0.1", self.port))
        threading.Thread(target=self._smb.getServer().serve_forever, daemon=True).start()
        return int(self._smb.getServer().socket.getsockname()[1])

    def close(self) -> None:
        # A thread that waits in accept() would take one more connection.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        if self._smb is not None:
            self._smb.getServer().shutdown()
            self._smb.stop()
            # impacket binds a socket for each of these pipes, and leaves them open.
            for pipe in ("srvs", "wkst"):
                getattr(self._smb, f"_SimpleSMBServer__{pipe}Server")._sock.close()

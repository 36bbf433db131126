"""What is fuzzed: for each layer its parser, and every command on whole captures.

Bytes in, nothing out; whatever is raised is a finding. A target may refuse its input with the errors of `analyzer.core.errors`;
anything else, a run of more than `MOST_SECONDS`, and more memory than the process has, are findings.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from analyzer.auth import der, kerberos, key_files, ntlm, secrets, spnego
from analyzer.auth.keyring import Keyring
from analyzer.auth.token_handshake import begin
from analyzer.capture.capture_reader import CaptureReader
from analyzer.capture.decompression import open_stream
from analyzer.capture.etl import EtlFile
from analyzer.capture.frame_blocks import FrameBlock, heads_of
from analyzer.commands.shared.hex_dump import dumped_bytes
from analyzer.core.errors import DecodeError, InputError
from analyzer.core.events import Event
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.traced_bytes import TracedBytes
from analyzer.interfaces.buffers.buffer_trees import decode_buffer, plain_decode
from analyzer.interfaces.buffers.kind_guess import guess_kind
from analyzer.interfaces.buffers.stub_decoding import decode_stub
from analyzer.interfaces.buffers.value_rows import perf_data_rows, plain_perf_data_rows, winperf_rows
from analyzer.pipeline.digest_verification import stated_by
from analyzer.pipeline.run import analyze
from analyzer.questions.filters.grammar import parse
from analyzer.questions.series.counter_paths import wildcard
from analyzer.results.connection import Channel
from analyzer.results.records.record_types import Endpoint
from analyzer.results.reported_names.saved_metadata import metadata_from_json
from analyzer.transport.channel.channels import ChannelBatch
from analyzer.transport.packet.block_dissector import Dissector
from analyzer.transport.packet.segment import Segment, SegmentBatch
from analyzer.transport.rpc.rpc_layer import RpcLayer
from analyzer.transport.smb.compressed_messages import decompress
from analyzer.transport.tcp.protocol_recognition import Recognition
from analyzer.transport.tcp.stream_events import Connection, StreamBatch
from analyzer.transport.tcp.tcp_states import TcpTimeouts
from fuzz import captures, cases
from fuzz.mutation import Mutator
from tests.build import auth as build_auth
from tests.build import etl as build_etl
from tests.build import packet as build_packet
from tests.build import rpc as build_rpc
from tests.build import smb as build_smb
from tests.build.chain import through, to_channels
from tests.build.tcp import Streams

MOST_SECONDS = 5
_MEMORY = Path("/dev/shm")
_SCRIPT = captures.ROOT / "wireshark/pcq.lua"
# tshark takes longer to start than to read a capture.
_TOGETHER = 60
# Half of the inputs of SMB and DCERPC are read with limits that they reach.
_TIGHT = Limits(
    compound=2,
    sessions=2,
    trees=2,
    opens=2,
    opens_in_all=3,
    requests=2,
    smb_memory=12_000,
    security_contexts=1,
    calls_pending=2,
    stub=300,
    rpc_memory=9000,
)
_KEYRING = Keyring.build(passwords=[captures.PASSWORD])
_CLIENT, _SERVER = Endpoint("10.0.0.1", 50000), Endpoint("10.0.0.2", 445)
_CONNECTION = Connection(0, _CLIENT, _SERVER, True)
_CHANNEL = Channel(0, "ncacn_np", _CLIENT, _SERVER, "winreg", 0, None)
_KINDS = (
    *("perf-data", "counterset-info", "counter-info", "string-table", "string", "instances", "identifiers", "guids"),
    *("guid", "winperf", "name-table"),
)


class Target(NamedTuple):
    """`run` takes bytes; `seeds` are where to begin. `made` makes inputs by a random generator, where mutating bytes is not it."""

    run: Callable[[bytes], object]
    seeds: Callable[[], Sequence[bytes]]
    made: Callable[[Mutator], bytes] | None = None


def _chunks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Pieces of the data: a byte says how long each is and which of two ways it goes."""
    at = 0
    while at < len(data):
        head = data[at]
        size = (head >> 1) * (4 if head & 0x80 else 1) + 1
        yield head & 1, data[at + 1 : at + 1 + size]
        at += 1 + size


def _as_chunks(sent: Sequence[tuple[int, bytes]]) -> bytes:
    """The bytes that `_chunks` takes apart into this."""
    out = bytearray()
    for way, data in sent:
        for at in range(0, len(data), 64):
            piece = data[at : at + 64]
            out += bytes([(len(piece) - 1) << 1 | way]) + piece
    return bytes(out)


def _capture(data: bytes) -> None:
    found: list[list[object]] = []
    with contextlib.suppress(InputError):
        found += [list(CaptureReader([io.BytesIO(data)], fast=fast)) for fast in (True, False)]
    if not found:
        return
    frames = [[id for item in items if isinstance(item, FrameBlock) for id in item.frames.tolist()] for items in found]
    assert frames[0] == frames[1]


def _trace(data: bytes) -> None:
    """However many buffers are read at once, the packets are the same, and each appears among all appearances."""
    found: list[list[tuple[int, int, bytes]]] = []
    for block_bytes, appearances in ((1, False), (1 << 20, False), (1 << 20, True)):
        stream, _ = open_stream(io.BytesIO(data), "trace.etl")
        trace = EtlFile(stream, 0, {}, block_bytes=block_bytes, appearances=appearances)
        frames = [item.frame(at) for item in trace if isinstance(item, FrameBlock) for at in range(len(item))]
        found.append([(frame.frame, frame.time_ns, frame.data) for frame in frames])
    assert found[0] == found[1]
    assert set(found[1]) <= set(found[2])


def _traces() -> list[bytes]:
    frames = [build_packet.ethernet(build_packet.ipv4(bytes([number]) * 40)) for number in range(6)]
    plain = build_etl.Etl(buffer_size=1024)
    switched = build_etl.Etl(buffer_size=1024, pointer_size=4, clock=build_etl.SYSTEM_TIME)
    seen = build_etl.Etl(buffer_size=1024, clock=build_etl.CYCLES, frequency=2_400_000_000)
    for number, frame in enumerate(frames):
        time_ns = build_etl.T0 + number * 1000
        plain.ndis(
            time_ns, frame, keyword=(build_etl.START, build_etl.END, build_etl.WHOLE)[number % 3], processor=number % 2
        )
        switched.event(time_ns, build_etl.NDIS, 1003, build_etl.switch_packet(frame, destinations=("a",)))
        packet = build_etl.pktmon_packet(frame, number // 2 + 1, component=number)
        seen.event(time_ns, build_etl.PKTMON, 160, packet, items=build_etl.extended(b"ab", b"c") if number else b"")
    for event in build_etl.other_kinds(1):
        plain.raw(event)
    return [plain.data(), switched.data(), seen.computer(build_etl.T0, "PC").data()]


def _block(data: bytes) -> FrameBlock:
    starts, sizes, at = [], [], 1
    link_type = (1, 113, 101, 276, 0, 9, 228)[data[0] % 7] if data else 1
    while at < len(data):
        starts.append(at + 1)
        sizes.append(min(data[at], len(data) - at - 1))
        at += 1 + sizes[-1]
    begins = np.array(starts, np.int64)
    count = len(starts)
    times = np.arange(count, dtype=np.int64)
    captured = np.array(sizes, np.int64)
    return FrameBlock(data, link_type, times + 1, times, begins, captured, captured, heads_of(data, begins))


def _packet(data: bytes) -> None:
    block = _block(data)
    found = []
    for fast in (True, False):
        reader = Dissector(fast=fast)
        batches = [*reader.feed(block), *reader.finish()]
        found.append([one for item in batches for one in (item if isinstance(item, SegmentBatch) else (item,))])
    assert found[0] == found[1]


def _tcp(data: bytes) -> None:
    room = Streams(Limits(connections=3, held_stream=2000, held_total=3000), timeouts=TcpTimeouts(patience_segments=4))
    ends = [Endpoint("10.0.0.1", 1), Endpoint("10.0.0.2", 445), Endpoint("10.0.0.3", 2)]
    for number in range(0, len(data) - 7, 8):
        way, seq, ack, flags, size, missing = data[number], *data[number + 1 : number + 6]
        src, dst = ends[way % 3], ends[way // 3 % 3]
        frame = number // 8 + 1
        base = (0, 1 << 31, 0xFFFFFF00)[data[number + 6] % 3]
        payload = TracedBytes.of_frame(data[: size % 40], frame, 54, frame)
        segment = Segment(
            *(src, dst, base + seq & 0xFFFFFFFF, base + ack & 0xFFFFFFFF, flags, 100, payload),
            *(missing if missing < 9 else 0, frame, (frame + data[number + 7]) * 10_000_000),
        )
        list(room.feed(segment))
    list(room.finish())


def _smb(data: bytes) -> None:
    events: list[Event] = []
    offsets = [0, 0]
    for number, (way, piece) in enumerate(_chunks(data), 1):
        traced = TracedBytes.of_frame(piece, number, 54, number)
        events.append(StreamBatch.of_part(_CONNECTION, 1 if way else 0, offsets[way], traced))
        offsets[way] += len(piece)
    limits = _TIGHT if len(data) % 2 else DEFAULTS
    through(to_channels(_KEYRING, limits=limits), Recognition().feed(events)[0])


def _rpc(data: bytes) -> None:
    batches: list[Event] = []
    for number, (way, piece) in enumerate(_chunks(data), 1):
        traced = TracedBytes.of_frame(piece, number, 54, number)
        batches.append(ChannelBatch.of_span(_CHANNEL, not way, traced, None, fresh=True))
    through([RpcLayer(_KEYRING, limits=_TIGHT if len(data) % 2 else DEFAULTS)], batches)


def _compression(data: bytes) -> None:
    if len(data) > 3:
        size = int.from_bytes(data[1:3], "little") * 4
        with contextlib.suppress(DecodeError):
            assert len(decompress(data[0] % 7, data[3:], size)) == size


def _der(data: bytes) -> None:
    with contextlib.suppress(DecodeError):
        spnego.parse_spnego(data)
    with contextlib.suppress(DecodeError):
        der.read(data)
    with contextlib.suppress(DecodeError):
        der.unwrap_gss(data)


def _kerberos(data: bytes) -> None:
    with contextlib.suppress(DecodeError):
        kerberos.parse_message(data)
    with contextlib.suppress(DecodeError):
        kerberos.parse_as_or_tgs_rep(data)


def _ntlm(data: bytes) -> None:
    with contextlib.suppress(DecodeError):
        ntlm.parse_message(data)


def _handshake(data: bytes) -> None:
    made = begin(_KEYRING)
    for way, piece in _chunks(data):
        made.feed("acceptor" if way else "initiator", piece)
    assert made.identity is not None
    made.context().open("initiator", 6, data, slice(0, len(data) // 2), slice(len(data) // 2, len(data)))


def _keytab(data: bytes) -> None:
    with contextlib.suppress(DecodeError):
        key_files.parse_keytab(data)


def _secrets(data: bytes) -> None:
    path = Path("/nowhere/secrets")
    with contextlib.suppress(InputError):
        secrets._FileReader(path).read(secrets._parse_document(path, data))


def _stub(data: bytes) -> None:
    if len(data) < 2:
        return
    interface: Any = ("perflib-v2", "winreg")[data[0] >> 7]
    side: Any = ("request", "response")[data[0] >> 6 & 1]
    with contextlib.suppress(DecodeError):
        decode_stub(interface, data[1] % 40, side, data[2:], ndr64=bool(data[0] & 1), big_endian=bool(data[0] & 2))


def _buffer(data: bytes) -> None:
    if not data:
        return
    kind: Any = _KINDS[data[0] % len(_KINDS)]
    buffer = data[1:]
    found, plain = decode_buffer(kind, buffer), plain_decode(kind, buffer)
    assert (found.tree, found.consumed, str(found.problem)) == (plain.tree, plain.consumed, str(plain.problem))
    if kind == "perf-data":
        rows, slowly = perf_data_rows(buffer), plain_perf_data_rows(buffer)
        assert (rows.rows, str(rows.problem)) == (slowly.rows, str(slowly.problem))
    elif kind == "winperf":
        winperf_rows(buffer)
    guess_kind(buffer)


def _filter(data: bytes) -> None:
    with contextlib.suppress(InputError):
        parse(data.decode("utf-8", "replace"))


def _path(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    with contextlib.suppress(InputError):
        wildcard(text)


def _hexdump(data: bytes) -> None:
    with contextlib.suppress(InputError):
        dumped_bytes(data.decode("latin-1").splitlines())


def _metadata(data: bytes) -> None:
    with contextlib.suppress(InputError):
        metadata_from_json(data, "fuzz")


def _analysis(data: bytes) -> None:
    with contextlib.suppress(InputError):
        analyze([io.BytesIO(data)], _KEYRING)


# Each line a command and its options; the capture is given as a path, since some read it twice.
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("timeline", "--format", "jsonl"),
    ("timeline", "--format", "text"),
    ("timeline", "--format", "csv"),
    ("samples", "--format", "jsonl"),
    ("samples", "--format", "text"),
    ("counters", "--format", "jsonl"),
    ("counters", "--format", "text"),
    ("handles", "--format", "jsonl"),
    ("handles", "--format", "text"),
    ("stats", "--format", "jsonl"),
    ("stats", "--format", "text"),
    ("sessions", "--format", "jsonl"),
    ("sessions", "--format", "text"),
    ("hosts", "--format", "text"),
    ("audit", "--format", "jsonl"),
    ("audit", "--format", "text"),
    ("audit", "--format", "sarif"),
    ("export-metadata",),
    ("timeline", "--format", "zeek"),
    ("sessions", "--format", "ecs"),
    ("audit", "--format", "timesketch"),
    ("export", "--pcapng", "/dev/null"),
    ("timeline", "--format", "jsonl", "--redact"),
    ("export", "--slice", "/dev/null"),
    ("show", "--call", "1"),
    ("keys", "wireshark"),
    ("triage", "--format", "text"),
    ("audit", "--format", "junit"),
    ("report", "-o", "/dev/null"),
    ("save", "-o", "/dev/null"),
)
# Those that need the packets, or the keys, of a capture.
_OF_CAPTURES = ("keys", "--slice", "--redact")


@cache
def _scratch() -> Path:
    """A folder for what commands read, in memory where there is one."""
    return Path(tempfile.mkdtemp(prefix="pcq-fuzz-", dir=_MEMORY if _MEMORY.is_dir() else None))


def _commands(data: bytes) -> None:
    """The first byte says which command reads the rest as a capture."""
    if data:
        path = _scratch() / "capture"
        path.write_bytes(data[1:])
        name, *options = COMMANDS[data[0] % len(COMMANDS)]
        _command(
            [name, *([options.pop(0)] if name == "keys" else []), str(path), *options, "--password", captures.PASSWORD]
        )


def _case(data: bytes) -> None:
    """The first byte says which command reads the rest as a case."""
    if data:
        known = [words for words in COMMANDS if not set(words) & set(_OF_CAPTURES)]
        (_scratch() / "case").write_bytes(cases.packed(data[1:]))
        name, *options = known[data[0] % len(known)]
        _command([name, str(_scratch() / "case"), *options])


def _collect(data: bytes) -> None:
    """The bytes as a capture, collected into a dataset, and once more beside a capture of ours."""
    from tests.collect.sets import collected

    keyring = Keyring.build(passwords=[captures.PASSWORD])
    with tempfile.TemporaryDirectory(dir=_scratch()) as folder:
        given = Path(folder) / "captures"
        given.mkdir()
        for name, content in (("a.pcap", data), ("b.pcap", captures.files()[0])):
            (given / name).write_bytes(content)
            with contextlib.suppress(InputError):
                collected(given, Path(folder) / "dataset", keyring)


_MOST_KEYS = 12


def _browse(data: bytes) -> None:
    """The first bytes are keys that somebody presses, the others the capture."""
    from analyzer.screens.browse.app import Browser

    async def pressed(app: Browser) -> None:
        async with app.run_test(size=(100, 30)) as pilot:
            await app.workers.wait_for_complete()
            await pilot.press(*(_KEYS[byte % len(_KEYS)] for byte in data[:_MOST_KEYS]))
            await app.workers.wait_for_complete()

    with contextlib.suppress(InputError):
        analysis = analyze([io.BytesIO(data[_MOST_KEYS:])], _KEYRING)
        asyncio.run(pressed(Browser(lambda _: analysis, "made.pcap", 200)))


_KEYS = (
    *("up", "down", "left", "right", "pageup", "pagedown", "home", "end", "enter", "tab", "space", "escape", "slash"),
    *("h", "l", "L", "1", "2", "3", "j", "G", "period", "o", "p"),
)


def _verify(data: bytes) -> None:
    path = _scratch() / "result"
    path.write_bytes(data)
    with contextlib.suppress(InputError):
        stated_by(path)


def _command(words: list[str]) -> None:
    with (
        Path(os.devnull).open("w", encoding="utf-8") as null,
        contextlib.redirect_stdout(null),
        contextlib.redirect_stderr(null),
        contextlib.suppress(InputError, SystemExit),
    ):
        _command_of(words[0])(words, standalone_mode=False)
    # A command leaves what it read out of the collection of garbage, since its process ends; this one goes on.
    gc.unfreeze()


@cache
def _command_of(name: str) -> Callable[..., object]:
    """A command whose options are read already."""
    from typer.main import get_command

    from analyzer.commands.shared.all_commands import command_line

    return get_command(command_line([name]))


def _made_case(rng: Mutator) -> bytes:
    return bytes([rng.randrange(len(COMMANDS))]) + cases.case(rng)


def _made_command(rng: Mutator) -> bytes:
    return bytes([rng.randrange(len(COMMANDS))]) + captures.capture(rng)[1]


# ------------------------------------------------------------------------------------------------------------------ seeds


@cache
def _frames() -> tuple[bytes, ...]:
    found = []
    for data in captures.files():
        frames = [frame for _, frame in captures.records_of(data) if len(frame) < 256][:12]
        found.append(b"\0" + b"".join(bytes([len(frame)]) + frame for frame in frames))
    return tuple(found)


@cache
def _tokens() -> tuple[bytes, ...]:
    found = []
    for number, talk in enumerate((build_auth.ntlm_handshake(), build_auth.ntlm_handshake(spnego=True))):
        found += [token for _, token in talk.legs]
        assert number < 2
    found += [token for _, token in build_auth.kerberos_handshake().legs]
    return tuple(found)


def _wireshark(data: bytes) -> None:
    """Our dissector in tshark, which says where the script failed."""
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(data)
        file.flush()
        ran = subprocess.run(
            ["tshark", f"-Xlua_script:{_SCRIPT}", "-dtcp.port==4451,nbss", "-V", "-r", file.name],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    failed = {line.strip() for line in ran.stdout.splitlines() if b"Lua Error" in line or b"pcq.lua:" in line}
    assert not failed, failed
    assert b"Performance Counter Query Protocol" in ran.stdout


@cache
def _handshakes() -> tuple[bytes, ...]:
    talks = (
        build_auth.ntlm_handshake(),
        build_auth.ntlm_handshake(spnego=True),
        build_auth.ntlm_handshake(v1=True),
        build_auth.kerberos_handshake(),
    )
    return tuple(_as_chunks([(int(sender == "acceptor"), token) for sender, token in talk.legs]) for talk in talks)


@cache
def _smb_talks() -> tuple[bytes, ...]:
    talk = build_smb.Talk().begin().tree().open()
    talk.write(build_rpc.bind()).read(build_rpc.bind_ack())
    talk.transceive(build_rpc.request(0, bytes(16), call_id=2), build_rpc.response(bytes(24), call_id=2)).close()
    logon = build_auth.ntlm_handshake()
    sealed = build_smb.Talk(cipher=build_smb.GCM_128, session_key=logon.session_key)
    sealed.begin([token for _, token in logon.legs])
    sealed.sealing = True
    sealed.tree().open()
    one = build_smb.framed(build_smb.smb1_raw(0x25, build_smb.trans_request(bytes(40))))
    return (_as_chunks(talk.sent), _as_chunks(sealed.sent), _as_chunks([(0, one)]))


@cache
def _rpc_talks() -> tuple[bytes, ...]:
    sent = [(0, build_rpc.bind()), (1, build_rpc.bind_ack())]
    for number, (opnum, direction, stub) in enumerate(captures.stubs()[:12], 2):
        if direction == "request":
            sent.append((0, build_rpc.request(opnum, stub[:400], call_id=number)))
        else:
            sent.append((1, build_rpc.response(stub[:400], call_id=number)))
    security = build_auth.ntlm_handshake()
    first, second, third = (build_rpc.Auth(token, 6) for _, token in security.legs)
    mine = build_rpc.RealSealer(security, "initiator")
    sealed = [
        (0, build_rpc.bind(auth=first, flags=build_rpc.WHOLE | build_rpc.HEADER_SIGN)),
        (1, build_rpc.bind_ack(auth=second)),
        (0, build_rpc.pdu(build_rpc.AUTH3, bytes(4), auth=third)),
        (0, build_rpc.request(0, bytes(32), call_id=2, sealer=mine)),
        (0, build_rpc.request(0, bytes(64), call_id=3, sealer=mine)),
    ]
    return (_as_chunks(sent), _as_chunks(sealed))


@cache
def _stub_seeds() -> tuple[bytes, ...]:
    return tuple(
        bytes([0x40 * (direction == "response"), opnum]) + stub[:600] for opnum, direction, stub in captures.stubs()
    )


@cache
def _buffer_seeds() -> tuple[bytes, ...]:
    return tuple(bytes([kind]) + data[:1500] for kind in range(len(_KINDS)) for data in captures.buffers()[::3])


def _texts(*texts: str) -> Callable[[], Sequence[bytes]]:
    return lambda: [text.encode() for text in texts]


_EVIDENCE = '{"record":"evidence","inputs":[{"role":"capture","name":"a","size":7,"sha256":"' + "0" * 64 + '"}]}'
TARGETS: dict[str, Target] = {
    "capture": Target(_capture, lambda: [data[:4000] for data in captures.files()]),
    "trace": Target(_trace, _traces),
    "packet": Target(_packet, _frames),
    "tcp": Target(
        _tcp, lambda: [bytes([1, 0, 0, 2, 0, 0, 0, 0, 3, 0, 1, 18, 0, 0, 0, 0] + [1, 1, 1, 24, 9, 0, 0, 1] * 6)]
    ),
    "smb": Target(_smb, _smb_talks),
    "smb-compression": Target(
        _compression, lambda: [bytes([kind, 16, 0]) + b"\0abcabcabcabcabc" * 3 for kind in range(6)]
    ),
    "rpc": Target(_rpc, _rpc_talks),
    "der": Target(_der, _tokens),
    "ntlm": Target(_ntlm, _tokens),
    "kerberos": Target(_kerberos, _tokens),
    "handshake": Target(_handshake, _handshakes),
    "keytab": Target(
        _keytab, lambda: [path.read_bytes() for path in sorted((captures.ROOT / "captures").glob("*.keytab"))]
    ),
    "secrets": Target(
        _secrets,
        _texts(
            '{"users": [{"username": "a", "password": "b", "nt_hash": ""}], "keytabs": []}',
            'keytabs = []\n[[users]]\nusername = "a@b"\npassword = "c"\n[[smb_session_keys]]\nsession_id = 0x1d\n',
            '[[kerberos_keys]]\nprincipal = "a@B"\netype = 17\nkey = "00112233445566778899aabbccddeeff"\n',
        ),
    ),
    "stub": Target(_stub, _stub_seeds),
    "buffer": Target(_buffer, _buffer_seeds),
    "filter": Target(
        _filter,
        _texts(
            'opnum == 6 && status != 0 || !(client.ip in {10.0.0.0/8, "a".."b"})',
            'interface matches "a.*b" and time >= "2024-01-01 10:00" or bytes[0:2] == aa:bb',
        ),
    ),
    "counter-path": Target(_path, _texts("\\\\srv\\Process(a*/b#1)\\% Processor Time", "*", "\\(?)\\a\\*")),
    "hexdump": Target(
        _hexdump, _texts("0000  50 00 45 00  P.E.", "00000000: 5000 4500 aabb  P.E...", "0000000 50 00\n*\n0000040")
    ),
    "metadata": Target(_metadata, _texts('{"record":"metadata","schema":1,"servers":{"10.0.0.1":{"countersets":[]}}}')),
    "analysis": Target(_analysis, list, lambda rng: captures.capture(rng)[1]),
    "commands": Target(_commands, list, _made_command),
    "wireshark": Target(_wireshark, list, lambda rng: captures.together(rng, _TOGETHER)),
    "case": Target(_case, list, _made_case),
    "collect": Target(_collect, list, lambda rng: captures.capture(rng)[1]),
    "browse": Target(_browse, list, lambda rng: rng.randbytes(_MOST_KEYS) + captures.capture(rng)[1]),
    "verify": Target(
        _verify,
        _texts(
            *(before + _EVIDENCE + after for before, after in (("", "\n{}"), ("[\n", ",\n{}]"), ("# ", "\na,b"))),
            '{"runs":[{"properties":{"evidence":' + _EVIDENCE + "}}]}",
            '<?xml version="1.0"?><a><properties><property name="pcq-analyzer.evidence" value="{}"/></properties></a>',
            '<!DOCTYPE html><script type="application/json" id="head">{"evidence":' + _EVIDENCE + "}</script>",
            f"evidence: pcq-analyzer 0.1.0\n  capture  sha256 {'0' * 64}  7 bytes  a.pcap\n",
        ),
    ),
}


def names(word: str) -> list[str]:
    """Targets of that name; `all` is every one."""
    if word == "all":
        return list(TARGETS)
    if word not in TARGETS:
        sys.exit(f"There is no target {word}. There are {', '.join(TARGETS)}.")
    return [word]

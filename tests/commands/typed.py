"""What is typed at a shell in a folder with captures, and what comes of it: a paragraph of a text each, which `Told` reads.

A line of words is what is typed: commands of ours with ` ; ` between them. In front of a command, `NAME=x` is a variable of the
environment, and `cat FILE |` its standard input. Behind it, `> FILE` puts its standard output into a file, and `| ...` shows a
part: `count` how often each kind of record, `keys a,b.c` these keys of each record that has one, `grep WORDS` and `head N` lines.
Beside these there are `cmp A B` and `table FILE` (rows and columns of Parquet). `PASSWORD` and `NT_HASH` are those of
the account of `sealed.pcap`, which `sealed.json` and the file `password` have.

What comes of a command is its exit code behind `=`, then each line of standard output with `|` and of standard error with `!`; at
the end, the files that are there now, and which of them are for their owner alone.
"""

import bz2
import gzip
import json
import lzma
import os
import re
import shlex
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Set
from contextlib import chdir, contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from socket import AF_UNIX, socket
from tempfile import TemporaryDirectory
from typing import Any

import lz4.frame
import polars as pl
import zstandard
from msgspec.structs import replace

from analyzer import __version__
from analyzer.auth.ntlm_keys import nt_hash
from analyzer.core.events import Event
from tests.build.buffers import Block, identifier, perf_data, wide
from tests.build.calls import COUNTERSET, Calls, winreg, write_capture
from tests.build.capture import frames_of, pcap, pcapng, read
from tests.build.cases import contents
from tests.build.etl import NDIS, Etl, ndis_packet
from tests.build.rpc import CHANNEL
from tests.commands.test_all_commands import CAPTURES, CLEAR, PCQ, SECRETS, USER, VECTORS, frame, here
from tests.questions.differences.script import everything, perflib, services

TWO = CAPTURES / "pcq_smbd_scapy_impacket_smb311_ntlm_privacy_2clients.pcap"
NTLM = CAPTURES / "v1_samba_impacket_smb311_ntlm_privacy.pcap"
SPNEGO = CAPTURES / "pcq_smbd_scapy_sambalib_smb311_spnego_seal.pcap"
KEPT = Path(__file__).parents[1] / "pipeline" / "case-8.pcq"
BUFFER = VECTORS / "data_type6_counterset.bin"
THERE = {
    "clear.pcap": CLEAR,
    "sealed.pcap": PCQ,
    "sealed.json": SECRETS,
    "two.pcap": TWO,
    "two.json": TWO.with_suffix(".secrets.json"),
    "ntlm.pcap": NTLM,
    "ntlm.json": NTLM.with_suffix(".secrets.json"),
    "spnego.pcap": SPNEGO,
    "spnego.json": SPNEGO.with_suffix(".secrets.json"),
    "midstream.pcap": CAPTURES / "n_v1_midstream.pcap",
    "counterset.bin": BUFFER,
    "winperf.bin": VECTORS / "v1_perf_data_block.bin",
    "identifiers.bin": VECTORS / "ident_add_reply.bin",
    "net.pcapng": CAPTURES / "n_v1_pcapng.pcapng",
    "kept.pcq": KEPT,
    "damaged.bin": VECTORS / "bad_data_count_mismatch.bin",
}


def _bound(name: str) -> None:
    with socket(AF_UNIX) as bound:
        bound.bind(name)


# What is no file: a pipe that nobody writes to, a socket, and a device without end.
SPECIAL: dict[str, Callable[[str], object]] = {
    "pipe.pcap": os.mkfifo,
    "socket.pcap": _bound,
    "zero.pcap": lambda name: Path(name).symlink_to("/dev/zero"),
}
_SECRET = {"PASSWORD": USER["password"], "NT_HASH": nt_hash(USER["password"]).hex()}
# What is another in each run, or with other libraries: the temporary folder, how the tests are called, the version of the program,
# a digest of a text with such things in it, and words of click that it did not always have.
_CHANCE = re.compile(
    rf"""^\ \ .*\ (?=--help\ shows\ how\ it\ is\ used\.$)|(?<="result":")[0-9a-f]{{64}}|(?<![\d.]){re.escape(__version__)}(?![\d.])
    |\ Did\ you\ mean\ .*|(?<=is\ not\ a\ valid\ )int\w*""",
    re.MULTILINE | re.VERBOSE,
)


def _capture(*made: Any) -> bytes:
    with TemporaryDirectory() as folder:
        return write_capture(Path(folder) / "x", *made).read_bytes()


def _asked(status: int) -> Iterator[Event]:
    """A client asks for processes and gets none."""
    make = Calls()
    asked = make.stub().string("\\\\SRV1").uuid(COUNTERSET).uint(4096)
    yield make.registration(9, wide("Process"))
    yield make.exchange(2, asked, make.sized(b"", status, needed=4096 if status else 0))
    yield make.open_query()
    yield make.validate(identifier(COUNTERSET, counter=1, name="a"))
    yield make.counter_data(perf_data([]) if status == 0 else b"", status=status, needed=4096)


def _denied() -> Iterator[Event]:
    """All answers are ERROR_ACCESS_DENIED, of both interfaces."""
    make, registry = Calls(), winreg(channel=replace(CHANNEL, number=1), first_frame=40)
    yield make.exchange(0, make.stub().string("\\\\S").uint(256), make.sized(b"", 5, element=16, room=256))
    yield make.registration(9, b"", status=5)
    yield make.exchange(2, make.stub().string("\\\\S").uuid(COUNTERSET).uint(4096), make.sized(b"", 5))
    yield make.open_query(status=5)
    yield registry.open_key()
    yield from (registry.query_value(name, None, status=5) for name in ("230", "Counter 009"))


def trace_data() -> bytes:
    """The frames of `net.pcapng` as `netsh trace` writes them."""
    frames, _, _ = read(THERE["net.pcapng"])
    etl = Etl(buffer_size=16384, started_ns=frames[0].time_ns).computer(frames[0].time_ns, "WIN-PC7")
    for number, one in enumerate(frames):
        process = (4, 4, 812)[number % 3]
        etl.event(one.time_ns, NDIS, 1001, ndis_packet(one.data), processor=number % 3, process=process)
    return etl.data()


def _case(**manifest: object) -> bytes:
    """The case that is kept, but for this in its manifest."""
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as out:
        for name, data in contents(KEPT).items():
            is_manifest = name == "manifest.json"
            out.writestr(name, json.dumps(json.loads(data) | manifest) if is_manifest else data)
    return packed.getvalue()


@cache
def _content(name: str) -> bytes:
    made = MADE[name]
    return made if isinstance(made, bytes) else made()


MADE: dict[str, bytes | Callable[[], bytes]] = {
    "password": f"{USER['password']}\r\n".encode(),
    "none.pcap": lambda: pcap([]),
    "dns.pcap": lambda: pcap([(1_700_000_000_000_000_000, frame())]),
    "three.pcap": lambda: pcap(frames_of(3)),
    "three.pcapng": lambda: pcapng(frames_of(3)),
    "copy.pcap": CLEAR.read_bytes,
    "bit.pcap": lambda: bytes(byte ^ (at == 1000) for at, byte in enumerate(CLEAR.read_bytes())),
    "both": lambda: f"{USER['password']}\n".encode() + PCQ.read_bytes(),
    "empty": b"",
    "paper.pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
    "noise": bytes(range(7, 256)) * 5,
    "zeros": bytes(16),
    "string": b"\0" * 3 + b"a\0b\0\0\0",
    "status": lambda: perf_data([Block(0, status=5)]),
    "status.hex": lambda: perf_data([Block(0, status=5)]).hex().encode(),
    "counterset.hex": lambda: BUFFER.read_bytes().hex(" ").encode(),
    "behind.bin": lambda: b"\xff" * 20 + BUFFER.read_bytes(),
    "bad.json": b'{"users": [',
    "bad.toml": b"[users\nx = 1",
    "braces.json": b"{}",
    "odd.json": b'{"users": [{"username": "x", "nt_hash": "123"}]}',
    "lost.json": b'{"keytabs": ["nowhere.keytab"]}',
    "misspelt.toml": b'[[users]]\nusername = "perfmon"\npasword = "never shown"\n',
    "later.pcq": lambda: _case(version=999, program="9.0"),
    "odd.pcq": lambda: _case(version="1"),
    "other.pcq": lambda: _case(format="other"),
    "dataset.pcq": lambda: _case(format="pcq-dataset"),
    "net.etl": lambda: trace_data(),
    "net.etl.gz": lambda: gzip.compress(_content("net.etl")),
    "net.etl.bz2": lambda: bz2.compress(_content("net.etl")),
    "net.etl.xz": lambda: lzma.compress(_content("net.etl")),
    "net.etl.zst": lambda: zstandard.compress(_content("net.etl")),
    "net.etl.lz4": lambda: lz4.frame.compress(_content("net.etl")),
    "refused.pcapng": lambda: _capture(*_asked(5)),
    "small.pcapng": lambda: _capture(*_asked(8)),
    "none.pcapng": lambda: _capture(*_asked(0)),
    "denied.pcapng": lambda: _capture(*_denied()),
    "everything.pcapng": lambda: _capture(*everything()),
    "everything2.pcapng": lambda: _capture(*everything()),
    "less.pcapng": lambda: _capture(*perflib(), *services()),
}


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    yield
    os.umask(before)


def said(words: str) -> str:
    """What comes of a line of words, typed in a folder of its own."""
    with TemporaryDirectory() as folder, chdir(folder), _umask(0o022):
        for name, path in THERE.items():
            Path(name).symlink_to(path)
        for name in MADE:
            if name in words:
                Path(name).write_bytes(_content(name))
        for name, make in SPECIAL.items():
            if name in words:
                make(name)
        known = {path.name for path in Path().iterdir()}
        commands = words.strip().split(" ; ")
        lines = [line for command in commands for line in _ran(command, f"  {command}" if len(commands) > 1 else "")]
        files = ", ".join(_listed(known))
        lines += [f"files: {files}"] if files else []
        return "".join(f"  {line}\n" for line in lines).replace(folder, "FOLDER")


def _listed(known: Set[str]) -> Iterator[str]:
    """The files that are new, and those that are for their owner alone."""
    for path in sorted(Path().rglob("*")):
        is_private = path.is_file() and not path.is_symlink() and path.stat().st_mode & 0o077 == 0
        if path.is_file() and (is_private or path.parts[0] not in known):
            yield f"{path}{' (private)' if is_private else ''}"


def _ran(command: str, shown: str) -> Iterator[str]:
    match shlex.split(command):
        case ["cmp", one, other]:
            is_same = Path(one).read_bytes() == Path(other).read_bytes()
            yield f"= {'the same' if is_same else 'another'}{shown}"
        case ["table", path]:
            table = pl.read_parquet(path)
            yield f"= {table.height} rows{shown}"
            yield f"| {', '.join(table.columns)}"
        case _:
            yield from _of_ours(command, shown)


def _of_ours(command: str, command_shown: str) -> Iterator[str]:
    given, command = re.fullmatch(r"(?:cat (\S+) \| )?(.*)", command).groups()
    command, _, part = command.partition(" | ")
    command, _, target = command.partition(" > ")
    words = [_with_secrets(word) for word in shlex.split(command)]
    variables = [word for word in words if re.match(r"PCQ_\w+=", word)]
    stdin = Path(given).read_bytes() if given else b""
    done = here(*words[len(variables) :], stdin=stdin, env=dict(word.split("=", 1) for word in variables))
    shown, aside = (_without_chance(stream.decode("utf-8", "surrogateescape")) for stream in (done.stdout, done.stderr))
    yield f"= {done.returncode}{command_shown}"
    if target:
        Path(target).write_bytes(done.stdout)
    else:
        yield from (f"| {line}" for line in _part(shown, part))
    yield from (f"! {line}" for line in aside.splitlines())


def _without_chance(text: str) -> str:
    for name, secret in _SECRET.items():
        text = text.replace(secret, f"{name} is shown")
    return _CHANCE.sub("", text)


def _with_secrets(word: str) -> str:
    return re.sub(r"\b(PASSWORD|NT_HASH)\b", lambda found: _SECRET[found[0]], word)


def _part(shown: str, part: str) -> Iterator[str]:
    lines = shown.splitlines()
    match part.split(maxsplit=1):
        case ["grep", words]:
            yield from (line for line in lines if words.strip("'") in line)
        case ["head", number]:
            yield from lines[: int(number)]
        case ["count"]:
            kinds = Counter(json.loads(line)["record"] for line in lines)
            yield ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        case ["keys", names]:
            found = ([_key(json.loads(line), name) for name in names.split(",")] for line in lines)
            said = Counter(
                json.dumps(each, ensure_ascii=False)[1:-1] for each in found if any(one is not None for one in each)
            )
            yield from (f"{each}{f' ({count} times)' if count > 1 else ''}" for each, count in said.items())
        case _:
            yield from lines


def _key(record: Any, name: str) -> Any:
    """What a way of keys leads to; of a list, in each of its records."""
    if not name or record is None:
        return record
    if isinstance(record, list):
        return [_key(one, name) for one in record]
    first, _, rest = name.partition(".")
    return _key(record.get(first), rest)

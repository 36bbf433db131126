"""Sets of captures made of one: rotated files of several sensors; and the rows of a dataset beside those of one analysis."""

import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from analyzer.auth.keyring import Keyring
from analyzer.capture.capture_reader import CaptureReader
from analyzer.capture.frame_blocks import Frame, FrameBlock
from analyzer.collect.analyse_stage import HELD
from analyzer.collect.capture_sources import find_sources
from analyzer.collect.collect_run import CollectRequest, Done, collect
from analyzer.collect.dataset_manifest import read_manifest
from analyzer.collect.dataset_schemas import STORED, TABLES, restored
from analyzer.collect.stage_tasks_and_facts import Job, Window
from analyzer.core.dcerpc_encoding import AUTH3
from analyzer.core.limits import DEFAULTS
from analyzer.core.output.file_store import Store
from analyzer.pipeline.run import analyze
from analyzer.questions.audit.audit_engine import Audit
from analyzer.results.analysis import Analysis
from analyzer.results.records.finding import CoverageRecord, FindingRecord
from analyzer.results.reported_names.saved_metadata import MetadataRecord, metadata_record
from analyzer.screens.formats.record_tables import table_of_records
from analyzer.screens.formats.table_writer import logons_table, problems_table, table_of
from analyzer.screens.views.audit import AuditView
from analyzer.screens.views.counters import Counters
from analyzer.screens.views.handles import Handles
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.sessions_and_hosts import Hosts, Sessions
from analyzer.screens.views.timeline import Timeline
from tests.build.auth import ntlm_handshake
from tests.build.capture import NANO, pcap
from tests.build.packet import ethernet, ipv4, tcp, with_checksum
from tests.build.rpc import Auth, bind, bind_ack, pdu

CAPTURES = Path(__file__).parents[2] / "captures"
NO_KEYS = Keyring()
Given = tuple[int, bytes, int]


# How calls are named in words.
_IN_WORDS = {"text": re.compile(r"\bcall #(\d+)")} | dict.fromkeys(
    ("message", "expected", "seen"), re.compile(r"\bcall (\d+)")
)


class Here:
    """Runs the tasks of a stage in this process, one after the other, in an order of its own."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self.ran: list[tuple[str, Any]] = []

    def run(self, stage: str, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        for task in self._random.sample(list(tasks), len(tasks)):
            self.ran.append((stage, task))
            yield task, function(task)

    def stop(self) -> None:
        """Nothing runs between tasks."""


def frames_of(path: Path) -> tuple[int, list[Given]]:
    """The link type and the frames of a capture."""
    frames: list[Frame] = []
    for block in CaptureReader([path]):
        if isinstance(block, FrameBlock):
            frames += [block.frame(index) for index in range(len(block))]
    return frames[0].link_type, [(frame.time_ns, frame.data, frame.original_length) for frame in frames]


def keyring_of(name: str) -> Keyring:
    secrets = CAPTURES / f"{name.partition('.pcap')[0]}.secrets.json"
    return Keyring.load(secrets) if secrets.exists() else Keyring()


def put(path: Path, frames: Sequence[Given], link_type: int = 1) -> Path:
    """Writes frames as a capture, in a directory that may be new."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(pcap(frames, magic=NANO, network=link_type))
    return path


def rotated(given: str | Sequence[Given], directory: Path, files: int, seed: int, sensors: int = 1) -> Path:
    """Writes a capture of ours, or frames, as rotated files, a ring for each sensor. The second sensor saw some of them, up to
    some microseconds later, and rotates elsewhere; neighbours overlap by some frames that both have."""
    link_type, frames = frames_of(CAPTURES / given) if isinstance(given, str) else (1, given)
    rng = random.Random(seed)
    for sensor in range(sensors):
        seen = [
            (time_ns + (rng.choice((0, 0, 1000, 7000)) if sensor else 0), data, wire)
            for time_ns, data, wire in frames
            if not sensor or rng.random() < 0.9
        ]
        cuts = sorted(rng.sample(range(1, len(seen)), min(files, len(seen)) - 1))
        overlap = rng.choice((0, 0, 3))
        for number, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(seen)], strict=True)):
            part = seen[max(start - overlap, 0) : stop]
            put(directory / f"{rng.randrange(1 << 30):08x}-{sensor}-{number}.pcap", part, link_type)
    return directory


def collected(
    directory: Path | str | list[str],
    dataset: Path | str,
    keyring: Keyring = NO_KEYS,
    *,
    window: Window = (None, None),
    executor: Any = None,
    watcher: Any = None,
    **more: Any,
) -> Done:
    """Collects all captures of a directory (or of several names), in this process."""
    HELD[""] = keyring
    missing: list[Any] = []
    sources = find_sources(directory if isinstance(directory, list) else [str(directory)], missing)
    job = {name: more.pop(name) for name in Job.__struct_fields__ if name in more}
    request = CollectRequest(sources, missing, Job(str(dataset), DEFAULTS, **job), window, keyring=keyring, **more)
    try:
        return collect(request, executor if executor is not None else Here(), watcher)
    finally:
        HELD.pop("", None)


# --------------------------------------------------------------------------------------------------------------- rows


def single(directory: Path, keyring: Keyring) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """The tables of one analysis of all captures of a directory, and the names of its files."""
    analysis = analyze(sorted(directory.iterdir()), keyring, pdus=False)
    return tables_of(analysis), list(analysis.capture.files)


def tables_of(analysis: Analysis) -> dict[str, pl.DataFrame]:
    records = list(AuditView(Audit(analysis)).records())
    servers = metadata_record(analysis.catalogs, analysis.name_tables)
    rows = [MetadataRecord(version=servers.version, servers=(server,)) for server in servers.servers]
    return {
        "calls": table_of(Timeline(analysis)),
        "samples": table_of(Samples(analysis)),
        "counters": table_of(Counters(analysis)),
        "sessions": table_of(Sessions(analysis)),
        "logons": logons_table(analysis),
        "hosts": table_of(Hosts(analysis)),
        "handles": table_of(Handles(analysis)),
        "problems": problems_table(analysis),
        "findings": table_of_records(FindingRecord, (one for one in records if isinstance(one, FindingRecord))),
        "coverage": table_of_records(CoverageRecord, (one for one in records if isinstance(one, CoverageRecord))),
        "metadata": table_of_records(MetadataRecord, rows),
    }


def of_dataset(dataset: Path) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """The tables of a dataset as its manifest lists them, and the names of its sources by their numbers."""
    manifest = read_manifest(Store(str(dataset)))
    tables = {}
    for name, table in manifest.tables.items():
        parts = [pl.read_parquet(dataset / file, hive_partitioning=False) for file in table.files]
        whole = pl.concat(parts) if parts else pl.DataFrame(schema=dict(STORED[name]))
        assert dict(whole.schema) == dict(STORED[name]), name
        tables[name] = restored(whole.lazy(), name).collect()
        assert dict(tables[name].schema) == dict(TABLES[name]), name
        assert tables[name].height == table.rows
    return tables, [source.url for source in manifest.sources]


def same_rows(
    tables: dict[str, pl.DataFrame], files: Sequence[str], *, alone: bool, whole: dict[str, pl.DataFrame] | None = None
) -> dict[str, Counter[bytes]]:
    """The rows of each table, with what numbers stand for in the place of numbers. `alone`: there is but one conversation,
    whose calls follow each other as in one analysis. Of tables of a part, `whole` are those of everything."""
    whole = tables if whole is None else whole
    call_of: dict[int, Any] = {}
    handle_of: dict[str, Any] = {}
    session_of: dict[int, Any] = {}
    for row in whole["sessions"].iter_rows(named=True):
        session_of[row["session"]] = [
            row["session_id"],
            row["client_ip"],
            row["server_ip"],
            row["first_time"].isoformat(),
        ]
    for row in whole["calls"].iter_rows(named=True):
        call_of[row["number"]] = _named(row, files, "request_frames"), _named(row, files, "response_frames")
    for row in whole["calls"].sort("time").iter_rows(named=True):
        if row["handle"] is not None:
            handle_of.setdefault(row["handle"], [row["handle"][:1], row["handle_uuid"], call_of[row["number"]]])

    def replaced(row: dict[str, Any]) -> dict[str, Any]:
        out = {}
        for key, value in row.items():
            if key in ("series", "read_number", "channel", "channels", "site"):
                continue
            # A dataset numbers machines site by site, and joins addresses within one.
            if key in ("time_delta", "machine", "other_ips", "joined_by") and not alone:
                continue
            if key in ("number", "call", "previous_call", "opened", "closed"):
                value = call_of.get(value) if value is not None else None
            elif key == "session":
                value = session_of.get(value, value is None)
            elif key in ("logon", "auth_logon", "auth_later_logon"):
                value = value and value.rstrip("0123456789-")
            elif key == "handle":
                value = handle_of.get(value, [value and value[:1]])
            elif key.endswith("frame_files"):
                continue
            elif key.endswith("frames") and isinstance(value, list):
                value = _named(row, files, key)
            elif key in _IN_WORDS and isinstance(value, str):
                value = _IN_WORDS[key].sub(lambda match: str(call_of[int(match[1])]), value)
            elif key in ("roles", "names", "users", "os_versions", "dialects", "reasons", "marks") and isinstance(
                value, list
            ):
                value = sorted(
                    str(replaced(one) if isinstance(one, dict) and "frames" in one else one) for one in value
                )
            elif isinstance(value, list):
                value = [replaced(one) if isinstance(one, dict) else one for one in value]
            out[key] = value
        return out

    return {
        name: Counter(orjson.dumps(replaced(row), default=str) for row in table.iter_rows(named=True))
        for name, table in tables.items()
    }


def _named(row: dict[str, Any], files: Sequence[str], key: str) -> Any:
    numbers, places = row[key], row[f"{key.removesuffix('frames')}frame_files"]
    if numbers is None:
        return None
    if places is None:
        places = [0] * len(numbers)
    return sorted([files[place].rsplit("/", 1)[-1], number] for place, number in zip(places, numbers, strict=True))


def difference(one: dict[str, Counter[bytes]], other: dict[str, Counter[bytes]]) -> str:
    """What the first has and the second has not, and the other way round, in words; nothing where they are equal."""
    lines = []
    for name in one:
        less, more = one[name] - other[name], other[name] - one[name]
        if less or more:
            lines.append(
                f"{name}: {less.total()} rows of the single run are not in the dataset, {more.total()} others are"
            )
            lines += [f"  - {row.decode()[:1500]}" for row in list(less)[:2]] + [
                f"  + {row.decode()[:1500]}" for row in list(more)[:2]
            ]
    return "\n".join(lines)


def unlike(directory: Path, keyring: Keyring, *, alone: bool) -> str:
    """How the rows of the dataset of a directory and those of one analysis differ."""
    expected = same_rows(*single(directory / "in", keyring), alone=alone)
    return difference(expected, same_rows(*of_dataset(directory / "out"), alone=alone))


def readdressed(frames: Sequence[Given], client: str, server: str, ports: Collection[int] = (445, 4451)) -> list[Given]:
    """The frames of a capture with Ethernet and IPv4, between other hosts: the one with such a port is the server. Checksums are
    left to the card, as it were."""
    made = []
    for time_ns, data, wire in frames:
        if data[12:14] != b"\x08\x00" or data[23] != 6:
            continue
        at = 14 + (data[14] & 15) * 4
        to_server = int.from_bytes(data[at + 2 : at + 4], "big") in ports
        ends = [ip_address(one).packed for one in ((client, server) if to_server else (server, client))]
        changed = bytearray(data)
        changed[24:26] = b"\0\0"
        changed[26:34] = b"".join(ends)
        changed[at + 16 : at + 18] = b"\0\0"
        made.append((time_ns, bytes(changed[: len(data)]), wire))
    return made


def moved(frames: Sequence[Given], by_ns: int) -> list[Given]:
    """The same, so much later."""
    return [(time_ns + by_ns, data, wire) for time_ns, data, wire in frames]


def on_the_wire(
    sent: Sequence[tuple[int, bytes]], client: str, server: str, begin_ns: int, port: int = 445
) -> list[Given]:
    """The frames of a talk, each message a segment, a millisecond apart."""
    ports, sequence = (50000, port), [1000, 5000]
    made = []
    for number, (direction, message) in enumerate(sent):
        sport, dport = ports if direction == 0 else ports[::-1]
        src, dst = (client, server) if direction == 0 else (server, client)
        segment = tcp(message, sport=sport, dport=dport, seq=sequence[direction], ack=sequence[1 - direction])
        data = ethernet(ipv4(with_checksum(segment, src, dst), src=src, dst=dst))
        made.append((begin_ns + number * 1_000_000, data, len(data)))
        sequence[direction] += len(message)
    return made


def logon_by_rpc() -> list[tuple[int, bytes]]:
    """The messages of a logon by NTLM in a bind."""
    first, answer, last = (Auth(token) for token in ntlm_handshake().tokens)
    return [(0, bind(auth=first)), (1, bind_ack(auth=answer)), (0, pdu(AUTH3, bytes(4), auth=last))]


def dataset_of_two_servers(directory: Path) -> Path:
    """A dataset of two servers on two days, one of them with query handles."""
    clear, sealed = "v1_samba_impacket_smb311_noauth.pcap", "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap"
    for number, name in enumerate((clear, sealed)):
        talk = readdressed(frames_of(CAPTURES / name)[1], "10.0.0.1", f"10.0.1.{number}")
        put(directory / "in" / f"{number}.pcap", moved(talk, number * 86_400 * 10**9))
    keyring = Keyring().merged(keyring_of(clear), keyring_of(sealed))
    collected(directory / "in", directory / "out", keyring)
    return directory / "out"

"""The second stage: the pieces of a conversation in, its analysis out, as a case in the dataset, with what others have to know.

The pipeline is the one that reads captures: pieces are merged by time as files are, so that rotation, overlapping clocks and the
duplicates of several sensors come to what they come to in one reading of all files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from time import process_time

from msgspec.structs import replace

from analyzer.capture.frame import FrameBlock
from analyzer.capture.reader import merged
from analyzer.collect.cut import secrets_in
from analyzer.collect.facts import AnalyseTask, ConversationFacts
from analyzer.collect.keys import held
from analyzer.collect.manifest import STATE
from analyzer.collect.pieces import PieceFile
from analyzer.core.errors import InputError
from analyzer.core.events import Problem
from analyzer.core.frames import file_of, frame_id, number_of
from analyzer.model import perflib, scmr, winreg
from analyzer.model.analysis import Analysis, CaptureFacts
from analyzer.output.store import Store
from analyzer.packet.tallies import Tallies
from analyzer.pipeline.case import write_case
from analyzer.pipeline.run import analyze_frames, tickets_in
from analyzer.viewmodel.verdict import nothing_found

_FOLLOWED = frozenset((perflib.INTERFACE, winreg.INTERFACE, scmr.INTERFACE))


def analyse(task: AnalyseTask) -> ConversationFacts:
    """Analyses a conversation. Raises `StoreError` where the dataset cannot be written."""
    began = process_time()
    store = Store(task.job.dataset)
    frames = _Frames(task, store)
    tallies = Tallies()
    keyring, notes = held(task.job.keys), []
    for url in task.secret_files:
        from analyzer.auth.secrets import embedded_keyring

        try:
            keyring = keyring.merged(embedded_keyring(Path(url), secrets_in(url, task.job.retries)))
        except InputError as error:
            notes.append(Problem("note", "capture", (), f"the secrets that {url} carries are not used: {error}"))
    tickets = tickets_in(frames.of_kdc(), task.job.limits)
    analysis = analyze_frames(frames.own(), frames.facts, keyring, task.job.limits, tallies=tallies, tickets=tickets)
    analysis = replace(analysis, problems=(*analysis.problems, *notes))
    sessions, bound = _sessions(analysis)
    numbers = [part.number for part in task.parts]
    tallies.renumber(lambda frame: frame_id(numbers[file_of(frame)], number_of(frame)))
    facts = ConversationFacts(
        task.number,
        task.pairs,
        numbers,
        frames=frames.count,
        bytes=frames.bytes,
        calls=len(analysis.calls),
        first_time_ns=frames.first_time_ns,
        last_time_ns=frames.last_time_ns,
        server=_server(analysis, task),
        links=_links(analysis),
        sessions=sessions,
        bound=bound,
        tallies=tallies,
        shows=nothing_found(analysis) is None,
    )
    if len(analysis.calls) or analysis.sessions or analysis.problems:
        facts.state = f"{STATE}/{task.number:06}-{task.job.run}.pcq"
        with store.writing(task.job.place(facts.state)) as out:
            write_case(analysis, out, limits=task.job.limits)
        facts.state_bytes = store.size(task.job.place(facts.state))
    facts.seconds = process_time() - began
    return facts


class _Frames:
    """The frames of a conversation in time order, and what they come to."""

    def __init__(self, task: AnalyseTask, store: Store) -> None:
        self._task, self._store = task, store
        self.count = self.bytes = 0
        self.first_time_ns: int | None = None
        self.last_time_ns: int | None = None

    def own(self) -> Iterator[FrameBlock | Problem]:
        for block in self._merged("own"):
            if isinstance(block, FrameBlock):
                self.count += len(block)
                self.bytes += int(block.captured.sum())
                first, last = int(block.times_ns.min()), int(block.times_ns.max())
                self.first_time_ns = first if self.first_time_ns is None else min(first, self.first_time_ns)
                self.last_time_ns = last if self.last_time_ns is None else max(last, self.last_time_ns)
            yield block

    def of_kdc(self) -> Iterator[FrameBlock | Problem]:
        return self._merged("kdc")

    def _merged(self, which: str) -> Iterator[FrameBlock | Problem]:
        files = [
            PieceFile(self._store, self._task.job.place(part.pieces), places, number, part.opens_ns)
            for number, part in enumerate(self._task.parts)
            for places in getattr(part, which)
        ]
        return merged(files, lambda file, _: file.items())

    def facts(self) -> CaptureFacts:
        names = tuple(part.name for part in self._task.parts)
        return CaptureFacts(names, self.count, self.bytes, self.first_time_ns, self.last_time_ns)


def _server(analysis: Analysis, task: AnalyseTask) -> str:
    """The address of the host that most calls are answered by, else that of the sessions, one of the hosts in any case."""
    servers = Counter(call.server.ip for call in analysis.calls)
    servers = servers or Counter(session.server.ip for session in analysis.sessions)
    return max(sorted(servers), key=servers.__getitem__) if servers else task.pairs[0][1]


def _links(analysis: Analysis) -> list[int]:
    """Numbers of the servers whose counters, registry or services are looked at. What such a server says to one of its clients
    (names, handles, clocks) is used to read and to judge what it says to others."""
    servers = {call.server.ip for call in analysis.calls if call.interface.uuid in _FOLLOWED}
    return sorted(_number(f"server {ip}") for ip in servers)


def _sessions(analysis: Analysis) -> tuple[list[int], list[int]]:
    """Numbers of the SMB sessions, and of those that a channel asked for and that were not met: their connections are between
    other addresses of the same machines ([MS-SMB2] section 3.3.5.5). A session is known by its id and the GUIDs of the two, or
    by its id and the server."""
    has: set[int] = set()
    lacks: set[int] = set()
    for session in analysis.sessions:
        known_by = (f"{session.client_guid} {session.server_guid}", str(session.server))
        numbers = {_number(f"session {session.session_id} {one}") for one in known_by}
        (lacks if session.binds else has).update(numbers)
    return sorted(has), sorted(lacks)


def _number(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:7], "big")

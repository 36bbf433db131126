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
    keyring, notes = held(), []
    for url in task.secret_files:
        from analyzer.auth.secrets import embedded_keyring

        try:
            keyring = keyring.merged(embedded_keyring(Path(url), secrets_in(url, task.job.retries)))
        except InputError as error:
            notes.append(Problem("note", "capture", (), f"the secrets that {url} carries are not used: {error}"))
    tickets = tickets_in(frames.of_kdc(), task.job.limits)
    analysis = analyze_frames(frames.own(), frames.facts, keyring, task.job.limits, tallies=tallies, tickets=tickets)
    analysis = replace(analysis, problems=(*analysis.problems, *notes))
    server, links = _identities(analysis, task)
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
        server=server,
        links=sorted(links),
        tallies=tallies,
        shows=nothing_found(analysis) is None,
    )
    if len(analysis.calls) or analysis.sessions or analysis.problems:
        facts.state = f"_state/{task.number:06}-{task.job.run}.pcq"
        with store.writing(task.job.place(facts.state)) as out:
            write_case(analysis, out, limits=task.job.limits, with_tables=False)
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


def _identities(analysis: Analysis, task: AnalyseTask) -> tuple[str, set[int]]:
    """The address of the host that most calls are answered by, else that of the sessions, one of the hosts in any case; and what
    pairs of hosts may share. That is the server whose counters, registry or services are looked at: what it says to one of its
    clients (names, handles, clocks) is used to read and to judge what it says to others. And it is SMB sessions, whose connections
    may be between other addresses of the same machines ([MS-SMB2] section 3.2.5.5)."""
    servers: Counter[str] = Counter()
    links = set()
    for call in analysis.calls:
        ip = call.server.ip
        servers[ip] += 1
        if call.interface.uuid in _FOLLOWED:
            links.add(_number(f"server {ip}"))
    for session in analysis.sessions:
        if session.client_guid is not None and session.server_guid is not None:
            links.add(_number(f"session {session.session_id} {session.client_guid} {session.server_guid}"))
    servers = servers or Counter(session.server.ip for session in analysis.sessions)
    server = max(sorted(servers), key=servers.__getitem__) if servers else task.pairs[0][1]
    return server, links


def _number(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:7], "big")

"""The second stage of `collect`: reads the pieces of a conversation and saves its analysis as a case in the dataset.

It runs the same pipeline as a reading of captures, and merges pieces by time, like files. So rotation, overlapping clocks and the
duplicates of several sensors give the same result as one reading of all files. It returns facts that other stages need.

It finds what no key opened in a conversation, and whether the keys of this run may open it. The dataset holds nothing of a key, so
it cannot say which keys were tried. It says what stayed sealed, by account, and keeps a digest of the names that keys were given
for: a name is no secret (`Keyring.names`).

The keys of a run of `collect` are held in the memory of each process that analyses. No task, result or file carries them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from time import process_time
from typing import Literal

import msgspec
import numpy as np
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.auth.secrets import keyring_of_documents
from analyzer.capture.capture_reader import CaptureInfo, merged
from analyzer.capture.frame_blocks import FrameBlock
from analyzer.collect.capture_pieces import PieceFile
from analyzer.collect.capture_sources import shown
from analyzer.collect.cut_stage import secrets_in
from analyzer.collect.dataset_manifest import STATE
from analyzer.collect.stage_tasks_and_facts import AnalyseTask, ConversationFacts, KnownAs
from analyzer.core.errors import InputError
from analyzer.core.events import Problem
from analyzer.core.frame_ids import file_of, frame_id, number_of
from analyzer.core.output.file_store import Store
from analyzer.pipeline.case import write_case
from analyzer.pipeline.run import analyze_frames, tickets_in
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.calls.call_row_columns import STATES
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.methods import perflib, scmr, winreg
from analyzer.results.security import Decryption, Identity
from analyzer.screens.viewmodel.unread import no_performance_call_words
from analyzer.transport.packet.frame_tallies import Tallies

# --------------------------------------------------------------------------------------------------------- missing keys


# What stands for a service whose ticket no key opened: names of keys of services are not those of accounts.
_SERVICE = "krb5"


def lacking_of(analysis: Analysis) -> list[str]:
    """Lists what the analysis of a conversation leaves sealed, by the key it lacks: claimed accounts ("" if none was captured), SMB
    sessions (`0x1d`), and `krb5`."""
    return sorted(set(_lacking(analysis)))


def _lacking(analysis: Analysis) -> Iterator[str]:
    for session in analysis.sessions:
        if session.encrypted_messages > session.decrypted_messages and _is_unopened(session.decryption):
            yield f"{session.session_id:#x}"
            yield _who(session.identity.mechanism, session.identity)
    for context in analysis.calls.contexts_by_last_call():
        if _is_unopened((security := context.security).decryption):
            yield _who(security.mechanism, security.identity)


def _is_unopened(status: Decryption) -> bool:
    return status.lacks_key or status is Decryption.NO_HANDSHAKE


def _who(mechanism: str | None, identity: Identity | None) -> str:
    if "krb5" in (mechanism or ""):
        return _SERVICE
    return (identity.claimed if identity is not None else None) or ""


def names_given(keyring: Keyring, files: Iterable[str]) -> str:
    """Returns a digest of the names that the analyse stage has keys for (users, principals, sessions), and of files that carry
    secrets."""
    return sha256(msgspec.msgpack.encode((sorted(keyring.names), sorted(files)))).hexdigest()


def may_open(lacking: Sequence[str], keyring: Keyring) -> bool:
    """Tells whether the analyse stage may open more of a conversation that it analysed before: a key is given by the name of an
    account or SMB session that stayed sealed. A key that was wrong before may be right now."""
    return any(_fits(name, keyring) for name in lacking if name != _SERVICE)


def _fits(name: str, keyring: Keyring) -> bool:
    if name.startswith("0x"):
        return bool(keyring.smb_keys_for(int(name, 16)))
    domain, _, user = name.rpartition("\\")
    return bool(keyring.users_for(user, domain or None))


# ------------------------------------------------------------------------------------------------------------ held keys


# Runs that share workers hold their keys by names of their own.
HELD: dict[str, Keyring] = {}


# -------------------------------------------------------------------------------------------------------- analyse stage


_FOLLOWED = frozenset((perflib.INTERFACE, winreg.INTERFACE, scmr.INTERFACE))


def analyse(task: AnalyseTask) -> ConversationFacts:
    """Analyses one conversation of the dataset and saves it as a case. Raises `StoreError` if the dataset cannot be written."""
    began = process_time()
    store = Store(task.job.dataset)
    frames = _Frames(task, store)
    tallies = Tallies()
    keyring, notes = HELD.get(task.job.keys, Keyring()), []
    for source in task.secret_files:
        try:
            keyring = keyring.merged(keyring_of_documents(Path(source.url), secrets_in(source, task.job.retries)))
        except InputError as error:
            text = f"the secrets that {shown(source.url)} carries are not used: {error}"
            notes.append(Problem("note", "capture", (), text))
    numbers = [part.number for part in task.parts]
    tickets = tickets_in(frames.frames_of("kdc"), task.job.limits)
    set_back = [frame_id(at, frame) for at, part in enumerate(task.parts) for frame in part.set_back]
    analysis = analyze_frames(
        frames.own(), frames.facts, keyring, task.job.limits, tallies=tallies, tickets=tickets, set_back=set_back
    )
    analysis = replace(analysis, problems=(*analysis.problems, *notes))
    sessions, bound = _sessions(analysis)
    calls, capture = _Calls(analysis.calls), analysis.capture
    tallies.renumber(lambda frame: frame_id(numbers[file_of(frame)], number_of(frame)))
    facts = ConversationFacts(
        task.number,
        task.pairs,
        numbers,
        frames=capture.frames,
        inputs=task.inputs,
        calls=len(analysis.calls),
        readable=calls.readable,
        lacking=lacking_of(analysis),
        first_time_ns=capture.first_time_ns,
        last_time_ns=capture.last_time_ns,
        server=calls.server or _most(Counter(one.server.ip for one in analysis.sessions)) or task.pairs[0][1],
        links=calls.links,
        sessions=sessions,
        bound=bound,
        tallies=tallies,
        shows=no_performance_call_words(analysis) is None,
        known_as=_known_as(analysis, numbers),
    )
    if len(analysis.calls) or analysis.sessions or analysis.logons or analysis.problems:
        with store.keeping(f"{STATE}/{task.number:06}-{{}}.pcq") as out:
            write_case(analysis, out.file, limits=task.job.limits)
        facts.state, facts.state_bytes = out.name, out.size
    facts.seconds = process_time() - began
    return facts


class _Frames:
    """Reads the frames to analyse from a conversation's pieces, in time order, and counts them."""

    def __init__(self, task: AnalyseTask, store: Store) -> None:
        self._task, self._store = task, store
        self._info = CaptureInfo(tuple(part.name for part in task.parts))

    def own(self) -> Iterator[FrameBlock | Problem]:
        for block in self.frames_of("own"):
            if isinstance(block, FrameBlock):
                self._info = self._info.with_block(block)
            yield block

    def frames_of(self, which: Literal["own", "kdc"]) -> Iterator[FrameBlock | Problem]:
        files = [
            PieceFile(self._store, part.pieces, one.places, number, part.opens_ns)
            for number, part in enumerate(self._task.parts)
            for one in getattr(part, which)
        ]
        return merged(files, lambda file, _: file.items())

    def facts(self) -> CaptureFacts:
        info = self._info
        return CaptureFacts(info.files, info.frames, info.bytes, info.first_time_ns, info.last_time_ns)


class _Calls:
    """Counts the calls of an analysed conversation. `server` is the address that answers most of them, "" without calls. `links`
    are numbers of the servers whose counters, registry or services are looked at: what such a server says to one client (names,
    handles, clocks) helps to read and judge what it says to others. `readable` counts the captured requests and responses that are
    not sealed."""

    def __init__(self, calls: OrderedCalls) -> None:
        contexts = calls.table.contexts
        of_contexts = np.bincount(calls.column("context"), minlength=len(contexts)).tolist()
        used = [(context, count) for context, count in zip(contexts, of_contexts, strict=True) if count]
        servers: Counter[str] = Counter()
        for context, count in used:
            servers[context.server.ip] += count
        followed = {context.server.ip for context, _ in used if context.interface.uuid in _FOLLOWED}
        is_open = calls.column("state") != STATES.index("sealed")
        sides = (calls.column(f"{side}_side")[is_open] >= 0 for side in ("request", "response"))
        self.readable = sum(int(side.sum()) for side in sides)
        self.server = _most(servers)
        self.links = sorted(_number(f"server {ip}") for ip in followed)


def _most(counted: Counter[str]) -> str:
    """Returns the address that occurs most often in an analysed conversation, the lowest if several do; "" without any."""
    return max(sorted(counted), key=counted.__getitem__, default="")


def _known_as(analysis: Analysis, numbers: Sequence[int]) -> dict[int, KnownAs]:
    """Returns the GUIDs and names that servers of an analysed conversation state of themselves, by the number of the capture
    file."""
    found: dict[int, dict[str, set[str]]] = {}
    for session in analysis.sessions:
        for what, value in (("guid", session.server_guid), ("name", session.identity.server_name)):
            if value:
                for file in {numbers[file_of(frame)] for frame in session.frames}:
                    found.setdefault(file, {}).setdefault(f"{what} {session.server.ip}", set()).add(value)
    return {file: {key: sorted(values) for key, values in known.items()} for file, known in found.items()}


def _sessions(analysis: Analysis) -> tuple[list[int], list[int]]:
    """Returns the numbers of the analysed conversation's SMB sessions, and of those that its channels bind to but that it lacks.
    The latter were set up between other addresses of the same machines ([MS-SMB2] section 3.3.5.5). A number stands for the session
    id with the GUIDs of client and server, or for the session id with the server."""
    has: set[int] = set()
    lacks: set[int] = set()
    for session in analysis.sessions:
        known_by = (f"{session.client_guid} {session.server_guid}", str(session.server))
        numbers = {_number(f"session {session.session_id} {one}") for one in known_by}
        (lacks if session.binds else has).update(numbers)
    return sorted(has), sorted(lacks)


def _number(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:7], "big")

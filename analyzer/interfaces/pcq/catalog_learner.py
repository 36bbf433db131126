"""Learns names and types of countersets from calls of PerflibV2 ([MS-PCQ] section 3.1.4.1.2)."""

from __future__ import annotations

from hashlib import sha256

from msgspec import Struct

from analyzer.interfaces import buffers
from analyzer.results.calls.call import Call
from analyzer.results.reported_names.counterset_catalog import Catalogs


class Lesson(Struct, frozen=True):
    """A lesson: what a PerflibV2 call can teach about a counterset of a server. `asked` is request code and language (None: its
    instances were asked for), `digest` that of the answer."""

    server: str
    counterset: str
    asked: tuple[int, int] | None
    digest: bytes


class CatalogLearner:
    """Learns names and types of countersets from PerflibV2 calls. They are in `catalogs`."""

    def __init__(self) -> None:
        self.catalogs = Catalogs()
        # Lessons that teach nothing, by server and counterset: request code, language, and a hash of the answer.
        self._known: dict[tuple[str, str], set[tuple[tuple[int, int], bytes]]] = {}
        # The list of instances that was answered last: once more it says nothing new.
        self._listed: dict[tuple[str, str], bytes] = {}

    def learn(self, call: Call) -> None:
        if (lesson := lesson_of(call)) is None or self.knows(lesson):
            return
        assert call.response is not None
        kind, data = call.response.buffer_kind, call.response.buffer_data
        assert kind is not None
        decoded = buffers.decode_buffer(kind, data)
        if decoded.problem is not None:
            return
        catalog, place = self.catalogs.catalog_of(call.server), (lesson.server, lesson.counterset)
        if lesson.asked is None:
            catalog.learn_instances(lesson.counterset, decoded.tree)
            self._listed[place] = lesson.digest
            return
        known = self._known.setdefault(place, set())
        if catalog.learn(lesson.counterset, *lesson.asked, decoded.tree):
            known.clear()
        known.add((lesson.asked, lesson.digest))

    def knows(self, lesson: Lesson) -> bool:
        """Whether a lesson on a counterset would teach nothing new. A server sends the same answers to all clients; those in
        `_known` changed nothing."""
        place = lesson.server, lesson.counterset
        if lesson.asked is None:
            return self._listed.get(place) == lesson.digest
        return (lesson.asked, lesson.digest) in self._known.get(place, ())


def lesson_of(call: Call) -> Lesson | None:
    """Returns what a PerflibV2 call can teach about a counterset; None for nothing, and if others may have changed it."""
    guid = call.counterset
    if guid is None or call.state != "complete" or call.status != 0 or call.is_altered:
        return None
    assert call.response is not None
    kind, data = call.response.buffer_kind, call.response.buffer_data
    if kind is None:
        return None
    asked = None
    if kind != "instances":
        code = call.request_code
        assert code is not None
        assert call.request is not None
        # Code 2 has the counter's number there, the others the language ([MS-PCQ] section 3.1.4.1.2).
        asked = code, call.request.params["RequestLCID"]
    return Lesson(call.server.ip, guid, asked, sha256(data).digest())

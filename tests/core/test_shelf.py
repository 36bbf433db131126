"""What lies on a shelf is what was put there, and says the same of itself."""

import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.shelf import Kept, Shelf
from analyzer.core.traced import FrameSource, TracedBytes


def kept(data: bytes, number: int = 1) -> Kept:
    return Kept(data, FrameSource(number, 10, 1000), 5, ("step",))


@given(st.lists(st.binary(min_size=0, max_size=2000), max_size=6), st.integers(0, 3000), st.data())
def test_nothing_changes_but_where_bytes_lie(contents: list[bytes], room: int, data: st.DataObject) -> None:
    shelf = Shelf(room)
    items = [kept(content, number) for number, content in enumerate(contents)]
    views = [item.view(0, len(item)) for item in items]
    shelf.take(items)
    for number, (item, view, content) in enumerate(zip(items, views, contents, strict=True)):
        plain = TracedBytes(content, FrameSource(number, 10, 1000), 5, ("step",))
        start = data.draw(st.integers(0, len(content)))
        stop = data.draw(st.integers(0, len(content)))
        assert item == plain == view
        assert item.part(start, stop) == view.part(start, stop) == content[start:stop]
        assert item[start:stop] == plain[start:stop]
        assert pickle.loads(pickle.dumps(item)).data == content
        assert (len(item), item.steps, item.frames, item.times) == (len(plain), plain.steps, plain.frames, plain.times)


def test_what_is_beyond_the_room_leaves_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: written.append(len(data)) or pwrite(file, data, at))
    shelf = Shelf(1000)
    shelf.take([kept(b"a" * 600), kept(b"b" * 600), kept(b"c" * 600), kept(b"d" * 10)])
    assert written == [600]


def test_bytes_stay_in_memory_where_no_file_can_be_had(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    item = kept(b"x" * 5000)
    Shelf(-1).take([item])
    assert item.data == b"x" * 5000
    monkeypatch.undo()
    monkeypatch.setattr(os, "pwrite", refuse)
    Shelf(-1).take([item])
    assert item.data == b"x" * 5000

"""Files below a path of this machine or a URL: the same names, bytes and errors on either."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.core.errors import InputError
from analyzer.output.json import document, json_ready
from analyzer.output.store import Store, StoreError, file_system

pytestmark = pytest.mark.needs("fsspec")


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "local":
        return Store(str(tmp_path / "root"))
    return Store(f"memory://{tmp_path.name}-{request.node.name.partition('[')[0]}")


def test_what_was_written_is_there_under_its_name(store: Store, tmp_path: Path) -> None:
    store.write("a/b/one", b"0123456789")
    store.write("a/b/one", b"abcdefghij")
    store.write("a/two", b"")
    assert (store.exists("a/b/one"), store.exists("a/b/three"), store.size("a/b/one")) == (True, False, 10)
    assert (store.read("a/b/one"), store.read("a/b/one", 2, 4), store.read("a/two")) == (b"abcdefghij", b"cd", b"")
    assert store.names("") == store.names("a") == ["a/b/one", "a/two"]
    assert (store.names("a/b"), store.names("nowhere")) == (["a/b/one"], [])
    copy = store.fetch("a/b/one", tmp_path / "copy")
    assert (copy, copy.read_bytes()) == (tmp_path / "copy", b"abcdefghij")
    assert store.url("a/two").endswith("/a/two")


def test_a_file_is_moved_and_removed_with_what_is_below(store: Store) -> None:
    store.write("a/one", b"1")
    store.write("a/b/two", b"2")
    store.move("a/one", "c/d/one")
    assert store.names("") == ["a/b/two", "c/d/one"]
    store.remove("a")
    store.remove("a")
    assert store.names("") == ["c/d/one"]
    store.prune()
    assert store.read("c/d/one") == b"1"


def test_empty_directories_are_pruned_and_the_root_stays(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "root"))
    store.write("a/b/c/one", b"1")
    store.write("kept/two", b"2")
    store.move("a/b/c/one", "kept/one")
    store.prune("a/b")
    assert (tmp_path / "root/a").is_dir()
    assert not (tmp_path / "root/a/b").exists()
    store.remove("kept")
    store.prune()
    assert list((tmp_path / "root").iterdir()) == []


def test_a_file_that_was_not_written_to_its_end_is_not_there(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "root"))

    def interrupted(name: str) -> None:
        with store.writing(name) as out:
            out.write(b"half")
            raise KeyboardInterrupt

    store.write("kept", b"old")
    for name in ("kept", "new"):
        with pytest.raises(KeyboardInterrupt):
            interrupted(name)
    assert [path.name for path in (tmp_path / "root").iterdir()] == ["kept"]
    assert store.read("kept") == b"old"


def test_what_cannot_be_written_or_reached_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    store = Store(str(tmp_path / "file"))
    with pytest.raises(StoreError, match="file cannot be written: "):
        store.write("below", b"")
    with pytest.raises(StoreError, match="file cannot be written: "):
        store.move("one", "two")
    with pytest.raises(InputError, match=r"s3://\.\.\. has a password in it"):
        file_system("s3://me:secret@bucket/x")
    with pytest.raises(InputError, match="nosuch://x cannot be used: "):
        file_system("nosuch://x")


def test_nested_values_are_json_text_and_records_dictionaries() -> None:
    assert (json_ready(None), json_ready({"a": [1, None]})) == (None, '{"a":[1,null]}')
    assert document({"a": (1, "x")}) == {"a": [1, "x"]}

"""Files appear whole or not at all, never in the place of what is read, and of another only when asked for."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from analyzer.core.errors import InputError
from analyzer.output import gate
from analyzer.output.gate import Destination, write_document


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names_in(place: Path) -> list[str]:
    return sorted(one.name for one in place.iterdir())


def test_a_new_file_has_what_was_written(tmp_path: Path) -> None:
    write_document(b"whole", Destination(tmp_path / "x"))
    assert (tmp_path / "x").read_bytes() == b"whole"
    assert names_in(tmp_path) == ["x"]


def test_an_existing_file_is_replaced_only_by_force(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    path.chmod(0o640)
    for ask in (Destination(path).check, lambda: write_document(b"new", Destination(path))):
        with pytest.raises(InputError, match="exists already") as caught:
            ask()
        assert caught.value.hint == "--force replaces it."
    assert path.read_bytes() == b"old"
    write_document(b"new", Destination(path, force=True))
    assert path.read_bytes() == b"new"
    assert mode_of(path) == 0o640


@pytest.mark.parametrize("way", ["itself", "link", "hard link"])
def test_what_is_read_is_not_written_over_even_by_force(tmp_path: Path, way: str) -> None:
    read, path = tmp_path / "keys", tmp_path / "out"
    read.write_bytes(b"secret")
    if way == "link":
        path.symlink_to(read)
    elif way == "hard link":
        path.hardlink_to(read)
    else:
        path = read
    for destination in (Destination(path, force=True, reads=[read]), Destination(path, force=True).sparing([read])):
        with pytest.raises(InputError, match="is read by this command"):
            write_document(b"new", destination)
    assert read.read_bytes() == b"secret"


def test_secrets_are_for_their_owner_also_where_the_old_file_was_not(tmp_path: Path) -> None:
    path = tmp_path / "k.keytab"
    path.write_bytes(b"old")
    path.chmod(0o644)
    write_document(b"new", Destination(path, force=True, private=True))
    assert mode_of(path) == 0o600


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_document(b"new", Destination(tmp_path / "link", force=True))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def write_half(destination: Destination, error: BaseException) -> None:
    with destination.opened() as out:
        out.write(b"half")
        raise error


@pytest.mark.parametrize("existed", [False, True])
def test_what_did_not_finish_is_removed_and_the_message_says_so(tmp_path: Path, existed: bool) -> None:
    path = tmp_path / "x"
    if existed:
        path.write_bytes(b"old")
    with pytest.raises(InputError, match="No space left on device; what was written of it has been removed"):
        write_half(Destination(path, force=True), OSError(28, "No space left on device"))
    assert names_in(tmp_path) == (["x"] if existed else [])
    assert not existed or path.read_bytes() == b"old"


def test_an_interruption_leaves_nothing_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        write_half(Destination(tmp_path / "x"), KeyboardInterrupt())
    assert names_in(tmp_path) == []
    assert "is not written; what was written of it has been removed" in capsys.readouterr().err


@pytest.mark.parametrize("has_links", [True, False])
def test_a_file_that_appears_meanwhile_is_not_replaced(
    tmp_path: Path, has_links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_links:
        monkeypatch.setattr(gate.os, "link", lambda *_: (_ for _ in ()).throw(OSError(95, "Operation not supported")))
    path = tmp_path / "x"
    with ExitStack() as writing:
        writing.enter_context(Destination(path).opened()).write(b"ours")
        path.write_bytes(b"somebody's")
        with pytest.raises(InputError, match="has come to exist meanwhile"):
            writing.close()
    assert path.read_bytes() == b"somebody's"
    assert names_in(tmp_path) == ["x"]
    write_document(b"ours", Destination(tmp_path / "y"))
    assert names_in(tmp_path) == ["x", "y"]


def test_what_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    for path, words in ((tmp_path, "is a directory"), (tmp_path / "no" / "x", "there is no directory"), ("\0", "null")):
        with pytest.raises(InputError, match=words):
            Destination(Path(path)).check()


def test_a_pipe_is_written_to_as_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        write_document(b"through", Destination(tmp_path / "pipe"))
        assert reader.stdout is not None
        assert reader.stdout.read() == b"through"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
def test_standard_output_has_several_names(name: str, tmp_path: Path) -> None:
    code = f"from pathlib import Path; from analyzer.output.gate import *; write_document(b'x', Destination(Path({name!r})))"
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True, cwd=tmp_path)
    assert (tmp_path / "out").read_bytes() == b"x"
    assert names_in(tmp_path) == ["out"]


def test_messages_are_one_line_each_whatever_they_name(capsys: pytest.CaptureFixture[str]) -> None:
    gate.say("near it: a\nb\x1b[31m\u202e", "second")
    assert capsys.readouterr().err == "near it: a\\nb\\x1b[31m\\u202e\nsecond\n"


def test_where_there_is_nobody_to_tell_nothing_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    gate.say("anything")
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(gate.StreamClosedError):
        gate.put("anything")

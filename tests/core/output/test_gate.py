"""Files appear whole or not at all, never in the place of what is read, and of another only when asked for."""

import os
import signal
import stat
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from analyzer.core.errors import InputError
from analyzer.core.output import gate
from analyzer.core.output.gate import Destination, write_document


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names_in(place: Path) -> list[str]:
    return sorted(one.name for one in place.iterdir())


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
        assert reader.stdout.read() == b"through"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
def test_standard_output_has_several_names(name: str, tmp_path: Path) -> None:
    code = f"from pathlib import Path; from analyzer.core.output.gate import *; write_document(b'x', Destination(Path({name!r})))"
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


def test_a_file_in_the_way_beside_it_is_left_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda length: b"\xab" * length)
    other = gate.PartFile(tmp_path, private=False)
    with other.opened() as out:
        out.write(b"somebody's")
    with pytest.raises(InputError, match="cannot be written: File exists"):
        write_document(b"ours", Destination(tmp_path / "x"))
    assert other.path.read_bytes() == b"somebody's"
    assert names_in(tmp_path) == [".pcq-abababababababab.part"]
    other.close()


def test_what_a_killed_run_left_is_removed_by_the_next_one_there(tmp_path: Path) -> None:
    code = (
        "import os, signal\nfrom pathlib import Path\nfrom analyzer.core.output.gate import Destination\n"
        f"with Destination(Path({str(tmp_path / 'x')!r})).opened() as out:\n"
        "    out.write(b'half')\n    out.flush()\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    (left,) = names_in(tmp_path)
    # Another run that is still writing there, and files that are none of ours, stay.
    alive = gate.PartFile(tmp_path, private=False)
    others = ["notes.part", ".pcq-x", "y"]
    for name in others:
        (tmp_path / name).write_bytes(b"")
    os.mkfifo(tmp_path / ".pcq-fifo.part")
    (tmp_path / ".pcq-link.part").symlink_to(tmp_path / "y")
    write_document(b"whole", Destination(tmp_path / "x"))
    assert names_in(tmp_path) == sorted(["x", alive.path.name, ".pcq-fifo.part", ".pcq-link.part", *others])
    assert left not in names_in(tmp_path)
    alive.close()


def test_a_file_that_was_tidied_before_it_was_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, made = gate._locked, []

    def locked(descriptor: int) -> bool:
        if not made:
            made.append(next(tmp_path.iterdir()))
            made[0].unlink()
        return real(descriptor)

    monkeypatch.setattr(gate, "_locked", locked)
    write_document(b"whole", Destination(tmp_path / "x"))
    assert (tmp_path / "x").read_bytes() == b"whole"
    assert names_in(tmp_path) == ["x"]


def test_what_does_not_read_back_takes_no_place(tmp_path: Path) -> None:
    def check(path: Path) -> None:
        assert path.read_bytes() == b"new"
        raise InputError(f"{path} is damaged")

    (tmp_path / "x").write_bytes(b"old")
    why = "x is not written: what was written does not read back .is damaged"
    with pytest.raises(InputError, match=why), Destination(tmp_path / "x", force=True).opened(check) as out:
        out.write(b"new")
    assert (tmp_path / "x").read_bytes() == b"old"
    assert names_in(tmp_path) == ["x"]


def test_what_takes_a_place_is_on_the_disk_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: sizes.append(os.fstat(descriptor).st_size))
    write_document(b"whole", Destination(tmp_path / "x"))
    assert sizes == [5]


@pytest.mark.parametrize(("mask", "mode"), [(0o027, 0o640), (0o022, 0o644), (0, 0o666)])
def test_modes_of_new_files_are_those_of_the_user_or_of_secrets(mask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        write_document(b"x", Destination(tmp_path / "open"))
        write_document(b"x", Destination(tmp_path / "private", private=True))
    finally:
        os.umask(before)
    assert (mode_of(tmp_path / "open"), mode_of(tmp_path / "private")) == (mode, 0o600)


def test_a_destination_that_spares_more_is_the_same_else(tmp_path: Path) -> None:
    path, other = tmp_path / "x", tmp_path / "y"
    path.write_bytes(b"old")
    other.write_bytes(b"old")
    first = Destination(path, force=True, reads=[tmp_path / "a"], private=True)
    more = first.sparing(["b", other])
    assert more.reads == (tmp_path / "a", Path("b"), other)
    assert first.reads == (tmp_path / "a",)
    write_document(b"new", more)
    assert (path.read_bytes(), mode_of(path)) == (b"new", 0o600)
    with pytest.raises(InputError, match="exists already"):
        Destination(path).sparing([other]).check()
    # What is read need not be there, and is no other file of the same content.
    Destination(path, force=True, reads=[tmp_path / "none", other]).check()


def test_a_device_is_written_to_as_it_is() -> None:
    write_document(b"x", Destination(Path(os.devnull)))
    with Destination(Path(os.devnull)).opened() as out:
        assert out.name == os.devnull


@pytest.mark.parametrize("name", ["-", "/dev/stdout", None])
def test_what_goes_to_standard_output_needs_no_check(name: str | None) -> None:
    destination = Destination(Path(name) if name is not None else None)
    destination.check()
    assert destination.path is None


def test_a_descriptor_that_is_not_open_cannot_be_written() -> None:
    with pytest.raises(InputError, match="/dev/fd/1234 cannot be written: No such file"):
        write_document(b"x", Destination(Path("/dev/fd/1234")))


def test_a_file_system_without_links_renames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").write_bytes(b"old")
    monkeypatch.setattr(gate.os, "link", lambda *_: pytest.fail("a link in the place of a file that is replaced"))
    write_document(b"new", Destination(tmp_path / "x", force=True))
    assert (tmp_path / "x").read_bytes() == b"new"
    assert names_in(tmp_path) == ["x"]


def test_a_sentence_about_what_was_wrong_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="damaged"):
        write_half(Destination(tmp_path / "x"), InputError("damaged"))
    assert capsys.readouterr().err == ""
    with pytest.raises(ZeroDivisionError):
        write_half(Destination(tmp_path / "x"), ZeroDivisionError())
    assert capsys.readouterr().err == f"{tmp_path}/x is not written; what was written of it has been removed\n"
    assert names_in(tmp_path) == []

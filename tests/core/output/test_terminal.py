"""What a terminal is shown, in this process: colours, the terminal, the line that says how far reading has come."""

import io
import os
import select
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from analyzer.core.errors import InputError
from analyzer.core.output import gate, terminal
from analyzer.core.output.gate import Destination, StreamClosedError
from analyzer.core.output.terminal import (
    _PagerClosedError,
    _PagerInput,
    _paging,
    paged,
    pager_command,
    progress_words,
    status_line,
    watching,
    write_markup,
)
from analyzer.screens.views.text_report import safe

LINES = ["[bold]12[/bold] of 'x' :smile: https://a.b", "\u00e9 \u2026 " + "long " * 60]
PLAIN = [LINES[0].replace("[bold]", "").replace("[/bold]", ""), LINES[1]]
BOLD = "\x1b[1m12\x1b[0m of 'x' :smile: https://a.b"


class Screen(io.TextIOWrapper):
    """A stream that is a terminal."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding=encoding, errors="strict")

    def isatty(self) -> bool:
        return True

    @property
    def shown(self) -> str:
        self.flush()
        return self.bytes.getvalue().decode(self.encoding)


@pytest.fixture(autouse=True)
def of_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "PAGER", "PCQ_PAGER", "LESS", "LV", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "77")


def lines_of(widths: list[int | None]) -> Any:
    def lines(width: int | None) -> Iterable[str]:
        widths.append(width)
        return LINES

    return lines


def test_a_terminal_has_colours_and_its_own_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, widths = Screen(), []  # type: Screen, list[int | None]
    monkeypatch.setattr(sys, "stdout", screen)
    write_markup(lines_of(widths), Destination())
    assert screen.shown == f"{BOLD}\n{PLAIN[1]}\n"
    assert widths == [77]


def test_a_terminal_is_spared_what_its_alphabet_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen("latin-1")
    monkeypatch.setattr(sys, "stdout", screen)
    write_markup(lines_of([]), Destination())
    assert screen.shown.startswith(f"{BOLD}\n\u00e9 \\u2026 long")


def test_the_pager_has_colours_and_the_width_of_the_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    screen, widths = Screen(), []  # type: Screen, list[int | None]
    monkeypatch.setattr(sys, "stdout", screen)
    write_markup(
        lines_of(widths), Destination(), pager=["sh", "-c", f'echo "$LESS $LV" > {tmp_path}/got; cat >> {tmp_path}/got']
    )
    assert (tmp_path / "got").read_text("utf-8") == f"FRX -c\n{BOLD}\n{PLAIN[1]}\n"
    assert widths == [77]
    assert screen.shown == ""


def test_a_file_has_neither_colours_nor_a_width(tmp_path: Path) -> None:
    widths: list[int | None] = []
    write_markup(lambda width: [*lines_of(widths)(width), "\ud800"], Destination(tmp_path / "x"), pager=["false"])
    assert (tmp_path / "x").read_text("utf-8") == f"{PLAIN[0]}\n{PLAIN[1]}\n\\ud800\n"
    assert widths == [None]


@given(st.lists(st.text(alphabet="\\[]a/#0 \u00e9\x07", max_size=9).map(safe)))
def test_what_a_file_gets_is_the_text_that_rich_reads(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        write_markup(lambda _: ["[bold]a[/]b", *lines], Destination(path))
        written = path.read_text("utf-8")
    assert written == "".join(f"{line}\n" for line in ["ab", *(Text.from_markup(line).plain for line in lines)])


class Noted(io.BytesIO):
    """Counts how often what was written is handed on."""

    flushed = 0

    def flush(self) -> None:
        Noted.flushed += 1


@pytest.mark.parametrize(("at_once", "more"), [(False, 0), (True, 2)])
def test_a_reader_has_each_line_when_it_is_there(at_once: bool, more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    out = Noted()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="utf-8"))
    Noted.flushed = 0
    write_markup(lines_of([]), Destination(), at_once=at_once)
    assert out.getvalue().decode() == f"{PLAIN[0]}\n{PLAIN[1]}\n"
    assert Noted.flushed == 1 + more


def test_nothing_else_writes_to_the_terminal_while_a_pager_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, errors = Screen(), Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stderr", errors)
    there: list[bool] = []

    def lines(_: int | None) -> Iterator[str]:
        with status_line("reading") as update:
            there.append(update is not None)
        raise KeyError("a mistake")
        yield ""

    with pytest.raises(KeyError):
        write_markup(lines, Destination(), pager=["cat"])
    assert there == [False]
    assert errors.shown == ""
    # It has it back, whatever ended the pager.
    with status_line("reading") as update:
        assert update is not None
        update("more")
    assert "more" in errors.shown


def test_a_line_of_status_is_shown_and_changed_as_long_as_no_pager_was_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _paging is False
    errors = Screen()
    monkeypatch.setattr(sys, "stderr", errors)
    with status_line("reading") as update:
        assert update is not None
        update("more")
    assert "more" in errors.shown


def test_a_line_of_status_needs_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (None, io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        with status_line("reading") as update:
            assert update is None
    assert isinstance(stream, io.StringIO)
    assert stream.getvalue() == ""


def test_a_notebook_shows_the_line_of_status_below_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[object] = []

    class Handle:
        def update(self, data: object, *, raw: bool) -> None:
            shown.append((data, raw))

    def display(data: object, *, raw: bool, display_id: bool) -> Handle:
        shown.append((data, raw, display_id))
        return Handle()

    module: Any = ModuleType("IPython.display")
    module.display = display
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    with status_line("reading", notebook=True) as update:
        assert update is None
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    with status_line("reading") as update:
        assert update is None
    with status_line("reading", notebook=True) as update:
        assert update is not None
        update("half")
    assert shown == [({"text/plain": "reading"}, True, True), ({"text/plain": "half"}, True)]


# ---------------------------------------------------------------------------------------------------------- progress


@pytest.mark.parametrize(
    ("frames", "done", "total", "seconds", "words"),
    [
        (0, 0, 0, 0.0, "0 frames read"),
        (1234, 0, 5_000_000, 9.0, "1,234 frames read"),
        (7, 2_500_000, 2_499_999, 9.0, "2.5 MB, 7 frames read"),
        (7, 2_500_000, 0, 9.0, "2.5 MB, 7 frames read"),
        (7, 1_000_000, 4_000_000, 1.99, "1.0 of 4.0 MB (25 %), 7 frames read"),
        (7, 1_000_000, 4_000_000, 2.0, "1.0 of 4.0 MB (25 %), 7 frames read, about 6 s left"),
        (7, 4_000_000, 4_000_000, 9.0, "4.0 of 4.0 MB (100 %), 7 frames read"),
        (7, 1_999_999, 6_000_000, 9.0, "2.0 of 6.0 MB (33 %), 7 frames read, about 18 s left"),
        (7, 1_000_000, 2_000_000, 59.4, "1.0 of 2.0 MB (50 %), 7 frames read, about 59 s left"),
        (7, 1_000_000, 2_000_000, 60.0, "1.0 of 2.0 MB (50 %), 7 frames read, about 1 min 0 s left"),
        (7, 1_000_000, 2_000_000, 125.0, "1.0 of 2.0 MB (50 %), 7 frames read, about 2 min 5 s left"),
        (7, 1_500_000_000, 3_000_000_000, 1.0, "1,500.0 of 3,000.0 MB (50 %), 7 frames read"),
    ],
)
def test_how_far_reading_has_come_in_words(frames: int, done: int, total: int, seconds: float, words: str) -> None:
    assert progress_words(frames, done, total, seconds) == words


@pytest.mark.parametrize(("given", "notebook"), [({}, False), ({"notebook": False}, False), ({"notebook": True}, True)])
def test_progress_counts_the_bytes_of_all_files(
    given: dict[str, bool], notebook: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said: list[str] = []
    asked: list[object] = []
    now = iter([100.0, 106.0])

    @contextmanager
    def line(text: str, *, notebook: bool = False) -> Iterator[Any]:
        asked.append((text, notebook))
        yield said.append

    monkeypatch.setattr(terminal, "status_line", line)
    monkeypatch.setattr(terminal, "monotonic", lambda: next(now))
    (tmp_path / "a").write_bytes(bytes(1_500_000))
    (tmp_path / "b").write_bytes(bytes(500_000))
    sources = [tmp_path / "a", str(tmp_path / "b"), tmp_path / "none", io.BytesIO(b"xxx")]
    with watching(sources, **given) as report:
        assert report is not None
        report(3, 1_000_000)
    assert asked == [("reading ...", notebook)]
    assert said == ["1.0 of 2.0 MB (50 %), 3 frames read, about 6 s left"]


def test_there_is_no_progress_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with watching([]) as report:
        assert report is None


# ------------------------------------------------------------------------------------------------------------- pager


def test_the_pager_is_the_one_of_the_first_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal.shutil, "which", lambda name, path: f"{path}/{name}" if name != "missing" else None)
    assert pager_command({}) == ["less"]
    assert pager_command({"PAGER": "more -d"}) == ["more", "-d"]
    assert pager_command({"PAGER": "more", "PCQ_PAGER": "most"}) == ["most"]
    assert pager_command({"PAGER": "sh -c 'a b'"}) == ["sh", "-c", "a b"]
    assert pager_command({"PAGER": "cat -n"}) == ["cat", "-n"]
    for none in ("", "cat", " cat ", "missing", "'open"):
        assert pager_command({"PAGER": none}) is None
        assert pager_command({"PAGER": "more", "PCQ_PAGER": none}) is None


@pytest.fixture
def interrupted() -> Iterator[Any]:
    """What Ctrl-C calls while the test runs, whatever the process that runs it does with signals."""

    def called(*_: object) -> None:
        pytest.fail("interrupted")

    before = signal.signal(signal.SIGINT, called)
    yield called
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_is_for_the_pager_while_it_shows_what_is_left(
    interrupted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal would end the test were it not for the pager; afterwards it is for whom it was for."""
    while_waiting = []
    import subprocess

    wait = subprocess.Popen.wait

    def waited(self: Any, timeout: float | None = None) -> int:
        while_waiting.append(signal.getsignal(signal.SIGINT))
        return wait(self, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", waited)
    with paged(["sh", "-c", f"cat > {tmp_path}/got"]) as stream:
        assert stream.write("one\ud800") == 4
        assert signal.getsignal(signal.SIGINT) is interrupted
    assert (tmp_path / "got").read_text() == "one\\ud800"
    assert while_waiting == [signal.SIG_IGN]
    assert signal.getsignal(signal.SIGINT) is interrupted


def test_text_is_with_the_pager_once_it_was_flushed() -> None:
    there = io.BytesIO()
    stream = _PagerInput(io.BufferedWriter(there), encoding="utf-8")
    assert stream.write("tw\u00f6") == 3
    stream.flush()
    assert there.getvalue() == "tw\u00f6".encode()


def test_a_pager_that_was_left_is_no_broken_pipe_of_ours() -> None:
    """rich ends the process by `BrokenPipeError`."""

    class Left(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            raise BrokenPipeError

    stream = _PagerInput(io.BufferedWriter(Left()), encoding="utf-8")
    with pytest.raises(_PagerClosedError):
        stream.write("x" * (1 << 17))
    stream = _PagerInput(io.BufferedWriter(Left()), encoding="utf-8")
    stream.write("x")
    with pytest.raises(_PagerClosedError):
        stream.flush()


def test_a_pager_that_is_left_ends_the_writing(tmp_path: Path) -> None:
    written = 0
    with paged(["true"]) as stream:
        while True:
            stream.write("x" * 65536)
            stream.flush()
            written += 1
    assert written < 100
    with pytest.raises(KeyError), paged(["cat"]):
        raise KeyError("a mistake of ours")


def test_options_of_a_pager_that_the_user_has_set_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LESS", "-x")
    with paged(["sh", "-c", f'echo "$LESS $LV" > {tmp_path}/got; cat > /dev/null']) as stream:
        stream.write("x")
    assert (tmp_path / "got").read_text() == "-x -c\n"


# -------------------------------------------------------------------------------------------------- standard streams


def test_whether_standard_output_is_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, expected in ((Screen(), True), (io.StringIO(), False), (None, False)):
        monkeypatch.setattr(sys, "stdout", stream)
        assert gate.is_terminal() is expected


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(28, "No space left on device"), "standard output cannot be written: No space left on device"),
        (OSError("odd"), "standard output cannot be written: odd"),
        (BrokenPipeError(32, "Broken pipe"), None),
    ],
)
def test_standard_output_that_takes_no_more_leads_nowhere_from_then_on(
    error: OSError, words: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "out").open("w", encoding="utf-8") as out:
        monkeypatch.setattr(sys, "stdout", out)

        def fails() -> None:
            with gate.text_output() as stream:
                assert stream is out
                stream.write("half")
                raise error

        if words is None:
            fails()
        else:
            with pytest.raises(InputError) as caught:
                fails()
            assert str(caught.value) == words
        out.flush()
        monkeypatch.undo()
    assert (tmp_path / "out").read_bytes() == b""


def test_no_standard_output_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    gate.abandon_output()
    with pytest.raises(StreamClosedError, match="standard output is closed"), gate.text_output():
        pytest.fail("opened")


def test_what_was_written_to_standard_output_is_there_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as reader, os.fdopen(write, "w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        gate.put("one\x1b", "tw\u00f6")
        assert select.select([reader], [], [], 0)[0]
        assert os.read(read, 100) == "one\\x1b\ntw\u00f6\n".encode()
        monkeypatch.undo()


def test_a_pipe_is_read_until_its_reader_goes_away(tmp_path: Path) -> None:
    read, write = os.pipe()
    with os.fdopen(write, "wb") as out:
        assert gate.is_read(out)
        os.close(read)
        assert not gate.is_read(out)
    with (tmp_path / "x").open("wb") as out:
        assert gate.is_read(out)
    assert gate.is_read(io.BytesIO())


@pytest.mark.parametrize(
    ("found", "read"),
    [
        ([], True),
        ([(1, select.POLLOUT)], True),
        ([(1, select.POLLERR)], False),
        ([(1, select.POLLHUP | select.POLLOUT)], False),
    ],
)
def test_an_error_or_a_hangup_is_a_reader_that_went_away(
    found: list[tuple[int, int]], read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    class Poll:
        def register(self, descriptor: int, events: int) -> None:
            asked.append(events)

        def poll(self, timeout: int) -> list[tuple[int, int]]:
            asked.append(timeout)
            return found

    monkeypatch.setattr(gate.select, "poll", Poll)
    with Path(os.devnull).open("wb") as out:
        assert gate.is_read(out) is read
    assert asked == [0, 0]  # nothing but what is always told, and at once


def test_a_system_that_cannot_say_reads_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(gate.select, "poll")
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as out:
        assert gate.is_read(out)


def test_both_streams_are_flushed_whatever_befalls_one(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(io.StringIO):
        def flush(self) -> None:
            raise OSError("gone")

    errors = Noted()
    Noted.flushed = 0
    for out, are_written in ((Broken(), False), (None, True)):
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", errors)
        assert gate.flush_streams() is are_written
    assert Noted.flushed == 2
    monkeypatch.setattr(sys, "stderr", Broken())
    gate.say("nobody hears it")


def test_standard_streams_that_were_closed_are_opened_the_wrong_way_round(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, int]] = []

    def fstat(descriptor: int) -> None:
        if descriptor != 1:
            raise OSError("closed")

    monkeypatch.setattr(gate.os, "fstat", fstat)
    monkeypatch.setattr(gate.os, "open", lambda path, way: opened.append((path, way)))
    gate.occupy_standard_descriptors()
    monkeypatch.undo()
    assert opened == [("/dev/null", os.O_WRONLY), ("/dev/null", os.O_RDONLY)]

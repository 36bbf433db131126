"""Files whose names are no text, paths that lead to no file, and files that change while they are read."""

import os
import re
import socket
import threading
from pathlib import Path

import polars as pl
import pytest

from analyzer.capture.capture_reader import CaptureReader
from analyzer.commands.shared.guard import guarded
from analyzer.core.events import Problem
from analyzer.core.printable_text import path_of_text, shell_word, text_of_path
from analyzer.pipeline import packet_rereading, run
from tests.commands.test_all_commands import CLEAR, here

# The name in latin-1, as it is shown, and one of the same width that every form can hold.
RAW, SHOWN, PLAIN = os.fsdecode(b"B\xfcro.pcap"), "B\\xfcro.pcap", "Bxxfcro.pcap"
TABLES = ("text", "jsonl", "json", "csv")
ENTRIES = (*TABLES, "timesketch", "ecs", "zeek")
COMMANDS = (
    *(f"timeline --format {form}" for form in ENTRIES),
    *(f"audit --format {form}" for form in ("text", "sarif", "junit")),
    # Each as text, whose lines are its own, and in one of the forms, which have one writer for all.
    *(
        f"{command} --hash --format {form}"
        for at, command in enumerate(
            ("triage", "stats", "samples", "counters", "sessions", "hosts", "handles", "processes")
        )
        for form in ("text", TABLES[1 + at % 3])
    ),
    "timeline --engine tshark",
    "timeline --names-from now",
    "timeline --redact-key 00 --hash",
    "show --call 3 --packets",
    "show --call 3 --packets --format jsonl",
    "export-metadata",
    "decode --as winperf",
    "keys wireshark",
    "crosscheck",
)


def printed(line: str, name: str, capfd: pytest.CaptureFixture[str]) -> str:
    """What a command prints of a file, its name as that which every form can hold, and its exit code."""
    capfd.readouterr()
    first, *options = line.split()
    words = [first, *([options.pop(0)] if first == "keys" else []), name, *options]
    code = guarded(words)
    shown = "".join(capfd.readouterr())
    for form in (SHOWN, SHOWN.replace("\\", "\\\\"), SHOWN.replace("\\", "\\\\\\\\"), "B%FCro.pcap"):
        shown = shown.replace(form, PLAIN)
    # The digest of the result is one of its name too.
    return re.sub(r'"result":"[0-9a-f]{64}"|(?<=result  sha256 )[0-9a-f]{64}', "", f"{shown}exit code {code}")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in (RAW, PLAIN):
        (tmp_path / name).write_bytes(CLEAR.read_bytes())
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("line", COMMANDS)
def test_a_name_that_is_no_text_changes_nothing_but_the_name(line: str, capfd: pytest.CaptureFixture[str]) -> None:
    plain = printed(line, PLAIN, capfd)
    assert "an error in this program" not in plain
    quoted = shell_word(RAW).replace("\\", "\\\\")
    assert (
        printed(line, RAW, capfd).replace(shell_word(RAW), PLAIN).replace(quoted, PLAIN).replace(f"$'{PLAIN}'", PLAIN)
        == plain
    )


@pytest.mark.parametrize(
    "command",
    ["timeline", "samples", "counters", "sessions", "hosts", "handles", "stats", "processes", "triage", "audit"],
)
def test_tables_hold_a_name_that_is_no_text(command: str, folder: Path) -> None:
    for name in (PLAIN, RAW):
        assert guarded([command, name, "--hash", "--format", "parquet", "-o", f"{name}.parquet"]) in (0, 11)
    plain, raw = (pl.read_parquet((folder / f"{name}.parquet").read_bytes()) for name in (PLAIN, RAW))
    assert raw.columns == plain.columns
    assert len(raw) == len(plain)


def test_results_of_a_name_that_is_no_text_are_read_again(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    case, page, clear, part = (os.fsdecode(b"B\xfcro." + kind) for kind in (b"pcq", b"html", b"clear", b"slice"))
    for line in (
        ["save", RAW, "-o", case],
        ["report", RAW, "-o", page],
        ["export", RAW, "--pcapng", clear, "--slice", part],
        ["timeline", RAW, "--hash", "-o", "result"],
        ["verify", "result", RAW],
        ["verify", case, RAW],
        *(["timeline", name] for name in (case, clear, part)),
        ["audit", RAW, "--write-baseline", os.fsdecode(b"\xe4.json")],
        ["audit", RAW, "--baseline", os.fsdecode(b"\xe4.json"), "--hash", "-o", "audited"],
    ):
        assert guarded(line) == 0, line
    assert SHOWN.replace("\\", "\\\\") in (folder / page).read_text()
    out, err = capfd.readouterr()
    assert "\udcfc" not in out + err
    assert guarded(["timeline", case, "--format", "jsonl"]) == 0
    assert f'"files":["{SHOWN}"]'.replace("\\", "\\\\") in capfd.readouterr().out


def test_a_dataset_knows_a_name_that_is_no_text_again_and_passes_over_what_is_no_file(mixed: Path) -> None:
    (mixed / "a.pcap").rename(RAW)
    first = here("collect", mixed, "-o", mixed / "out", "--workers", "1")
    assert all(sentence in first.stderr.decode() for sentence in PASSED_OVER)
    assert (first.returncode, b"1 of 1 files read" in first.stderr) == (6, True)
    assert SHOWN.replace("\\", "\\\\") in (mixed / "out/manifest.json").read_text()
    again = here("collect", mixed / RAW, "-o", mixed / "out", "--workers", "1")
    assert (again.returncode, b"nothing is new" in again.stderr) == (0, True)


def test_a_dataset_is_refused_where_its_tables_could_not_be_opened(capfd: pytest.CaptureFixture[str]) -> None:
    assert guarded(["collect", str(CLEAR), "-o", os.fsdecode(b"d\xe4ta")]) == 1
    assert "open no path that is not UTF-8" in capfd.readouterr().err


@pytest.mark.parametrize("name", [b"a.pcap", b"B\xfcro", b"\\xfc", b"\\x5c\xfc", b"\xc3\xa9\\x", b"\xff\\\xff\\x5cxff"])
def test_the_text_of_a_name_leads_back_to_the_file(name: bytes) -> None:
    text = text_of_path(os.fsdecode(name))
    assert text.encode("utf-8")
    assert os.fsencode(path_of_text(text)) == name


def test_different_names_have_different_texts() -> None:
    assert text_of_path("\\xfc") != text_of_path(os.fsdecode(b"\xfc"))


def test_a_shell_takes_the_word_of_a_name_for_the_name(tmp_path: Path) -> None:
    import subprocess

    for name in (b"B\xfcro", b"it's \xff \\x41", b"a b"):
        word = shell_word(os.fsdecode(name))
        done = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True)
        assert done.stdout == name


# ------------------------------------------------------------------------------------------- what is no file


@pytest.fixture
def mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a capture, a named pipe that nobody writes to, a socket, and a link to a device without end."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.pcap").write_bytes(CLEAR.read_bytes())
    os.mkfifo(tmp_path / "pipe.pcap")
    (tmp_path / "zero.pcap").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket.pcap")
    return tmp_path


PASSED_OVER = (
    "pipe.pcap: this is a named pipe, which is not read.",
    "socket.pcap: this is a socket, which is not read.",
    "zero.pcap: this is a device, which is not read.",
)


@pytest.mark.needs("tshark")
@pytest.mark.usefixtures("mixed")
def test_tshark_is_given_no_pipe_either(capfd: pytest.CaptureFixture[str]) -> None:
    assert guarded(["timeline", "--engine", "tshark", "*.pcap"]) == 6
    err = capfd.readouterr().err
    assert all(sentence in err for sentence in PASSED_OVER)


@pytest.mark.usefixtures("mixed")
@pytest.mark.parametrize(
    "line", ["timeline --hash", "audit --format sarif", "report -o page", "show --call 1 --packets"]
)
def test_a_pipe_that_is_the_only_name_is_read_once(line: str) -> None:
    writer = threading.Thread(target=Path("pipe.pcap").write_bytes, args=(CLEAR.read_bytes(),))
    writer.start()
    assert guarded([line.split()[0], "pipe.pcap", *line.split()[1:]]) == (11 if "audit" in line else 0)
    writer.join()


def test_a_pipe_of_the_shell_is_read_beside_files(mixed: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, CLEAR.read_bytes())
    os.close(writer)
    captures = CaptureReader(["a.pcap", f"/dev/fd/{reader}"])
    assert not [item for item in captures if isinstance(item, Problem)]
    assert captures.info.frames == 2 * 98
    os.close(reader)


# ---------------------------------------------------------------------------------- files that change meanwhile


def test_what_is_written_behind_a_file_while_it_is_read_is_stated_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / "grows.pcap"
    path.write_bytes(CLEAR.read_bytes())
    size = path.stat().st_size
    reader = CaptureReader([path], block_bytes=4096, hashing=True)
    problems = []
    for item in reader:
        if path.stat().st_size == size:
            with path.open("ab") as file:
                file.write(bytes(64))
        problems += [item] if isinstance(item, Problem) else []
    assert reader.info.frames == 98
    grown = f"the file grew while it was read, from {size:,} to {size + 64:,} bytes"
    assert [problem.text for problem in problems] == [f"{grown}; nothing is read after frame 98"]
    assert reader.digests[0].size == size


def test_a_file_that_becomes_shorter_while_it_is_read_is_a_problem_of_it(tmp_path: Path) -> None:
    path = tmp_path / "shrinks.pcap"
    path.write_bytes(CLEAR.read_bytes())
    reader = CaptureReader([path], block_bytes=4096)
    problems = []
    for item in reader:
        os.truncate(path, 20_000)
        problems += [item] if isinstance(item, Problem) else []
    (problem,) = problems
    assert "the file became shorter while it was read" in problem.text


def test_files_that_are_gone_when_packets_are_looked_at_again_cost_the_packets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [str(tmp_path / name) for name in ("a.pcap", "b.pcap")]
    for name in names:
        Path(name).write_bytes(CLEAR.read_bytes())
    analysis = run.analyze(names)
    Path(names[0]).unlink()
    found = packet_rereading.packets_of(names, analysis, packet_rereading.Keyring())
    assert (found.size, found.lacking) == (0, "the captures changed since they were read")
    Path(names[1]).unlink()
    assert "could not be read again" in packet_rereading.packets_of(names, analysis, packet_rereading.Keyring()).lacking

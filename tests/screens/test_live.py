"""The page of a capture that grows: who gets it, and what of the capture it is made of."""

import json
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from io import FileIO
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from analyzer.capture.growing_file import FrameCutter, GrowingCapture
from analyzer.screens.live import LivePage
from tests.build.calls import Calls, write_capture
from tests.build.capture import pcap, read


def get(page: LivePage, path: str, host: str | None = None) -> tuple[int, bytes, dict[str, str]]:
    address = urlsplit(page.url)
    with closing(HTTPConnection(str(address.hostname), address.port, timeout=30)) as connection:
        connection.request("GET", path, headers={"Host": host} if host is not None else {})
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())


def test_who_has_the_token_gets_the_page_and_hears_of_the_next() -> None:
    with LivePage() as page:
        page.show(b"one", is_ended=False)
        status, content, headers = get(page, f"/?token={page.token}")
        assert (status, content) == (200, b"one")
        assert headers["Cache-Control"] == "no-store"
        assert not any(name.lower().startswith("access-control") for name in headers)
        page.show(b"two", is_ended=True)
        status, content, _ = get(page, f"/newer?token={page.token}&than=1")
        assert (status, json.loads(content)) == (200, {"version": 2, "ended": True})


@pytest.mark.parametrize(
    ("path", "host", "status"),
    [
        ("/", None, 403),
        ("/?token=", None, 403),
        ("/newer?token=%ff", None, 403),
        ("/{}", "evil.example", 421),
        ("/x{}", None, 404),
    ],
    ids=["none", "empty", "no text", "another name", "another page"],
)
def test_nobody_else_gets_anything(path: str, host: str | None, status: int) -> None:
    with LivePage() as page:
        page.show(b"secret", is_ended=False)
        found, content, _ = get(page, path.format(f"?token={page.token}"), host)
        assert found == status
        assert b"secret" not in content


def ends_of_records(whole: bytes, form: str) -> Iterator[int]:
    """Where the header of a file, and each record or block, ends."""
    at, length_at, rest = (24, 8, 16) if form == "pcap" else (0, 4, 0)
    while at < len(whole):
        yield at
        at += int.from_bytes(whole[at + length_at : at + length_at + 4], "little") + rest
    yield at


@pytest.mark.parametrize("form", ["pcap", "pcapng"])
def test_a_capture_grows_by_whole_frames(form: str, tmp_path: Path) -> None:
    """Wherever it is cut, what is let through so far ends with a record, and all of it comes."""
    path = write_capture(tmp_path / "x.pcapng", Calls().open_query())
    frames, _, _ = read(path)
    whole = path.read_bytes() if form == "pcapng" else pcap([(each.time_ns, bytes(each.data)) for each in frames])
    ends = [0, *ends_of_records(whole, form)]
    assert len(ends) > 4
    for at in range(len(whole) + 1):
        cutter = FrameCutter()
        first = cutter.feed(whole[:at])
        assert len(first) == max(end for end in ends if end <= at)
        assert first + cutter.feed(whole[at:]) + cutter.left() == whole


@pytest.mark.parametrize("length", [0, 0xFFFFFFFF])
def test_nothing_is_held_behind_a_damaged_record(length: int, tmp_path: Path) -> None:
    """All that comes passes, and what reads it says what is wrong."""
    whole = bytearray(write_capture(tmp_path / "x.pcapng", Calls().open_query()).read_bytes())
    second = int.from_bytes(whole[4:8], "little")
    whole[second + 4 : second + 8] = length.to_bytes(4, "little")
    assert FrameCutter().feed(bytes(whole)) == whole


def test_what_a_pipe_ends_with_is_in_the_file(tmp_path: Path) -> None:
    whole = write_capture(tmp_path / "x.pcapng", Calls().open_query()).read_bytes()
    (tmp_path / "pipe").write_bytes(whole + b"half")
    with FileIO(tmp_path / "pipe") as pipe:
        capture = GrowingCapture(pipe, tmp_path)
        capture.rest(30)
    assert capture.is_ended
    capture.grow()
    assert capture.path.read_bytes() == whole + b"half"
    capture.close()

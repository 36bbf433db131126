"""`report --live` as a user has it: a pipe that brings frames, a browser, and an end by the pipe or by Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from tests.build.calls import Calls, write_capture

_PATIENCE_S = 300


class Live:
    """The command, and the end of the pipe that it reads."""

    def __init__(self, process: subprocess.Popen[bytes], pipe: int) -> None:
        assert process.stderr is not None
        self.process, self.pipe, self._said = process, pipe, process.stderr
        self.address = urlsplit(self._said.readline().decode().removeprefix("open ").strip())

    def get(self, path: str, more: str = "") -> bytes:
        with closing(HTTPConnection(str(self.address.hostname), self.address.port, timeout=_PATIENCE_S)) as connection:
            connection.request("GET", f"{path}?{self.address.query}{more}")
            return connection.getresponse().read()

    def wait_for(self, version: int) -> None:
        while json.loads(self.get("/newer", f"&than={version - 1}"))["version"] < version:
            pass

    def end(self, *, interrupt: bool) -> tuple[int, str]:
        """The exit code, and what was said on standard error."""
        if interrupt:
            self.process.send_signal(signal.SIGINT)
        else:
            os.close(self.pipe)
        said = self._said.read().decode()
        if interrupt:
            os.close(self.pipe)
        return self.process.wait(_PATIENCE_S), said


@contextmanager
def live(*options: str) -> Iterator[Live]:
    # A job in the background of a script has Ctrl-C ignored, and hands that on.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    read, write = os.pipe()
    command = [sys.executable, "-m", "analyzer", "report", "--live", *options]
    try:
        with subprocess.Popen(command, stdin=read, stderr=subprocess.PIPE) as process:
            os.close(read)
            try:
                yield Live(process, write)
            finally:
                process.kill()
    finally:
        signal.signal(signal.SIGINT, before)


def capture(tmp_path: Path) -> bytes:
    make = Calls()
    return write_capture(tmp_path / "made.pcapng", make.open_query(), make.close_query()).read_bytes()


def test_ctrl_c_is_a_good_end_and_keeps_the_last_page(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    with live("-o", str(page)) as run:
        os.write(run.pipe, capture(tmp_path))
        run.wait_for(1)
        assert b"</html>" in run.get("/")
        code, said = run.end(interrupt=True)
        assert (code, said.splitlines()) == (0, ["Ctrl-C ends it", "ended by the user; the last page is being made"])
        assert page.read_bytes().rstrip().endswith(b"</html>")


def test_ctrl_c_before_anything_came_is_a_good_end() -> None:
    with live() as run:
        assert b"Nothing was captured yet" in run.get("/")
        code, said = run.end(interrupt=True)
        assert (code, said.splitlines()[1:]) == (0, ["ended by the user: nothing was captured"])


def test_the_end_of_the_capture_ends_it(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    with live("-o", str(page)) as run:
        data = capture(tmp_path)
        os.write(run.pipe, data[:-40])
        run.wait_for(1)
        os.write(run.pipe, data[-40:])
        assert run.end(interrupt=False) == (0, "Ctrl-C ends it\n")
        assert page.exists()

"""Serves the page of `report --live` to the browsers of this machine that have its token.

It listens on 127.0.0.1 alone. A request needs the token, which is compared in constant time, and a `Host` that is this address: a
name that an attacker lets point here is refused (DNS rebinding). No other origin is allowed to read an answer.
"""

from __future__ import annotations

import secrets
import threading
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from analyzer.core.output.json import dumps

_ADDRESS = "127.0.0.1"
# How long a browser waits for a new version before it asks again, and how long the server listens to a silent one.
_WAIT_S, _PATIENCE_S = 20.0, 30.0
_MOST_NUMBER = 20
# Version 0. Loading it anew by a header or an element would go to its fragment, and nowhere.
_WAITING = b"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>live</title><link rel="icon" href="data:,"></head>
<body><p>Nothing was captured yet.</p><script>
const ask = async () => {
  const answer = await fetch(`/newer${location.search}&than=0`);
  if ((await answer.json()).version > 0) location.reload();
  else await ask();
};
ask().catch(() => (document.querySelector("p").textContent = "Nothing was captured, and nothing is any more."));
</script></body></html>
"""


class LivePage:
    """Serves the present version of the live report page, at `url`, inside a `with`."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self.changed = threading.Condition()
        self.version, self.is_ended, self.document = 0, False, _WAITING
        # The last version that a browser has; None where none asked.
        self.given: int | None = None
        self._server = _Server((_ADDRESS, 0), _Answer)
        self._server.page = self

    def __enter__(self) -> LivePage:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def hosts(self) -> tuple[str, ...]:
        """Returns the host names by which a browser may call the server of the live page."""
        return tuple(f"{name}:{self._server.server_port}" for name in (_ADDRESS, "localhost"))

    @property
    def url(self) -> str:
        return f"http://{self.hosts[0]}/?token={self.token}#view=host"

    def show(self, document: bytes, *, is_ended: bool) -> None:
        """Serves this version of the live page from now on, and tells the browsers that wait for it."""
        with self.changed:
            self.version += 1
            self.document, self.is_ended = document, is_ended
            self.changed.notify_all()

    def wait_until_given(self, seconds: float) -> None:
        """Waits until a browser has the last version of the live page, at most `seconds`; not at all if none ever asked."""
        with self.changed:
            if self.given is not None:
                self.changed.wait_for(lambda: self.given == self.version, seconds)

    def newer_than(self, version: int) -> tuple[int, bool]:
        """Waits some time for a live page newer than `version`; returns the present version and whether it is the last."""
        with self.changed:
            self.changed.wait_for(lambda: self.version > version or self.is_ended, _WAIT_S)
            return self.version, self.is_ended


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    page: LivePage


class _Answer(BaseHTTPRequestHandler):
    server: _Server
    timeout = _PATIENCE_S
    server_version, sys_version = "pcq-analyzer", ""

    def do_GET(self) -> None:
        page, asked = self.server.page, urlsplit(self.path)
        words = parse_qs(asked.query)
        token = words.get("token", [""])[0]
        if self.headers.get("Host") not in page.hosts:
            self._send(HTTPStatus.MISDIRECTED_REQUEST, b"This page has another address.\n", "text/plain")
        elif not compare_digest(token.encode("utf-8", "replace"), page.token.encode()):
            self._send(
                HTTPStatus.FORBIDDEN, b"The address of this page has a token: pcq-analyzer printed it.\n", "text/plain"
            )
        elif asked.path == "/":
            with page.changed:
                version, document = page.version, page.document
            self._send(HTTPStatus.OK, document, "text/html; charset=utf-8")
            with page.changed:
                page.given = version
                page.changed.notify_all()
        elif asked.path == "/newer":
            after = words.get("than", ["0"])[0]
            number = int(after) if after.isascii() and after.isdigit() and len(after) <= _MOST_NUMBER else 0
            version, is_ended = page.newer_than(number)
            self._send(HTTPStatus.OK, dumps({"version": version, "ended": is_ended}), "application/json")
        else:
            self._send(HTTPStatus.NOT_FOUND, b"There is one page here.\n", "text/plain")

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(content))),
            ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
        ):
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Logs no requests to the live page: they have the token in them."""

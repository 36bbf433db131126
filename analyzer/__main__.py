"""`python -m analyzer` is the command, as are `pcq-analyzer` and `pcq`: its first lines, before anything else is loaded."""

from __future__ import annotations

import gc
import os
import signal
import sys


def _leave(number: int, _: object) -> None:
    # While modules are loaded nothing is open that could be lost, and Python would show where it was interrupted.
    os._exit(128 + number)


def _load_msgspec() -> None:
    # It would load typing_extensions, if that is there, and needs none of it: this Python's typing has all. To load it takes 2 ms,
    # and makes each later use of typing slower. None there means that it cannot be imported.
    if sys.modules.setdefault("typing_extensions", None) is None:  # type: ignore[arg-type]
        import msgspec  # noqa: F401

        del sys.modules["typing_extensions"]


def main() -> None:
    """Runs the command, and ends the process with its exit code."""
    # What loading makes stays, so the collector need not look through it; reading sets thresholds of its own.
    gc.set_threshold(100_000, 10, 10)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    _load_msgspec()
    from analyzer.commands.shared.guard import run_process

    run_process()


if __name__ == "__main__":
    main()

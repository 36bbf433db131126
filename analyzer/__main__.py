"""`python -m analyzer` is the command, as are `pcq-analyzer` and `pcq`: its first lines, before anything else is loaded."""

from __future__ import annotations

import gc
import os
import signal


def _leave(number: int, _: object) -> None:
    # While modules are loaded nothing is open that could be lost, and Python would show where it was interrupted.
    os._exit(128 + number)


def main() -> None:
    """Runs the command, and ends the process with its exit code."""
    # What loading makes stays, so the collector need not look through it; reading sets thresholds of its own.
    gc.set_threshold(100_000, 10, 10)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from analyzer.commands.shared.guard import run_process

    run_process()


if __name__ == "__main__":
    main()

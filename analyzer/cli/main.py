"""What the process needs before anything is loaded, then the command line, then exit codes."""

from __future__ import annotations

import gc
import os
import sys

from analyzer.cli.exits import EXIT_DONE, EXIT_FAILED, EXIT_UNUSABLE, say_why
from analyzer.core.errors import InputError
from analyzer.output.gate import StreamClosedError, say


def main() -> None:
    """Runs the command. Unusable input is one sentence and exit code 1; a reader that went away (`| head`) is no error."""
    # What loading makes stays, so that the collector need not look through it; reading sets its own pace.
    gc.set_threshold(100_000, 10, 10)
    # numpy's linear algebra, of which we use nothing, would start a thread a core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from analyzer.cli.commands import run

        sys.exit(run(sys.argv[1:]))
    except InputError as error:
        say_why(error)
        sys.exit(EXIT_UNUSABLE)
    except StreamClosedError as error:
        say(f"pcq-analyzer: {error}")
        sys.exit(EXIT_FAILED)
    except BrokenPipeError:
        # Python flushes standard output once more at exit; there is nobody left to read it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_DONE)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        # The interpreter looks for cycles once more when it ends, in all that was read, which goes with it anyway.
        gc.freeze()

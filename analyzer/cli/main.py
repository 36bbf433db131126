"""What the process needs before anything is loaded, then the command line, then exit codes."""

from __future__ import annotations

import gc
import os
import sys

from analyzer.cli.exits import EXIT_DONE, EXIT_UNUSABLE
from analyzer.core.errors import InputError


def main() -> None:
    """Runs the command. Unusable input is one sentence and exit code 1; a reader that went away (`| head`) is no error."""
    # What loading makes stays, so that the collector need not look through it; reading sets its own pace.
    gc.set_threshold(100_000, 10, 10)
    # numpy's linear algebra, of which we use nothing, would start a thread a core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from analyzer.cli.commands import command_line

        command_line(sys.argv[1:2])()
    except InputError as error:
        import typer

        typer.echo(f"pcq-analyzer: {error}", err=True)
        if error.hint is not None:
            typer.echo(f"  {error.hint}", err=True)
        sys.exit(EXIT_UNUSABLE)
    except BrokenPipeError:
        # Python flushes standard output once more at exit; there is nobody left to read it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_DONE)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        # The interpreter looks for cycles once more when it ends, in all that was read, which goes with it anyway.
        gc.freeze()

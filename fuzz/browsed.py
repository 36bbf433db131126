"""Opens a capture in the terminal browser without a terminal, and ends when everything in it was computed.

python -m fuzz.browsed FILE
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from analyzer.pipeline.run import analyze
from analyzer.screens.browse.app import Browser


async def browsed(path: str) -> None:
    """Opens it."""
    app = Browser(lambda progress: analyze([path], pdus=False, progress=progress), path, Path(path).stat().st_size)
    async with app.run_test(size=(150, 44)) as pilot:
        for _ in range(3):
            await app.workers.wait_for_complete()
            await pilot.pause()
    if app.failure is not None:
        raise app.failure


if __name__ == "__main__":
    asyncio.run(browsed(sys.argv[1]))

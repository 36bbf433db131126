"""Sample captures, read once in each process, for tests that only look at what was read."""

from functools import lru_cache

from analyzer.auth.keyring import Keyring
from analyzer.pipeline.run import analyze
from analyzer.results.analysis import Analysis
from tests.truth import CAPTURES, captures

_BY_FILE = {capture.file: capture for capture in captures()}


@lru_cache(maxsize=64)
def analysis_of_file(file: str, *, is_keyed: bool = True) -> Analysis:
    """What a capture in `captures/` holds, read with its keys or without any."""
    keyring = Keyring.load(_BY_FILE[file].secrets_path) if is_keyed else None
    return analyze([CAPTURES / file], keyring)

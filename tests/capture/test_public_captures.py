"""Public captures: as many frames as tshark counts in each, and both paths through them agree."""

import json
import os
from pathlib import Path

import pytest

from analyzer.core.errors import InputError
from tests.build.capture import read

pytestmark = pytest.mark.corpus
# Microsoft Network Monitor 2: the second engine's.
FOREIGN = {"mlgualtieri-NTLMRawUnHide/examples__capture.cap"}


def test_every_file_has_the_frames_that_tshark_counts():
    folder = os.environ.get("PCQ_CORPUS")
    if not folder:
        pytest.skip("PCQ_CORPUS names no folder of public captures")
    expected = json.loads((Path(folder) / "expected.tshark.json").read_text())["files"]
    differing = {}
    for name, facts in expected.items():
        path = Path(folder) / name
        if name in FOREIGN:
            with pytest.raises(InputError, match="Network Monitor"):
                read(path)
            continue
        frames, problems, reader = read(path)
        numbers = [frame.frame for frame in frames]
        # That a clock went back is a note about the capture, and no loss.
        losses = [problem for problem in problems if problem.kind != "note"]
        if numbers != list(range(1, facts["frames"] + 1)) or losses or reader.info.frames != facts["frames"]:
            differing[name] = (len(numbers), facts["frames"], problems)
        assert (frames, problems) == read(path, fast=False)[:2], name
    assert not differing

"""The comparison of a probed server with the model finds what was made different, says so by field, and names nobody."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from rig.compare import compared, of_model

pytestmark = pytest.mark.needs("impacket")
GUID = "383487a6-3676-4870-a4e7-d45b30c35629"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return of_model(tmp_path_factory.mktemp("model"))


def test_the_model_does_not_differ_from_itself(model: list[dict[str, Any]], tmp_path: Path) -> None:
    again = of_model(tmp_path)
    lines = list(compared(model, again))
    assert len(lines) == 1, lines
    number, of = (int(word) for word in lines[0].split()[0::2][:2])
    assert number == of > 100


def test_a_poll_at_a_full_second_is_no_difference(model: list[dict[str, Any]]) -> None:
    other = deepcopy(model)
    answers = [
        call["response"] for call in other if call["record"] == "call" and call["opnum"] == 6 and call["response"]
    ]
    times = [answer["buffer"]["system_time"] for answer in answers if answer["buffer"]]
    assert times
    times[0].update(hour=0, minute=0, second=0, milliseconds=0)
    assert len(list(compared(model, other))) == 1
    times[0].update(dict.fromkeys(times[0], 0))
    (difference, _) = compared(model, other)
    assert difference.endswith("lpData.system_time, ERROR_SUCCESS: a time in the model, also zero here")


def test_another_status_and_another_field_are_found(model: list[dict[str, Any]]) -> None:
    other = deepcopy(model)
    calls = [one for one in other if one["record"] == "call" and one["state"] == "complete" and one["status"] == 0]
    info = next(one for one in calls if one["opnum"] == 1 and one["response"]["buffer_kind"] == "counterset-info")
    info["response"]["buffer"]["counters"][0]["detail_level"] = 0
    data = next(one for one in calls if one["opnum"] == 6)
    data["status"], data["status_name"] = 87, "ERROR_INVALID_PARAMETER"
    lines = list(compared(model, other))
    assert len(lines) == 3
    assert "ERROR_INVALID_PARAMETER here" in next(one for one in lines if "QueryCounterData" in one)
    assert "lpData.counters[].detail_level" in next(one for one in lines if "RegistrationInfo" in one)
    assert GUID not in "\n".join(lines)

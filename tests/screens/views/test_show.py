"""`show` of what is no call. Its fields and bytes are held in `tests/page/test_page_data.py`, layer by layer."""

import pytest

from analyzer.core.errors import InputError
from analyzer.screens.views.show import Show
from tests.build.calls import Calls, analysis_of


def test_a_number_that_is_no_call_is_said_so() -> None:
    analysis = analysis_of(Calls().open_query())
    for number in (0, 2, -1):
        with pytest.raises(InputError, match="there is no call"):
            list(Show(analysis, number).records())

"""Writes what is said of the examples anew where that is asked for."""

import pytest

from tests.questions.audit import examples


def pytest_sessionfinish(session: pytest.Session) -> None:
    if examples.IS_WRITING and not hasattr(session.config, "workerinput"):
        examples.write()

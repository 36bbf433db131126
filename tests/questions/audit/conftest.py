"""Writes the contracts of evidence and of verdicts anew where that is asked for."""

from __future__ import annotations

import pytest

from tests.questions.audit import evidence, verdicts


def pytest_sessionfinish(session: pytest.Session) -> None:
    if evidence.IS_WRITING and not hasattr(session.config, "workerinput"):
        for contract in (evidence, verdicts):
            contract_rows = contract.contract() if contract.PATH.is_file() else {}
            evidence.write(contract.PATH, contract.WRITTEN, contract_rows)

"""Names of error codes, against the tables of another implementation (impacket's are those of [MS-ERREF])."""

from __future__ import annotations

import pytest

from analyzer.core.ntstatus import nt_status_name
from analyzer.core.win32 import win32_name, win32_numbers


@pytest.mark.needs("impacket")
def test_win32_codes_have_the_names_of_the_specification() -> None:
    """[MS-ERREF] section 2.2; those of the network management functions (NERR_) are in lmerr.h."""
    from impacket.system_errors import ERROR_MESSAGES

    ours = win32_numbers()
    assert len(ours) == 155
    assert {name: code for name, code in ours.items() if name.startswith("NERR_")} == {
        "NERR_ServerNotStarted": 2114,
        "NERR_LogonServerNotFound": 2215,
    }
    theirs = {name: ERROR_MESSAGES[code][0] for name, code in ours.items() if not name.startswith("NERR_")}
    assert theirs == {name: name for name in theirs}
    assert {win32_name(code) for code in ours.values()} == set(ours)


@pytest.mark.needs("impacket")
def test_nt_statuses_have_the_names_of_the_specification() -> None:
    """[MS-ERREF] section 2.3.1; a status without a name here is shown as its number."""
    from impacket.nt_errors import ERROR_MESSAGES

    named = {status: nt_status_name(status) for status in range(0xC0000001, 0xC000A001)}
    named = {status: name for status, name in named.items() if not name.startswith("0x")}
    assert len(named) == 41
    assert named == {status: ERROR_MESSAGES[status][0] for status in named}
    assert nt_status_name(0xC0000123) == "0xc0000123"
    assert nt_status_name(0x103) == "0x00000103"

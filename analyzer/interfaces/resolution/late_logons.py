"""Which calls may be of a later logon that was read after them.

Such a call was sent before them, over a further connection of their session. Bytes of that connection are missing ([MS-SMB2]
section 3.3.5.5.2). The call names both users.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from analyzer.results.call import Call
from analyzer.results.call_table import CallTable
from analyzer.results.connection import LateLogon, logon_key
from analyzer.results.security import UNKNOWN_USER


def mark_late_logons(calls: CallTable, taken: Sequence[int], late: Sequence[LateLogon]) -> Sequence[int]:
    """Gives such calls the other user. `taken` are the positions of all calls; returns where they are now."""
    positions, rows = array("I", taken), np.array(taken, np.int64)
    session, time_ns = calls.by_context("session")[rows], calls.column("first_time")[rows]
    for one in late:
        is_between = (session == one.session) & (time_ns >= one.since_ns) & (time_ns <= one.until_ns)
        for place in np.flatnonzero(is_between).tolist():
            call = calls[positions[place]]
            if (found := _with_later(call, one)) is not call:
                positions[place] = calls.replaced(positions[place], found)
    return positions


def _with_later(call: Call, late: LateLogon) -> Call:
    """A call with the later user beside its own, where the account is by SMB and another."""
    auth, user = call.auth, late.identity.account or UNKNOWN_USER
    if auth.user_from == "rpc" or auth.later_user is not None or auth.user == user:
        return call
    return replace(call, auth=replace(auth, later_user=user, later_logon=logon_key("smb", late.logon)))

"""From an exchange to a call: whose connection carried it."""

from __future__ import annotations

from msgspec.structs import replace

from analyzer.model.record import Endpoint
from analyzer.rpc.call import plain_call
from tests.build.calls import Calls
from tests.build.rpc import CHANNEL, SMB


def test_a_call_over_another_channel_of_a_session_has_that_connections_addresses() -> None:
    ends = Endpoint("10.0.1.2", 50000), Endpoint("10.0.1.1", 445)
    exchange = Calls().open_query()
    by_first = plain_call(exchange)
    assert (by_first.client, by_first.server) == (CHANNEL.client, CHANNEL.server)
    by_other = plain_call(replace(exchange, smb=replace(SMB, client=ends[0], server=ends[1])))
    assert (by_other.client, by_other.server) == ends
    # It is the same open of the same session, whichever way it was used.
    assert (by_other.channel, by_other.session) == (by_first.channel, by_first.session)

"""From an exchange to a call: whose connection carried it."""

import pytest
from msgspec.structs import replace

from analyzer.interfaces.calls_from_exchanges import plain_call
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import AuthInfo, Decryption, Identity
from tests.build.calls import Calls
from tests.build.rpc import CHANNEL, SMB


def test_a_call_over_another_connection_of_a_session_is_of_the_sessions_ends_and_names_those_that_carried_it() -> None:
    ends = Endpoint("10.0.1.2", 50000), Endpoint("10.0.1.1", 445)
    exchange = Calls().open_query()
    by_first = plain_call(exchange)
    by_other = plain_call(replace(exchange, smb=replace(SMB, client=ends[0], server=ends[1])))
    assert by_first.carriers == (CHANNEL.client, CHANNEL.server)
    assert by_other.carriers == ends
    # It is the same open of the same session, whichever way it was used.
    assert replace(by_other, smb=None) == replace(by_first, smb=None)


RPC, OVER_SMB = Identity(user="rpc", domain="LAB", workstation="PC1"), Identity(user="smb", workstation="PC2")


@pytest.mark.parametrize(
    ("own", "session", "user", "user_from", "workstation"),
    [
        (RPC, OVER_SMB, "LAB\\rpc", "rpc", "PC1"),
        (RPC, None, "LAB\\rpc", "rpc", "PC1"),
        (Identity(workstation="PC1"), OVER_SMB, None, None, None),
        (None, OVER_SMB, "smb", "smb", "PC2"),
        (None, Identity(workstation="PC2"), None, None, "PC2"),
        (None, None, None, None, None),
    ],
)
def test_who_called_is_said_by_rpc_before_the_smb_session(
    own: Identity | None, session: Identity | None, user: str | None, user_from: str | None, workstation: str | None
) -> None:
    """A server relies on the session where RPC has no security of its own."""
    auth = AuthInfo(10, 6, "ntlm", own, Decryption.DECRYPTED, True, True, "the password of LAB\\rpc")
    exchange = Calls().open_query()
    facts = plain_call(replace(exchange, auth=auth, channel=replace(exchange.channel, identity=session))).auth
    assert (facts.user, facts.user_from, facts.workstation) == (user, user_from, workstation)
    assert facts.anonymous == (None if workstation is None else False)
    assert (facts.type, facts.level, facts.verified) == ("ntlm", "privacy", True)
    assert (facts.decryption, facts.decrypted_by) == (None, "the password of LAB\\rpc")


@pytest.mark.parametrize(
    ("decryption", "shown"),
    [(Decryption.DECRYPTED, None), (Decryption.NOT_SEALED, None), (Decryption.WRONG_KEY, Decryption.WRONG_KEY.value)],
)
def test_why_a_call_could_not_be_decrypted_is_said_where_something_was_in_the_way(
    decryption: Decryption, shown: str | None
) -> None:
    auth = AuthInfo(10, 99, "ntlm", None, decryption, None, None)
    facts = plain_call(replace(Calls().open_query(), auth=auth)).auth
    assert (facts.decryption, facts.level) == (shown, "99")

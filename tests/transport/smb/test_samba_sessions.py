"""Sessions of several connections and logons that are renewed, as Samba's smbtorture does them with smbd."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.auth.keyring import Keyring, UserKey
from analyzer.auth.ntlm import nt_hash
from analyzer.pipeline.run import analyze
from analyzer.results.analysis import Analysis
from analyzer.results.security import Decryption

CAPTURES = Path(__file__).parent / "captures"
KEYS = Keyring([UserKey("perfmon", None, nt_hash("Passw0rd!"))])


def read(name: str, keyring: Keyring = KEYS) -> Analysis:
    return analyze([str(CAPTURES / f"{name}.pcap")], keyring)


@pytest.mark.parametrize(
    ("name", "encrypted", "signed"),
    [("bound_smb311_signed", (0, 0), (16, 8)), ("bound_smb311_encrypted", (14, 6), (2, 2))],
)
def test_a_session_of_two_connections_is_one_session_and_all_of_it_opens(
    name: str, encrypted: tuple[int, int], signed: tuple[int, int]
) -> None:
    analysis = read(name)
    assert [session.identity.account for session in analysis.sessions] == ["LAB\\perfmon"] * 2
    assert tuple(session.encrypted_messages for session in analysis.sessions) == encrypted
    assert tuple(session.decrypted_messages for session in analysis.sessions) == encrypted
    assert tuple(session.signed_messages for session in analysis.sessions) == signed
    assert tuple(session.verified_messages for session in analysis.sessions) == signed
    assert not any(session.binds for session in analysis.sessions)
    assert not analysis.problems


def test_a_server_that_knows_no_such_session_on_a_connection_has_no_key_to_sign_with() -> None:
    analysis = read("not_bound_smb311")
    assert [(one.signed_messages, one.verified_messages) for one in analysis.sessions] == [(37, 37), (19, 19)]
    assert not analysis.problems


def test_a_renewed_logon_is_the_same_session_with_the_same_keys() -> None:
    (session,) = read("renewed_smb311").sessions
    assert (session.signed_messages, session.verified_messages) == (5, 5)
    assert session.decryption is Decryption.DECRYPTED

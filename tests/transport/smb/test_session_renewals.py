"""Who is served when a session is renewed by another user, and what is lost of it: what smbd did, as it told the server behind the
pipe, and no account is ever named that it may not have been."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.auth.keyring import Keyring, UserKey
from analyzer.auth.ntlm_keys import nt_hash
from analyzer.pipeline.run import analyze
from analyzer.questions.statistics.hosts import host_records
from analyzer.results.analysis import Analysis
from analyzer.results.security import ANONYMOUS_LOGON, UNKNOWN_USER
from tests.build.capture import pcap, read

GAMES, NEWS = UserKey("games", None, nt_hash("Passw0rd!")), UserKey("news", None, nt_hash("Passw0rd!2"))
BOTH = Keyring([GAMES, NEWS])
PERFMON, SECOND = "LAB\\perfmon", "LAB\\second"
# What smbd took the client for, call by call.
SERVED = {
    "renewed_before_pipe_smb311": ["LAB\\news"] * 3,
    "renewed_null_smb311": [*[ANONYMOUS_LOGON] * 4, *["LAB\\games"] * 2],
    "renewed_over_channel_smb300": [*["LAB\\games"] * 10, *["LAB\\news"] * 4],
    "binding_refused_smb300": ["LAB\\games"] * 4,
    "channel_lost_smb300": ["LAB\\games"] * 5,
    "renewed_by_another_smb311": [*[PERFMON] * 3, *[SECOND] * 2],
    "two_users_smb1": [PERFMON, SECOND] * 3,
}
KEYS = {
    "renewed_by_another_smb311": Keyring([UserKey(name, None, nt_hash("Passw0rd!")) for name in ("perfmon", "second")]),
    "two_users_smb1": Keyring(),
}


def path_of(name: str) -> Path:
    return Path(__file__).parent / "captures" / f"{name}.pcap"


def part_of(name: str, folder: Path, keeps: Callable[[int], bool], keyring: Keyring | None = None) -> Analysis:
    """The analysis of some frames of a capture, by their numbers."""
    frames, _, _ = read(path_of(name))
    kept = [(frame.time_ns, bytes(frame.data)) for number, frame in enumerate(frames, 1) if keeps(number)]
    path = folder / "part.pcap"
    path.write_bytes(pcap(kept))
    return analyze([path], keyring if keyring is not None else KEYS.get(name, BOTH))


def whole(name: str, keyring: Keyring | None = None) -> Analysis:
    return analyze([path_of(name)], keyring if keyring is not None else KEYS.get(name, BOTH))


@pytest.mark.parametrize("name", SERVED)
def test_a_call_names_whom_the_server_served(name: str) -> None:
    assert [call.auth.user for call in whole(name).calls] == SERVED[name]


@cache
def known(name: str) -> tuple[dict[int, str], dict[int, str], int]:
    """Of a whole capture: whom each call was served as and what came of each logon, by their times; the last frame of a logon."""
    analysis = whole(name)
    users = {call.time_ns: user for call, user in zip(analysis.calls, SERVED[name], strict=True)}
    outcomes = {one.first_time_ns: one.outcome for one in analysis.logons}
    return users, outcomes, max(max(logon.frames) for logon in analysis.logons)


@settings(max_examples=100)
@given(st.data(), st.sampled_from([*SERVED]), st.booleans())
def test_whatever_is_lost_no_call_is_of_somebody_else(data: st.DataObject, name: str, is_one: bool) -> None:
    """One frame is lost, or the capture begins later. Where two accounts are possible, both are named, or nobody. What waits behind
    a hole is read up to two seconds later than what came over another connection of the session."""
    truth, outcomes, last = known(name)
    at = data.draw(st.integers(1, last + 1))
    with TemporaryDirectory() as folder:
        part = part_of(name, Path(folder), (lambda n: n != at) if is_one else (lambda n: n >= at))
    for call in part.calls:
        said = {call.auth.user, call.auth.later_user} if call.auth.later_user else {call.auth.user}
        assert call.time_ns not in truth or said & {truth[call.time_ns], None, UNKNOWN_USER}, call.number
    for logon in part.logons:
        if logon.identity.account is not None and logon.first_time_ns in outcomes:
            assert logon.outcome in (outcomes[logon.first_time_ns], "unanswered"), logon.key
    assert not [problem.text for problem in part.problems if "signature" in problem.text]


def test_the_answer_to_a_renewal_is_lost_and_who_opens_a_pipe_then_is_not_known(tmp_path: Path) -> None:
    analysis = part_of("renewed_before_pipe_smb311", tmp_path, lambda number: number != 15)
    assert [(call.auth.user, call.auth.later_user) for call in analysis.calls] == [(None, "LAB\\news")] * 3
    assert [(one.identity.account, one.outcome) for one in analysis.logons] == [
        ("LAB\\games", "account"),
        ("LAB\\news", "unanswered"),
    ]


def test_who_renewed_a_session_is_lost_and_the_call_says_that_it_may_be_anybody(tmp_path: Path) -> None:
    analysis = part_of("renewed_null_smb311", tmp_path, lambda number: number != 34)
    assert (analysis.calls[2].auth.user, analysis.calls[2].auth.later_user) == (ANONYMOUS_LOGON, UNKNOWN_USER)


def test_a_renewal_gives_a_session_no_key(tmp_path: Path) -> None:
    """[MS-SMB2] 3.3.5.5.3: it keeps that of the logon that began it."""
    for analysis in (
        whole("renewed_before_pipe_smb311", Keyring([NEWS])),
        part_of("renewed_before_pipe_smb311", tmp_path, lambda number: number >= 12),
    ):
        (session,) = analysis.sessions
        assert session.signed_messages > 20
        assert session.verified_messages == 0
        assert not analysis.problems
    assert session.who == "unknown user, then LAB\\news"
    assert session.reason == "the session setup is not in the capture"


def test_a_binding_that_is_refused_changes_nothing() -> None:
    analysis = whole("binding_refused_smb300")
    (session,) = analysis.sessions
    assert [(one.identity.account, one.outcome) for one in analysis.logons] == [
        ("LAB\\games", "account"),
        ("LAB\\news", "refused"),
        ("LAB\\games", "refused"),
    ]
    assert session.signed_messages == session.verified_messages
    hosts = {host.ip: [(claim.user, claim.outcome) for claim in host.claims] for host in host_records(analysis)}
    assert hosts["10.77.2.2"] == [("LAB\\news", "refused"), ("LAB\\games", "refused")]
    assert hosts["10.77.1.2"] == []


def test_a_binding_to_a_session_that_is_not_known_is_stated_whatever_came_of_it(tmp_path: Path) -> None:
    refused = part_of("binding_refused_smb300", tmp_path, lambda number: 36 <= number <= 49)
    assert [(one.identity.account, one.outcome, one.is_binding) for one in refused.logons] == [
        ("LAB\\news", "refused", True)
    ]
    bound = part_of("renewed_over_channel_smb300", tmp_path, lambda number: 32 <= number <= 48)
    assert [(one.identity.account, one.outcome) for one in bound.logons] == [("LAB\\games", "bound")]


def test_a_logon_over_a_further_connection_is_of_its_ends() -> None:
    analysis = whole("renewed_over_channel_smb300")
    assert [(one.outcome, one.client.ip, one.server.ip) for one in analysis.logons] == [
        ("account", "10.77.1.2", "10.77.1.1"),
        ("bound", "10.77.2.2", "10.77.2.1"),
        ("account", "10.77.2.2", "10.77.2.1"),
    ]
    (session,) = analysis.sessions
    assert session.signed_messages == session.verified_messages == 95
    assert not analysis.problems


def test_an_answer_that_comes_over_another_connection_than_its_call_belongs_to_it() -> None:
    analysis = whole("channel_lost_smb300")
    assert {call.outcome for call in analysis.calls} == {"answered"}
    assert len({call.channel for call in analysis.calls}) == len(analysis.sessions) == 1
    assert not analysis.problems


def test_a_renewal_by_kerberos_begins_a_logon_of_its_own_that_calls_carry() -> None:
    keytab = Keyring.load(path_of("renewed_kerberos_smb311").with_suffix(".keytab"))
    analysis = whole("renewed_kerberos_smb311", keytab)
    games, news = "games@RIG.TEST", "news@RIG.TEST"
    assert [(one.key, one.identity.account, one.outcome) for one in analysis.logons] == [
        ("smb0", games, "account"),
        ("smb1", games, "account"),
        ("smb2", news, "account"),
    ]
    assert [(one.auth.user, one.auth.logon, one.auth.later_user, one.auth.later_logon) for one in analysis.calls] == [
        (games, "smb0", None, None),
        (games, "smb0", games, "smb1"),
        (games, "smb1", None, None),
        (games, "smb0", news, "smb2"),
        (news, "smb2", None, None),
    ]
    (session,) = analysis.sessions
    assert session.signed_messages == session.verified_messages == 45
    without_key = whole("renewed_kerberos_smb311", Keyring())
    assert [one.auth.logon for one in without_key.calls] == ["smb0", "smb0", "smb1", "smb0", "smb2"]

"""Sessions of several connections and logons that are renewed, as Samba's smbtorture does them with smbd."""

from pathlib import Path

import pytest

from analyzer.auth.keyring import Keyring, UserKey
from analyzer.auth.ntlm_keys import nt_hash
from analyzer.pipeline.run import analyze
from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.series.counter_paths import PathSelection
from analyzer.questions.series.counter_records import counter_records
from analyzer.questions.statistics.call_statistics import identity_stats
from analyzer.results.analysis import Analysis
from analyzer.results.security import Decryption
from tests.build.capture import NANO, pcap
from tests.build.capture import read as read_frames

CAPTURES = Path(__file__).parent / "captures"
KEYS = Keyring([UserKey(name, None, nt_hash("Passw0rd!")) for name in ("perfmon", "second")])


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
    assert session.decryption is Decryption.NOT_SEALED
    assert session.reason == "nothing was encrypted; the key of the session is known"


def logons(analysis: Analysis) -> list[tuple[str, str | None, str]]:
    return [(one.key, one.identity.claimed, one.outcome) for one in analysis.logons]


def test_each_logon_of_a_session_is_stated_with_what_became_of_it() -> None:
    analysis = read("renewed_by_another_smb311")
    assert logons(analysis) == [
        ("smb0", "LAB\\perfmon", "account"),
        ("smb1", "LAB\\second", "account"),
        ("smb2", "LAB\\second", "refused"),
    ]
    (session,) = analysis.sessions
    assert session.who == "LAB\\perfmon, then LAB\\second"
    # What came encrypted proves nothing by the signature inside.
    assert (session.signed_messages, session.verified_messages) == (1, 1)
    first, second, refused = analysis.logons
    assert first.frames == (8, 9, 10, 11)
    assert first.until_ns == 1795470397910184000
    assert second.first_time_ns == 1795470397903905000
    assert refused.refused == 0xC000006D
    assert {one.opened_by for one in analysis.logons} == {"NT hash of LAB\\perfmon", "NT hash of LAB\\second", None}


def test_a_call_is_of_whom_its_pipe_was_opened_as_and_says_who_was_logged_on_then() -> None:
    """The same user's pipe is used before and after another user has logged on; then that one opens a pipe of his own."""
    calls = read("renewed_by_another_smb311").calls
    assert [(call.auth.user, call.auth.logon, call.auth.later_user, call.auth.later_logon) for call in calls] == [
        ("LAB\\perfmon", "smb0", None, None),
        ("LAB\\perfmon", "smb0", None, None),
        ("LAB\\perfmon", "smb0", "LAB\\second", "smb1"),
        ("LAB\\second", "smb1", None, None),
        ("LAB\\second", "smb1", None, None),
    ]


def test_calls_are_counted_by_the_logon_and_by_who_may_have_been_served() -> None:
    found = identity_stats(read("renewed_by_another_smb311"))
    assert [(one.user, one.later_user, one.logons, one.calls) for one in found] == [
        ("LAB\\perfmon", None, ("smb0",), 2),
        ("LAB\\perfmon", "LAB\\second", ("smb0",), 1),
        ("LAB\\second", None, ("smb1",), 2),
    ]


def test_users_who_share_a_connection_are_told_apart_by_their_uid() -> None:
    analysis = read("two_users_smb1")
    assert logons(analysis) == [("smb0", "LAB\\perfmon", "account"), ("smb1", "LAB\\second", "account")]
    assert [call.auth.user for call in analysis.calls] == ["LAB\\perfmon", "LAB\\second"] * 3
    assert [call.auth.logon for call in analysis.calls] == ["smb0", "smb1"] * 3
    assert not analysis.problems


def test_a_further_connection_is_bound_by_a_logon_that_changes_nobody() -> None:
    analysis = read("bound_smb311_signed")
    assert [one for one in logons(analysis) if one[2] == "bound"]
    assert {one.identity.claimed for one in analysis.logons} == {"LAB\\perfmon"}


MULTICHANNEL = (
    "multichannel_smb300_signed",
    "multichannel_smb311_encrypted",
    "multichannel_smb311_gmac",
    "sent_again_smb311",
)


@pytest.mark.parametrize("name", MULTICHANNEL)
def test_a_pipe_that_is_used_over_two_connections_is_one_session_one_handle_and_one_series(name: str) -> None:
    analysis = read(name)
    (session,) = analysis.sessions
    assert session.signed_messages == session.verified_messages
    assert session.encrypted_messages == session.decrypted_messages
    assert logons(analysis) == [("smb0", "LAB\\perfmon", "account"), ("smb1", "LAB\\perfmon", "bound")]
    calls = list(analysis.calls)
    assert [call.opnum for call in calls] == [3, *[17] * 6, 5]
    assert {call.outcome for call in calls} == {"answered"}
    assert {(call.client, call.server, call.session, call.key_number, call.channel) for call in calls} == {
        (session.client, session.server, session.number, 1, 0)
    }
    assert {end.ip for call in calls for end in call.carriers} == {
        f"10.77.{net}.{host}" for net in (1, 2) for host in (1, 2)
    }
    records = list(counter_records(analysis, PathSelection([], {})))
    assert {record.server for record in records} == {session.server}
    assert [record.raw for record in records] == [1000, 1050, 1200, 1450, 1800, 2250]
    assert [record.value for record in records] == [None, 50, 150, 250, 350, 450]


@pytest.mark.parametrize("name", MULTICHANNEL)
def test_a_conversation_over_two_connections_has_no_finding_but_those_of_its_buffers(name: str) -> None:
    """TotalByteLength of smbd leaves out the header of PERF_DATA_BLOCK."""
    assert {finding.rule.code for finding in Audit(read(name)).findings()} == {"PCQ805"}


def test_what_was_sent_again_over_another_connection_is_noted_with_both_frames() -> None:
    (note,) = read("sent_again_smb311").problems
    assert (note.kind, note.frames) == ("note", (47, 50))


def test_smbd_does_not_make_a_pipe_durable() -> None:
    """[MS-SMB2] 3.3.5.9.10: without the oplock there is no durability; the pipe ends with its connection."""
    analysis = read("durable_refused_smb311")
    assert len(analysis.sessions) == 1
    assert [call.outcome for call in analysis.calls] == ["answered"] * 8


NO_AUTH = Path(__file__).parents[3] / "captures" / "v1_samba_impacket_smb311_noauth.pcap"
SECRETS = NO_AUTH.with_suffix(".secrets.json")


@pytest.mark.parametrize(("frame", "at"), [(8, 150), (9, 200), (9, 316), (12, 218)])
def test_a_damaged_setup_calls_no_message_of_its_session_wrong(frame: int, at: int, tmp_path: Path) -> None:
    """Negotiation and setup are part of the key of SMB 3.1.1: with one wrong bit there, no signature fits a key of the capture."""
    frames = [(one.time_ns, bytes(one.data)) for one in read_frames(NO_AUTH)[0]]
    time_ns, data = frames[frame - 1]
    frames[frame - 1] = time_ns, data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    written = tmp_path / "damaged.pcap"
    written.write_bytes(pcap(frames, magic=NANO))
    analysis = analyze([written], Keyring.load(SECRETS))
    calls = list(analysis.calls)
    assert len(calls) == 15
    assert {call.smb.signature_ok for call in calls if call.smb is not None} == {None}
    (text,) = (problem.text for problem in analysis.problems if "signature" in problem.text)
    assert text.endswith("may be damaged, so nothing is said of these signatures")

"""What a logon claimed and what the server granted: guests, null sessions, refusals ([MS-SMB2] section 2.2.6, [MS-CIFS] section
2.2.4.53.2)."""

import struct
from pathlib import Path

import pytest
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring, UserKey
from analyzer.auth.ntlm_keys import nt_hash
from analyzer.interfaces.call_contents.call_records import call_record
from analyzer.interfaces.call_contents.client_programs import client_programs
from analyzer.interfaces.call_contents.session_records import session_record
from analyzer.pipeline.run import analyze
from analyzer.questions.filters.call_selection import Selection
from analyzer.questions.filters.times_machines_and_users import Account
from analyzer.questions.observations.triage_records import triage
from analyzer.questions.statistics.call_statistics import identity_stats, who_of
from analyzer.questions.statistics.hosts import host_records
from analyzer.results.analysis import Analysis
from analyzer.results.records.statistics import Who
from analyzer.results.security import ANONYMOUS_LOGON, AuthInfo, Decryption, Identity
from analyzer.screens.viewmodel.session_words import session_words
from analyzer.screens.viewmodel.unread import decrypted_by_account
from analyzer.screens.views.exported_entries import entries
from analyzer.screens.views.sessions_and_hosts import Sessions
from analyzer.screens.views.timeline import Timeline
from tests.build import auth
from tests.build.calls import analysis_of
from tests.build.smb import (
    MORE_PROCESSING,
    NEGOTIATE,
    SETUP,
    Talk,
    negotiate_request,
    setup_request,
    setup_response,
    stream,
)
from tests.screens.formats.test_log_lines import document_of
from tests.transport.smb.run import run, session_of

MALLORY = "LAB\\mallory"


def read(name: str, *keyring: Keyring) -> Analysis:
    return analyze([str(Path(__file__).parent / "captures" / f"{name}.pcap")], *keyring)


@pytest.mark.parametrize("name", ["guest_smb21", "guest_smb1"])
def test_a_guest_is_not_shown_as_the_account_that_was_claimed(name: str) -> None:
    analysis = read(name)
    (session,) = analysis.sessions
    record = session_record(session, analysis.capture, client_programs(analysis))
    assert (record.user, record.claimed_user, record.granted, record.user_source) == (
        "guest",
        MALLORY,
        "guest",
        "answer",
    )
    assert session_words(session).startswith(
        f"session {session.session_id:#x}: guest (claimed to be {MALLORY}) at 127.0.0.1:"
    )
    assert len(analysis.calls) == 4
    for call in analysis.calls:
        facts = call_record(call, analysis).auth
        assert (facts.user, facts.claimed_user, facts.guest, facts.anonymous) == ("guest", MALLORY, True, False)
        assert who_of(call) == ("guest", "127.0.0.1", "127.0.0.1", MALLORY, None)
    (identity,) = identity_stats(analysis)
    assert (identity.user, identity.claimed_user, identity.calls) == ("guest", MALLORY, 4)
    (host,) = host_records(analysis)
    assert (host.users, [(one.user, one.outcome) for one in host.claims]) == (("guest",), [(MALLORY, "guest")])


@pytest.mark.parametrize("name", ["guest_smb21", "guest_smb1"])
def test_triage_names_a_guest_and_whom_it_claimed_to_be(name: str) -> None:
    found = [one for one in triage(read(name), name, None).findings if one.kind == "guest"]
    assert [(one.severity, one.count, one.who) for one in found] == [
        ("high", 4, Who("guest", "127.0.0.1", "127.0.0.1", MALLORY, None))
    ]
    assert found[0].text.endswith(f"of a guest at FILESRV (127.0.0.1), who claimed to be {MALLORY}")


@pytest.mark.parametrize("wanted", ["guest", "mallory", MALLORY])
def test_a_guest_is_found_by_both_names(wanted: str) -> None:
    analysis = read("guest_smb21")
    shown = Selection(users=(Account(wanted),)).selected_analysis(analysis)
    assert (len(shown.shown), len(shown.shown_sessions)) == (4, 1)


def test_one_who_claims_the_same_name_by_rpc_stays_the_guest() -> None:
    analysis = read("guest_smb21_rpc_privacy", Keyring([UserKey("somebody", "LAB", nt_hash("Winter"), "Winter")]))
    (call,) = analysis.calls
    assert (call.auth.user, call.auth.user_from, call.auth.claimed_user) == ("guest", "smb", MALLORY)
    assert analysis.secrets_given
    assert list(decrypted_by_account(analysis)) == []


def test_another_name_that_was_claimed_by_rpc_is_the_callers() -> None:
    guest = Identity("ntlm", "mallory", "LAB", granted="guest")
    mine, another = Identity("ntlm", "mallory", "LAB"), Identity("ntlm", "perfmon", "LAB")
    info = AuthInfo(10, 6, "ntlm", mine, Decryption.DECRYPTED, None, None)
    assert info.caller(guest) is guest
    assert replace(info, verified=True).caller(guest) is guest
    assert info.caller(replace(guest, granted="account")) is mine
    assert replace(info, identity=another).caller(guest) is another
    assert replace(info, identity=Identity("ntlm")).caller(guest) is None


@pytest.mark.parametrize(("name", "count"), [("refused_smb311", 1), ("refused_smb1", 2)])
def test_a_refused_logon_is_nobodys_session(name: str, count: int) -> None:
    analysis = read(name)
    assert [(one.refused, one.identity.granted) for one in analysis.sessions] == [(0xC000006D, None)] * count
    (host,) = host_records(analysis)
    assert (host.users, [(one.user, one.outcome) for one in host.claims]) == ((), [("LAB\\perfmon", "refused")])


def test_a_null_session_is_one_though_no_flag_says_so() -> None:
    (session,) = read("null_smb311").sessions
    identity = session.identity
    assert (identity.account, identity.granted, identity.claimed_otherwise) == (ANONYMOUS_LOGON, "anonymous", None)


TOKENS = auth.ntlm_handshake("perfmon", "LAB", "secret").tokens


def logon(flags: int, *, answered: bool = True) -> Talk:
    talk = Talk(0x0210)
    talk.answer(talk.ask(NEGOTIATE, negotiate_request(), session=0), NEGOTIATE, talk._answer(), session=0)
    number = talk.ask(SETUP, setup_request(TOKENS[0]), session=0)
    talk.answer(number, SETUP, setup_response(TOKENS[1]), status=MORE_PROCESSING)
    number = talk.ask(SETUP, setup_request(TOKENS[2]))
    if answered:
        talk.answer(number, SETUP, struct.pack("<HHHH", 9, flags, 72, 0))
    return talk


@pytest.mark.parametrize(
    ("flags", "granted", "account", "claimed"),
    [
        (0x0000, "account", "LAB\\perfmon", None),
        (0x0001, "guest", "guest", "LAB\\perfmon"),
        (0x0002, "anonymous", ANONYMOUS_LOGON, "LAB\\perfmon"),
        (0x0004, "account", "LAB\\perfmon", None),
        (0x0005, "guest", "guest", "LAB\\perfmon"),
    ],
)
def test_the_flags_of_the_answer_say_what_was_granted(
    flags: int, granted: str, account: str, claimed: str | None
) -> None:
    identity = session_of(run(stream(logon(flags).sent))).identity
    assert (identity.granted, identity.account, identity.claimed_otherwise) == (granted, account, claimed)
    assert identity.is_anonymous is (granted == "anonymous")


def test_a_logon_without_a_captured_answer_was_granted_nothing_as_far_as_is_known() -> None:
    session = session_of(run(stream(logon(0, answered=False).sent)))
    assert (session.identity.granted, session.refused) == (None, None)
    assert "the answer to the logon was not captured" in session_words(session)


def test_a_guest_of_a_renewed_session_stays_the_guest() -> None:
    talk = logon(0x0001)
    number = talk.ask(SETUP, setup_request(TOKENS[0]))
    talk.answer(number, SETUP, setup_response(TOKENS[1]), status=MORE_PROCESSING)
    talk.answer(talk.ask(SETUP, setup_request(TOKENS[2])), SETUP, struct.pack("<HHHH", 9, 0, 72, 0))
    assert session_of(run(stream(talk.sent))).identity.granted == "guest"


def test_events_for_other_programs_say_who_was_let_in() -> None:
    (guest,) = entries(Sessions(read("guest_smb21")))
    assert (guest.user, guest.ending, guest.record["claimed_user"]) == ("guest", "success", MALLORY)
    assert guest.message.startswith(f"guest (claimed to be {MALLORY}) at 127.0.0.1:59602 was let in as a guest at ")
    assert document_of(guest)["related"]["user"] == ["guest", MALLORY]
    calls = list(entries(Timeline(read("guest_smb21"))))
    assert {(one.user, document_of(one)["user"]["name"]) for one in calls} == {("guest", "guest")}
    assert {tuple(document_of(one)["related"]["user"]) for one in calls} == {("guest", MALLORY)}


def test_an_event_of_an_unanswered_logon_is_no_success() -> None:
    session = session_of(run(stream(logon(0, answered=False).sent)))
    (event,) = entries(Sessions(analysis_of(session)))
    assert event.ending == "unknown"
    assert event.message.startswith("LAB\\perfmon at 10.0.0.2:49152 asked to be logged on at ")

"""Who took part, by address: roles, users and systems of every session and call."""

from __future__ import annotations

from msgspec.structs import replace

from analyzer.questions.statistics.decryption import Decrypted, decrypted_by_account
from analyzer.questions.statistics.hosts import host_records
from analyzer.results.analysis import Part
from analyzer.results.capture_facts import HostMark, HostName, HostRecord
from analyzer.results.record import Endpoint
from analyzer.results.security import AuthLevel, Decryption, Identity
from tests.build.calls import Calls, analysis_of, smb_session
from tests.questions.statistics.test_summary import as_user

WHO = Identity("ntlm", "me", "LAB", os_version="10.0.1", client_os_version="10.0.2")


def test_users_are_those_with_a_name() -> None:
    """Neither of a null session nor of one of whom nothing is known."""
    sessions = [
        replace(smb_session(1), identity=replace(identity, granted="account"))
        for identity in (WHO, Identity("ntlm"), Identity("ntlm", "odd", is_anonymous=True), replace(WHO, user="other"))
    ]
    assert list(host_records(analysis_of(*sessions))) == [
        HostRecord(
            ip="10.0.0.1",
            roles=("SMB server",),
            names=(),
            users=(),
            claims=(),
            os_versions=("10.0.1",),
            dialects=("3.1.1",),
            machine=1,
            first_time_ns=1,
            last_time_ns=1,
            marks=(HostMark(kind="server OS version", value="10.0.1", frames=(1,)),),
        ),
        HostRecord(
            ip="10.0.0.2",
            roles=("SMB client",),
            names=(),
            users=("LAB\\me", "LAB\\other"),
            claims=(),
            os_versions=("10.0.2",),
            dialects=(),
            machine=2,
            first_time_ns=1,
            last_time_ns=1,
            marks=(HostMark(kind="client OS version", value="10.0.2", frames=(1,)),),
        ),
    ]


def test_an_address_may_be_both_and_they_come_in_order() -> None:
    ends = Endpoint("10.0.0.1", 50000), Endpoint("10.0.0.10", 445)
    sessions = [smb_session(1), replace(smb_session(2), client=ends[0], server=ends[1], dialect=None)]
    call = as_user(Calls().open_query(), "LAB\\one")
    found = list(host_records(analysis_of(*sessions, call)))
    assert [(one.ip, one.roles, one.dialects, one.users) for one in found] == [
        ("10.0.0.1", ("SMB server", "SMB client", "DCERPC server"), ("3.1.1",), ("user2",)),
        ("10.0.0.10", ("SMB server",), (), ()),
        ("10.0.0.2", ("SMB client", "DCERPC client"), (), ("user1", "LAB\\one")),
    ]
    assert found[0].names == (HostName("SRV1", "szMachine of a PerflibV2 call"),)


def test_of_a_part_only_those_who_took_part_in_it() -> None:
    analysis = analysis_of(Calls().open_query(), smb_session(1))
    named = replace(analysis, capture=replace(analysis.capture, names={"10.9.9.9": "elsewhere"}))
    assert [one.ip for one in host_records(named)] == ["10.0.0.1", "10.0.0.2", "10.9.9.9"]
    assert [one.ip for one in host_records(replace(named, part=Part((), (), "none")))] == []
    part = Part((1,), (), "one")
    assert [one.roles for one in host_records(replace(named, part=part))] == [("DCERPC server",), ("DCERPC client",)]


def test_keys_are_counted_for_what_they_were_tried_on() -> None:
    def with_level(level: int, number: int, decryption: Decryption) -> object:
        call = as_user(Calls(first_frame=10 * number).open_query(), "LAB\\one")
        auth = replace(call.auth, level=level, decryption=decryption)
        return replace(call, auth=auth, channel=replace(call.channel, number=number))

    levels = [
        with_level(AuthLevel.CALL, 1, Decryption.DECRYPTED),
        with_level(AuthLevel.PKT, 2, Decryption.DECRYPTED),
        with_level(AuthLevel.PRIVACY, 3, Decryption.NO_KEY),
    ]
    sessions = [
        replace(smb_session(1), decryption=Decryption.DECRYPTED),
        smb_session(2, 5),
        smb_session(3, anonymous=True),
        replace(smb_session(4), identity=Identity("ntlm")),
        replace(smb_session(5), identity=Identity("ntlm", "user1"), decryption=Decryption.WRONG_KEY),
    ]
    analysis = analysis_of(*levels, *sessions)  # type: ignore[arg-type]
    assert list(decrypted_by_account(replace(analysis, secrets_given=True))) == [
        Decrypted("user1", "SMB sessions", 1, 2),
        Decrypted("LAB\\one", "RPC security contexts", 1, 2),
    ]
    assert list(decrypted_by_account(analysis)) == []

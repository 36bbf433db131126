"""What only the whole capture states: the order of calls, whose keys opened what, and the names of machines."""

from msgspec.structs import replace

from analyzer.interfaces.calls_from_exchanges import plain_call
from analyzer.interfaces.resolution.whole_capture_resolution import call_order, mark_late_logons
from analyzer.results.calls.call_table import CallTable
from analyzer.results.connection import LateLogon, SmbSession
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import Decryption, Identity
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.calls import CHANNEL, NO_SECURITY, Calls, analysis_of, smb_session

WHO = Identity(
    mechanism="ntlm",
    user="perfmon",
    domain="LAB",
    workstation="CLIENT7",
    server_name="SRV1",
    server_dns_name="srv1.lab.test",
    os_version="10.0.20348",
    client_os_version="10.0.19041",
    granted="account",
)


def session(number: int = 0, *, decryption: Decryption = Decryption.DECRYPTED, identity: Identity = WHO) -> SmbSession:
    named = (("10.0.0.1", "FILESRV", "tree path"),)
    return replace(
        smb_session(number),
        session_id=0x1D,
        client=Endpoint("10.0.0.2", 49152),
        decryption=decryption,
        first_time_ns=1,
        last_time_ns=2,
        frames=(1, 2),
        identity=identity,
        hosts=named,
    )


def as_user(
    exchange: Exchange,
    decryption: Decryption = Decryption.DECRYPTED,
    *,
    level: int = 6,
    identity: Identity | None = WHO,
) -> Exchange:
    return replace(
        exchange, auth=replace(NO_SECURITY, level=level, mechanism="ntlm", identity=identity, decryption=decryption)
    )


def test_calls_stand_in_the_order_of_their_requests() -> None:
    make = Calls()
    first, second, third = make.open_query(), make.open_query(), make.exchange(None, None, b"abc")
    analysis = analysis_of(third, second, first)
    assert [call.call_id for call in analysis.calls] == [first.call_id, second.call_id, third.call_id]
    assert [call.number for call in analysis.calls] == [1, 2, 3]


def test_of_requests_of_one_moment_the_frames_decide() -> None:
    make = Calls()
    made = [make.open_query() for _ in range(3)]
    asked = [exchange.request for exchange in made]
    same = [replace(one, request=replace(side, first_time_ns=7)) for one, side in zip(made, asked, strict=True) if side]
    writer = CallTable()
    for exchange in reversed(same):
        writer.append(plain_call(exchange))
    assert list(call_order(writer, [0, 1, 2])) == [2, 1, 0]
    assert list(call_order(writer, [2, 1, 0])) == [2, 1, 0]


def test_a_late_logon_is_of_its_session_and_not_of_calls_over_tcp() -> None:
    over_tcp = replace(CHANNEL, number=9, session=None)
    table = CallTable()
    for exchange in (Calls(channel=over_tcp).open_query(), Calls().open_query()):
        table.append(plain_call(exchange))
    assert CHANNEL.session is not None
    late = LateLogon(CHANNEL.session, 3, WHO, 0, table[1].time_ns)
    taken = mark_late_logons(table, [0, 1], [late])
    assert [table[at].auth.later_user for at in taken] == [None, WHO.account]


def test_a_call_of_a_foreign_interface_has_names_and_what_it_returned() -> None:
    exchange = Calls("4b324fc8-1670-01d3-1278-5a47bf6ee188").exchange(15, b"abcd", b"\0\0\0\0")
    call = plain_call(replace(exchange, version=(3, 0)))
    assert (call.interface.name, call.method, call.status) == ("srvsvc", "NetrShareEnum", 0)
    unknown = plain_call(replace(exchange, interface=None, version=None, opnum=None))
    assert (unknown.interface.name, unknown.method, unknown.status) == (None, None, None)

"""Rules about what protects calls: levels, services, security trailers, impersonation, rights."""

from collections.abc import Iterator
from struct import pack
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.questions.audit.audit_engine import Profile
from analyzer.questions.audit.rules.security import CODE_OF_METHOD
from analyzer.results.security import AuthInfo, AuthLevel, Decryption, Identity
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.calls import Calls, sealed
from tests.build.rpc import CHANNEL
from tests.questions.audit.judging import Case, by_name, holds, judged
from tests.questions.audit.methods import TRAILER, call, patched, request

CONNECT = AuthInfo(10, AuthLevel.CONNECT, "ntlm", None, Decryption.NOT_SEALED, None, None)


def opened(level: int = AuthLevel.PRIVACY, **options: Any) -> Exchange:
    return Calls(level=level, **options).open_query()


def with_request(at: int, value: bytes) -> Exchange:
    made = opened()
    return replace(made, request=patched(made.request, at, value))


def with_response(at: int, value: bytes) -> Exchange:
    made: Any = opened()
    return replace(made, response=patched(made.response, len(made.response.pdus[0].pdu) + at, value))


def cut(**facts: Any) -> Exchange:
    """A call whose request ends before its trailer."""
    made: Any = opened()
    fragment = made.request.pdus[0]
    return replace(made, request=replace(made.request, pdus=(replace(fragment, pdu=fragment.pdu[:40]),)), **facts)


def answered(opnum: int, level: int = AuthLevel.NONE, *, status: int = 0, fault: int | None = None) -> Exchange:
    calls = Calls(level=level)
    return call(opnum, calls, status=status) if fault is None else calls.faulted(opnum, request(calls, opnum), fault)


def in_clear(fault: int | None = None) -> Exchange:
    """A sealed request whose answer is not."""
    return replace(answered(6, AuthLevel.PRIVACY), response=answered(6, fault=fault).response, fault=fault)


def of(allows: str | None, *, status: int = 0, mechanism: str = "ntlm") -> Exchange:
    """A sealed call of somebody who allows this much."""
    identity = Identity(mechanism, allows=allows)
    auth = AuthInfo(10, AuthLevel.PRIVACY, mechanism, identity, Decryption.DECRYPTED, True, True)
    return replace(call(6, Calls(level=AuthLevel.PRIVACY), status=status), auth=auth)


def over(level: int | None, *, fault: int | None = None, needed: int | None = None) -> Exchange:
    """A call without security of RPC, over a pipe that was opened at this level."""
    calls = Calls(channel=replace(CHANNEL, impersonation=level))
    if fault is not None:
        return calls.faulted(6, request(calls, 6), fault)
    if needed is not None:
        return calls.exchange(6, request(calls, 6), calls.sized(b"", 8, needed=needed, room=64))
    return call(6, calls)


def of_levels() -> Iterator[Case]:
    yield "PCQ101", "PKT is below privacy", "fail", [opened(AuthLevel.PKT)]
    yield "PCQ101", "INTEGRITY is below privacy", "fail", [opened(AuthLevel.INTEGRITY)]
    yield "PCQ101", "no trailer shows at auth_length", "fail", [Calls().open_query()]
    yield "PCQ101", "at CONNECT only the bind was authenticated", "fail", [replace(Calls().open_query(), auth=CONNECT)]
    yield "PCQ101", "sealed requests are accepted, opened or not", "pass", [opened(), sealed(answered(6, 6))]
    yield "PCQ101", "a request that ends before its trailer proves nothing", "inconclusive", [cut()]
    for opnum in CODE_OF_METHOD:
        made = [answered(opnum, AuthLevel.INTEGRITY)]
        yield "PCQ102", f"opnum {opnum} served a request that was not sealed", "fail", made
        yield "PCQ102", f"5 refuses opnum {opnum}", "pass", [answered(opnum, 5, status=5)]
        yield "PCQ102", f"a fault refuses opnum {opnum}", "pass", [answered(opnum, 5, fault=5)]
    yield "PCQ102", "another error says that the request was looked at", "fail", [answered(0, status=8)]
    yield "PCQ102", "a fault for another reason says nothing of the code", "pass", [answered(6, fault=0x1C00001A)]
    yield "PCQ102", "a sealed request may be answered", "not-exercised", [answered(3, AuthLevel.PRIVACY)]
    yield "PCQ102", "a response in clear to a sealed request", "fail", [in_clear()]
    yield "PCQ102", "a fault in clear has nothing to hide", "not-exercised", [in_clear(0x1C00001A)]
    made = [replace(answered(3), response=None, state="request-only")]
    yield "PCQ102", "a lost answer proves nothing", "inconclusive", made
    yield "PCQ102", "a request that ends before its trailer proves nothing", "inconclusive", [cut()]


def of_services() -> Iterator[Case]:
    yield "PCQ103", "a request that ends before its trailer proves nothing", "inconclusive", [cut()]
    yield "PCQ103", "SPNEGO is accepted", "pass", [opened(auth_type=9)]
    yield "PCQ103", "NTLM is accepted", "pass", [opened(auth_type=10)]
    yield "PCQ103", "14 is another service", "fail", [opened(auth_type=14)]
    yield "PCQ103", "68 is another service", "fail", [opened(auth_type=68)]
    yield "PCQ103", "no authentication", "fail", [Calls().open_query()]
    yield "PCQ103", "at CONNECT the service is that of the bind", "pass", [replace(Calls().open_query(), auth=CONNECT)]
    made = [replace(opened(5), request=None, opnum=None, state="response-only")]
    yield "PCQ103", "an answer alone says nothing of the client", "inconclusive", made
    yield "PCQ105", "trailers that agree", "pass", [opened()]
    yield "PCQ105", "another context in the answer", "fail", [with_response(-20, pack("<I", 7))]
    yield "PCQ105", "more padding than there are bytes", "fail", [with_request(TRAILER + 2, b"\x28")]
    # A signature that is a byte longer makes the trailer begin a byte earlier.
    yield "PCQ105", "a trailer off its alignment", "fail", [with_request(10, pack("<H", 17))]
    yield "PCQ105", "calls without trailers have nothing to judge", "not-exercised", [Calls().open_query()]
    yield "PCQ105", "a PDU that was cut proves nothing", "inconclusive", [cut(response=None)]


def of_impersonation() -> Iterator[Case]:
    yield "PCQ106", "impersonation by NTLM", "pass", [of("impersonation")]
    yield "PCQ106", "impersonation over the pipe", "pass", [over(2)]
    yield "PCQ106", "delegation over the pipe", "pass", [over(3)]
    yield "PCQ106", "a refusal of an anonymous client", "pass", [of("nothing", status=5)]
    yield "PCQ106", "a fault is a refusal too", "pass", [over(1, fault=5)]
    yield "PCQ106", "an anonymous client is served", "fail", [of("nothing")]
    yield "PCQ106", "a client that allows identification is served", "fail", [of("identification")]
    yield "PCQ106", "an anonymous pipe is served", "fail", [over(0)]
    yield "PCQ106", "a pipe for identification is served", "fail", [over(1)]
    yield "PCQ106", "a size that is stated is served as well", "fail", [over(0, needed=4096)]
    yield "PCQ106", "8 without a size is a refusal", "pass", [over(0, needed=0)]
    yield "PCQ106", "what Kerberos allows is sealed", "inconclusive", [of(None, mechanism="krb5")]
    yield "PCQ106", "the level of a pipe may be missed", "inconclusive", [over(None)]
    yield "PCQ130", "5 to a sealed request informs", "pass", [answered(0, AuthLevel.PRIVACY, status=5)]
    yield "PCQ130", "a fault may refuse as well", "pass", [answered(6, AuthLevel.PRIVACY, fault=5)]
    made = [answered(0, AuthLevel.PRIVACY), answered(6, AuthLevel.PRIVACY, status=8)]
    yield "PCQ130", "any other answer is accepted", "pass", made
    yield "PCQ130", "below privacy 5 has another meaning", "not-exercised", [answered(0, status=5)]


@pytest.mark.parametrize("case", [*of_levels(), *of_services(), *of_impersonation()], ids=by_name)
def test_what_protects_calls(case: Case) -> None:
    holds(case)


@pytest.mark.parametrize(("profile", "verdict"), [(Profile.SPEC, "fail"), (Profile.WINDOWS, "pass")])
def test_kerberos_named_directly_is_against_the_letter_only(profile: Profile, verdict: str) -> None:
    assert judged("PCQ103", opened(auth_type=16), profile=profile).verdict("PCQ-2.1-R03") == verdict

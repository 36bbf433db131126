"""Which accounts and groups calls of samr and lsarpc are about: as their requests name them, or the calls that opened them."""

import pytest
from impacket.dcerpc.v5 import lsat, samr

from analyzer.questions.observations.admin_observations import LSARPC, SAMR
from analyzer.questions.observations.observation_making import Scene
from analyzer.questions.observations.observations import observations
from analyzer.results.records.observation import Observation
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.calls import Calls, altered, analysis_of

DOMAIN, USER = b"\1" * 20, b"\2" * 20
DONE = bytes(4)


def names_request(*names: str) -> bytes:
    """The request of SamrLookupNamesInDomain as impacket writes it."""
    request = samr.SamrLookupNamesInDomain()
    names = names or ("ann", "Domain Users")
    request["DomainHandle"], request["Count"] = DOMAIN, len(names)
    for name in names:
        entry = samr.RPC_UNICODE_STRING()
        entry["Data"] = name
        request["Names"].append(entry)
    request.fields["Names"].fields["MaximumCount"] = 1000
    return bytes(request.getData())


def lsa_request() -> bytes:
    """That of LsarLookupNames3."""
    request = lsat.LsarLookupNames3()
    request["PolicyHandle"], request["Count"] = DOMAIN, 1
    entry = lsat.RPC_UNICODE_STRING()
    entry["Data"] = "LAB\\ann"
    request["Names"].append(entry)
    request["TranslatedSids"]["Sids"] = lsat.NULL
    request["LookupLevel"], request["LookupOptions"], request["ClientRevision"] = 1, 0, 2
    return bytes(request.getData())


def found(*exchanges: Exchange) -> list[Observation]:
    return list(observations(Scene(analysis_of(*exchanges)), "made.pcap"))


def test_names_that_are_looked_up_are_what_it_is_about() -> None:
    (one,) = found(Calls(SAMR).exchange(17, names_request(), bytes(32)))
    assert (one.kind, one.severity, one.objects) == ("account-query", "info", ("ann, Domain Users",))
    # nmap counts the NUL behind a name with it.
    (one,) = found(Calls(SAMR).exchange(17, names_request("LAB\0"), bytes(32)))
    assert one.objects == ("LAB",)
    (one,) = found(Calls(LSARPC).exchange(68, lsa_request(), bytes(32)))
    assert (one.kind, one.objects) == ("account-query", ("LAB\\ann",))


@pytest.mark.parametrize("ndr64", [False, True])
def test_a_handle_stands_for_the_account_that_it_was_opened_for(ndr64: bool) -> None:
    make = Calls(SAMR, ndr64=ndr64)
    opened = make.exchange(34, DOMAIN + bytes(4) + (1110).to_bytes(4, "little"), USER + DONE)
    asked = make.exchange(36, USER + b"\x15\0\0\0", bytes(32))
    other = make.exchange(36, b"\3" * 20 + b"\x15\0\0\0", bytes(32))
    (seen,) = [one for one in found(opened, asked, other) if one.kind == "account-query"]
    assert (seen.objects, seen.count) == (("RID 1110",), 2)
    assert "looked up accounts or groups (RID 1110) of" in seen.text


def test_an_id_goes_by_the_name_that_the_server_gave_it_for() -> None:
    make = Calls(SAMR)
    ids = [2, 0x20000, 2, 1110, 513]
    looked_up = make.exchange(17, names_request(), b"".join(one.to_bytes(4, "little") for one in ids) + bytes(24))
    opened = make.exchange(34, DOMAIN + bytes(4) + (1110).to_bytes(4, "little"), USER + DONE)
    deleted = make.exchange(35, USER, bytes(20) + DONE)
    (seen,) = [one for one in found(looked_up, opened, deleted) if one.kind == "account-change"]
    assert (seen.objects, seen.detail, seen.severity) == (("ann",), "by SamrDeleteUser", "high")


def test_nothing_is_named_by_what_others_may_have_changed() -> None:
    make = Calls(SAMR)
    ids = [2, 0x20000, 2, 1110, 513]
    looked_up = make.exchange(17, names_request(), b"".join(one.to_bytes(4, "little") for one in ids) + bytes(24))
    opened = make.exchange(34, DOMAIN + bytes(4) + (1110).to_bytes(4, "little"), USER + DONE)
    deleted = make.exchange(35, USER, bytes(20) + DONE)
    for given, objects in (([altered(looked_up), opened], ("RID 1110",)), ([looked_up, altered(opened)], ())):
        (seen,) = [one for one in found(*given, deleted) if one.kind == "account-change"]
        assert seen.objects == objects


@pytest.mark.parametrize("stub", [b"", DOMAIN, DOMAIN + b"\xff" * 16, names_request()[:-3]])
def test_a_stub_that_does_not_decode_names_nothing(stub: bytes) -> None:
    (one,) = found(Calls(SAMR).exchange(17, stub, bytes(32)))
    assert (one.kind, one.objects) == ("account-query", ())

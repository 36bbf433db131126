"""The layer of `--redact`: events in, the same without names out, and of PDUs only what names nobody."""

from array import array

import pytest
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.events import Problem
from analyzer.core.traced_bytes import TracedBytes
from analyzer.interfaces.buffers.stub_decoding import decode_stub
from analyzer.interfaces.redaction.pseudonyms import Pseudonyms
from analyzer.interfaces.redaction.redactor import _NAMES_OF_IDENTITY as NAMES
from analyzer.interfaces.redaction.redactor import Redactor, redacted_metadata, without_names
from analyzer.results.calls.call import Side
from analyzer.results.calls.pdus import Fragment, Pdus
from analyzer.results.connection import SmbSession
from analyzer.results.methods.scmr import INTERFACE
from analyzer.results.records.record_types import Endpoint
from analyzer.results.reported_names.counterset_catalog import Catalog
from analyzer.results.reported_names.saved_metadata import Metadata, ServerMetadata
from analyzer.results.security import AuthLevel
from analyzer.transport.channel.channels import SmbInfo
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.calls import Calls, analysis_of
from tests.interfaces.resolution.test_order_of_calls import WHO, session
from tests.interfaces.svcctl.test_service_layer import CREATE, HANDLE

UNKNOWN = "12345678-1234-1234-1234-1234567890ab"
STUB = b"LAB\\alice asks.." * 2


def redacted(exchange: Exchange) -> Exchange:
    (event,) = Redactor(Pseudonyms(b"k")).feed(exchange)
    assert isinstance(event, Exchange)
    return event


def side_of(side: Side | None) -> Side:
    assert side is not None
    return side


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize("stub", [STUB, STUB[:-5]], ids=["without padding", "with padding"])
def test_of_a_pdu_stay_its_header_and_the_head_of_its_security_trailer(stub: bytes, big_endian: bool) -> None:
    """The stub of an unknown interface, padding and authentication token become zeros ([MS-RPCE] section 2.2.2.11)."""
    calls = Calls(UNKNOWN, level=AuthLevel.PRIVACY, big_endian=big_endian)
    # With the fourth call, no byte of the call id is zero by chance.
    calls.call_id = 0x01010101
    exchange = calls.exchange(7, stub, stub)
    made = redacted(exchange)
    for before, after in ((exchange.request, made.request), (exchange.response, made.response)):
        (old,), (new,) = side_of(before).pdus, side_of(after).pdus
        raw = old.pdu.data
        zeros = bytes(32)
        assert new.pdu.data == raw[:24] + zeros + raw[56:64] + bytes(16)
        assert raw[56:64] != bytes(8)
        assert isinstance(new.plain, TracedBytes)
        assert new.plain.data == bytes(len(stub))
        assert new.pdu.frames == old.pdu.frames


def test_a_side_that_is_not_there_stays_so() -> None:
    alone = redacted(Calls(UNKNOWN).exchange(7, None, STUB))
    assert alone.request is None
    sealed = side_of(redacted(Calls(UNKNOWN).exchange(7, Missing.SEALED, STUB)).request)
    assert sealed.missing is Missing.SEALED
    assert sealed.pdus[0].pdu.data[24:] == bytes(32)


@pytest.mark.parametrize("joined", [False, True])
def test_a_stub_in_pieces_is_the_redacted_stub_in_pieces(joined: bool) -> None:
    exchange = Calls(INTERFACE).exchange(12, bytes.fromhex(CREATE), bytes.fromhex("00000000" + HANDLE + "31040000"))
    whole = redacted(exchange)
    request = side_of(exchange.request)
    (one,) = request.pdus
    head, stub = one.pdu.data[:24], one.pdu.data[24:]
    parts = [stub[:100], stub[100:107], stub[107:]]
    source = TracedBytes.of_frame(b"".join(head + part for part in parts), 1, 100, 1)
    pieces, at = [], 0
    for part in parts:
        pdu = source[at : at + 24 + len(part)]
        pieces.append(Fragment(pdu, 24, 24 + len(part), pdu[24:]))
        at += 24 + len(part)
    bounds = array("I", [number for piece in pieces for number in (piece.stub_start, piece.stub_stop)])
    lengths = [len(piece.pdu) for piece in pieces]
    pdus = Pdus.from_lengths(source, lengths, bounds, (None,) * 3, "") if joined else tuple(pieces)
    made = side_of(redacted(replace(exchange, request=replace(request, pdus=pdus))).request)
    assert [len(piece.pdu) for piece in made.pdus] == lengths
    assert [piece.pdu.data[:24] for piece in made.pdus] == [head] * 3
    assert b"".join(piece.pdu.data[24:] for piece in made.pdus) == side_of(whole.request).pdus[0].pdu.data[24:]
    assert decode_stub("svcctl", 12, "request", made.stub.data).params["dwStartType"] == 3


def test_of_pieces_that_were_decrypted_in_part_the_others_stay_sealed_or_in_clear() -> None:
    exchange = Calls(UNKNOWN).exchange(7, STUB, STUB)
    head = side_of(exchange.request).pdus[0].pdu.data[:24]
    source = TracedBytes.of_frame((head + bytes(16)) * 3, 1, 100, 1)
    pdus = Pdus.from_lengths(source, (40,) * 3, array("I", (24, 40) * 3), (STUB[:16], Missing.SEALED, None), "a key")
    request = replace(side_of(exchange.request), pdus=pdus, missing=Missing.SEALED, stub_length=0)
    made = side_of(redacted(replace(exchange, request=request)).request)
    opened, sealed, clear = (piece.plain for piece in made.pdus)
    assert isinstance(opened, TracedBytes)
    assert isinstance(clear, TracedBytes)
    assert (opened.data, clear.data) == (bytes(16), bytes(16))
    assert (opened.steps, clear.steps) == (("a key",), ())
    assert sealed is Missing.SEALED
    assert made.stub_length == 0


def test_sentences_of_problems_and_sessions_are_looked_through_when_all_names_are_known() -> None:
    names = Pseudonyms(b"k")
    sessions = session(), replace(session(1), reason="no key for perfmon")
    analysis = replace(
        analysis_of(),
        problems=(Problem("note", "smb", (1,), "perfmon at 10.0.0.1 asked"),),
        sessions=sessions,
        capture=replace(analysis_of().capture, names={"10.0.0.1": "srv"}),
    )
    user, address = names.name("perfmon"), names.address("10.0.0.1")
    made = without_names(analysis, names)
    assert [one.reason for one in made.sessions] == [None, f"no key for {user}"]
    assert [one.text for one in made.problems] == [f"{user} at {address} asked"]
    assert made.capture.names == {address: names.name("srv")}


def test_the_ends_of_a_connection_lose_their_address_and_keep_their_port() -> None:
    names = Pseudonyms(b"k")
    exchange = Calls(UNKNOWN).exchange(7, STUB, STUB)
    ends = Endpoint("10.0.0.3", 50000), Endpoint("10.0.0.4", 445)
    smb = SmbInfo("3.1.1", 7, encrypted=False, signed=True, compressed=False, client=ends[0], server=ends[1])
    (made,) = Redactor(names).feed(replace(exchange, smb=smb))
    assert isinstance(made, Exchange)
    assert made.smb == replace(
        smb, client=Endpoint(names.address("10.0.0.3"), 50000), server=Endpoint(names.address("10.0.0.4"), 445)
    )
    assert made.smb != smb
    for carried in (None, replace(smb, client=None, server=None)):
        assert redacted(replace(exchange, smb=carried)).smb == carried


def test_who_called_has_the_same_pseudonyms_on_the_channel_in_the_authentication_and_in_smb() -> None:
    names = Pseudonyms(b"k")
    exchange = Calls(UNKNOWN).exchange(7, STUB, STUB)
    assert exchange.smb is not None
    called = replace(
        exchange,
        channel=replace(exchange.channel, identity=WHO),
        auth=replace(exchange.auth, identity=WHO),
        smb=replace(exchange.smb, identity=WHO),
    )
    made = redacted(called)
    who = replace(WHO, **{name: names.name(value) for name in NAMES if (value := getattr(WHO, name))})
    assert [one.identity for one in (made.channel, made.auth, made.smb) if one is not None] == [who] * 3


def test_of_a_session_every_name_becomes_a_pseudonym_and_pipes_of_rpc_stay() -> None:
    names = Pseudonyms(b"k")
    guid = "5e0c6a4e-9b1d-4f3c-8a55-0d2b7c9e1f10"
    trees, pipes = ("\\\\SRV1\\IPC$", "\\\\SRV1\\alice"), ("winreg", "alices-pipe")
    whole = replace(session(), client_guid=guid, trees=trees, pipes=pipes, reason="no key for perfmon")
    (made,) = Redactor(names).feed(whole)
    assert isinstance(made, SmbSession)
    client, server, user = (names.address("10.0.0.2"), names.address("10.0.0.1"), names.name("perfmon"))
    identity = {name: names.name(value) for name in NAMES if (value := getattr(WHO, name))}
    assert set(identity) == {"user", "domain", "workstation", "server_name", "server_dns_name"}
    assert made == replace(
        whole,
        client=Endpoint(client, 49152),
        server=Endpoint(server, 445),
        client_guid=names.guid(guid),
        identity=replace(WHO, **identity),
        trees=(f"\\\\{names.name('SRV1')}\\IPC$", f"\\\\{names.name('SRV1')}\\{names.name('alice')}"),
        pipes=("winreg", names.name("alices-pipe")),
        hosts=((server, names.name("FILESRV"), "tree path"),),
        reason=f"no key for {user}",
    )


def test_metadata_files_name_servers_by_their_pseudonyms() -> None:
    names = Pseudonyms(b"k")
    server = ServerMetadata(Catalog(), {})
    assert redacted_metadata([Metadata("a file", {"10.0.0.1": server})], names) == [
        Metadata("a file", {names.address("10.0.0.1"): server})
    ]

"""Public captures: who is asked for what is what tshark says, and Windows' own sealed calls come out whole."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.auth.keytab import KerberosKey
from analyzer.capture.frame import FrameBlock
from analyzer.capture.reader import CaptureReader
from analyzer.core.errors import InputError
from analyzer.core.events import Event
from analyzer.core.traced import TracedBytes
from analyzer.packet.dissector import Dissector
from analyzer.packet.segment import Segment
from analyzer.rpc.events import Exchange, Message
from analyzer.rpc.interfaces import interface_name, method_name
from analyzer.rpc.layer import RpcLayer
from analyzer.smb.transport import Transport
from analyzer.tcp.reassembler import Reassembler

pytestmark = pytest.mark.corpus

CORPUS = Path(os.environ.get("PCQ_CORPUS", ""))
# Where we and tshark 4.0.17 count requests differently, and why we stand by our count (or whose limit it is).
DIFFERENT = {
    "ITI-ICS-Security-Tools/pcaps__ModbusTCP__mb2.pcap": "8 of its requests are connectionless (UDP); it misses frame 12070",
    "OISF-suricata-verify/tests__dcerpc__zerologon__input.pcap": "misses the request in frame 419, and counts its response",
    "OISF-suricata-verify/tests__smb-length-5770__input.pcap": "does not look for SMB on port 4445",
    "OISF-suricata-verify/tests__smb2-03-rule__smb2.pcap": "counts the one request of frame 23 twice",
    "OISF-suricata-verify/tests__smb2-ntlmssp-order__smb2.pcap": "counts the one request twice",
    "arkime-arkime/tests__pcap__dcerpc_synthetic.pcap": "does not look at the ports made up there",
    "nfstream-nfstream/tests__pcaps__dcerpc.pcap": "connectionless (UDP)",
    "odedshimon-BruteShark/Pcap_Examples__Kerberos_-_v5_UDP.pcap": "connections that go on behind a reset",
    "odedshimon-BruteShark/Pcap_Examples__PCAPNG_Examples__Kerberos_-_v5_UDP.pcapng": "connections that go on behind a reset",
    "zeek-zeek/testing__btest__Traces__dce-rpc__mapi.pcap": "misses requests in frames 331 to 339 and 565",
}


def exchanges(path: Path, keyring: Keyring | None = None) -> Iterator[Exchange]:
    """The way of a capture through the rooms below, and this one."""
    ring = keyring or Keyring()
    dissector, reassembler, transport, rpc = Dissector(), Reassembler(), Transport(ring), RpcLayer(ring)

    def upper(events: Iterator[Event]) -> Iterator[Event]:
        for event in events:
            for carried in transport.feed(event):
                yield from rpc.feed(carried)

    def streams(segments: Iterator[Event]) -> Iterator[Event]:
        for segment in segments:
            if isinstance(segment, Segment):
                yield from upper(reassembler.feed(segment))

    def everything() -> Iterator[Event]:
        for block in CaptureReader([path]):
            if isinstance(block, FrameBlock):
                yield from streams(dissector.feed(block))
        yield from streams(dissector.finish())
        yield from upper(reassembler.finish())
        for carried in transport.finish():
            yield from rpc.feed(carried)
        yield from rpc.finish()

    return (event for event in everything() if isinstance(event, Exchange))


def test_requests_by_interface_and_opnum_are_those_of_tshark() -> None:
    expected = json.loads((CORPUS / "expected.tshark.json").read_text())["files"]
    wrong = []
    for name, said in expected.items():
        theirs = said["dcerpc"]["request_opnums_by_interface"]
        path = CORPUS / name
        if not theirs or not path.exists():
            continue
        mine: dict[str, Counter[str]] = defaultdict(Counter)
        try:
            for call in exchanges(path):
                if call.request is not None:
                    mine[call.interface or "unknown"][str(call.opnum)] += 1
        except InputError:
            continue
        if mine != theirs and name not in DIFFERENT:
            wrong.append((name, {key: dict(value) for key, value in mine.items()}, theirs))
        elif mine == theirs and name in DIFFERENT:
            wrong.append((name, "no longer differs: take it off the list", ""))
    assert not wrong


# scapy, test/scapy/layers/dcerpc.uts
KRB_KEY = bytes.fromhex("85abb9b61dc2fa49d4cc04317bbd108f8f79df28239155ed7b144c5d2ebcf016")


def _length(message: Message | None) -> int:
    assert message is not None
    assert isinstance(message.stub, TracedBytes)
    return len(message.stub)


def test_ntlm_sealed_calls_of_windows_come_out_whole() -> None:
    ring = Keyring.build(passwords=[("Administrator", "Password123!")])
    found = list(exchanges(CORPUS / "secdev-scapy/test__pcaps__dcerpc_privacy_ntlm.pcapng", ring))
    assert [(call.opnum, call.state) for call in found] == [(op, "complete") for op in (3, 64, 15, 14, 14)]
    svcctl = found[1:]
    assert {interface_name(call.interface or "", call.version) for call in svcctl} == {"svcctl"}
    assert method_name(svcctl[1].interface or "", 15) == "ROpenSCManagerW"
    assert {(call.auth.mechanism, call.auth.level, call.auth.verified) for call in svcctl} == {("ntlm", 6, True)}
    # Windows' client adds the verification trailer to its first requests on a context; the server's fault is sealed too.
    assert [call.request.trailer for call in svcctl if call.request] == ["ok", "ok", None, None]
    assert [call.fault for call in svcctl] == [0x1C010002, None, None, None]
    assert (_length(svcctl[3].response), len(svcctl[3].response.fragments if svcctl[3].response else ())) == (33592, 6)


def test_kerberos_sealed_ndr64_calls_of_windows_come_out_whole() -> None:
    ring = Keyring(kerberos_keys=[KerberosKey("ldap/dc1.domain.local", "", 18, None, KRB_KEY)])
    found = list(exchanges(CORPUS / "secdev-scapy/test__pcaps__dcerpc_privacy_krb.pcapng", ring))
    drsuapi = [call for call in found if interface_name(call.interface or "") == "drsuapi"]
    assert [call.opnum for call in drsuapi] == [0, 12, 1, 0, 12, 1]
    assert {(call.syntax, call.state, call.auth.verified) for call in drsuapi} == {("ndr64", "complete", True)}
    assert {call.auth.mechanism for call in drsuapi} == {"spnego-krb5"}
    assert drsuapi[0].request is not None
    assert drsuapi[0].request.trailer == "ok"
    assert [_length(call.response) for call in drsuapi] == [96, 228, 24, 96, 228, 24]

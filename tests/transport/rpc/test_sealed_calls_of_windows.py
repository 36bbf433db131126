"""Public captures: Windows' own sealed calls come out whole."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.auth.key_files import KerberosKey
from analyzer.auth.keyring import Keyring
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.calls.call import Side
from analyzer.transport.rpc.exchange_maker import Exchange
from analyzer.transport.rpc.rpc_layer import RpcLayer
from analyzer.transport.rpc.rpc_names import interface_name, method_name
from analyzer.transport.tcp.reassembler import Reassembler
from tests.build.chain import segments, through, to_channels
from tests.corpus import CORPUS

pytestmark = pytest.mark.corpus


def exchanges(path: Path, keyring: Keyring | None = None) -> Iterator[Exchange]:
    """The way of a capture through the layers below, and this one."""
    ring = keyring or Keyring()
    events = through([Reassembler(), *to_channels(ring), RpcLayer(ring)], segments(path))
    return (event for event in events if isinstance(event, Exchange))


# scapy, test/scapy/layers/dcerpc.uts
KRB_KEY = bytes.fromhex("85abb9b61dc2fa49d4cc04317bbd108f8f79df28239155ed7b144c5d2ebcf016")


def _length(message: Side | None) -> int:
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
    assert [call.request.verification_trailer for call in svcctl if call.request] == ["ok", "ok", None, None]
    assert [call.fault for call in svcctl] == [0x1C010002, None, None, None]
    assert (_length(svcctl[3].response), len(svcctl[3].response.pdus if svcctl[3].response else ())) == (33592, 6)


def test_kerberos_sealed_ndr64_calls_of_windows_come_out_whole() -> None:
    ring = Keyring(kerberos_keys=[KerberosKey("ldap/dc1.domain.local", "", 18, None, KRB_KEY)])
    found = list(exchanges(CORPUS / "secdev-scapy/test__pcaps__dcerpc_privacy_krb.pcapng", ring))
    drsuapi = [call for call in found if interface_name(call.interface or "") == "drsuapi"]
    assert [call.opnum for call in drsuapi] == [0, 12, 1, 0, 12, 1]
    assert {(call.syntax, call.state, call.auth.verified) for call in drsuapi} == {("ndr64", "complete", True)}
    assert {call.auth.mechanism for call in drsuapi} == {"spnego-krb5"}
    assert drsuapi[0].request is not None
    assert drsuapi[0].request.verification_trailer == "ok"
    assert [_length(call.response) for call in drsuapi] == [96, 228, 24, 96, 228, 24]

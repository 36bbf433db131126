"""Windows' own sealed RPC, in public captures with published keys, is opened whole."""

import os
import struct
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.layers.inet import TCP
from scapy.utils import rdpcap

from analyzer.auth.key_files import KerberosKey
from analyzer.auth.keyring import Keyring
from analyzer.auth.security_types import SecurityContext
from analyzer.auth.token_handshake import TokenHandshake, begin
from analyzer.results.security import Decryption

# scapy, test/scapy/layers/dcerpc.uts
NTLM_RING = Keyring.build(passwords=[("Administrator", "Password123!")])
KRB_KEY = bytes.fromhex("85abb9b61dc2fa49d4cc04317bbd108f8f79df28239155ed7b144c5d2ebcf016")
KRB_RING = Keyring(kerberos_keys=[KerberosKey("ldap/dc1.domain.local", "", 18, None, KRB_KEY)])


def pdus(path: Path) -> Iterator[tuple[int, bytes]]:
    """Both directions of all connections, good enough for captures without loss: source port and PDU."""
    held: dict[tuple[int, int], bytearray] = defaultdict(bytearray)
    for packet in rdpcap(str(path)):
        if TCP in packet and len(packet[TCP].payload):
            buffer = held[packet[TCP].sport, packet[TCP].dport]
            buffer += bytes(packet[TCP].payload)
            while len(buffer) >= 16 and buffer[0] == 5:
                length = struct.unpack_from("<H", buffer, 8)[0]
                if len(buffer) < length:
                    break
                yield min(packet[TCP].sport, packet[TCP].dport), bytes(buffer[:length])
                del buffer[:length]


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "ring", "account", "messages"),
    [
        ("test__pcaps__dcerpc_privacy_ntlm.pcapng", NTLM_RING, "DOMAIN\\Administrator", 12),
        ("test__pcaps__dcerpc_privacy_krb.pcapng", KRB_RING, "WIN10$@DOMAIN.LOCAL", 12),
    ],
)
def test_sealed_rpc_of_windows_is_opened(name: str, ring: Keyring, account: str, messages: int) -> None:
    handshakes: dict[tuple[int, int], TokenHandshake] = {}
    contexts: dict[tuple[int, int], SecurityContext] = {}
    opened = 0
    for connection, pdu in pdus(Path(os.environ["PCQ_CORPUS"]) / "secdev-scapy" / name):
        kind, length = pdu[2], struct.unpack_from("<H", pdu, 10)[0]
        if not length:
            continue
        at = len(pdu) - length
        auth_type, level, _, _, context_id = struct.unpack_from("<BBBBI", pdu, at - 8)
        key = (connection, context_id)
        sender = "initiator" if kind in (0, 11, 14, 16) else "acceptor"
        if kind not in (0, 2):
            handshakes.setdefault(key, begin(ring, auth_type)).feed(sender, pdu[at:])
            continue
        context = contexts.setdefault(key, handshakes[key].context())
        ofs_body = 40 if kind == 0 and pdu[3] & 0x80 else 24
        result = context.open(sender, level, pdu, slice(ofs_body, at - 8), slice(at, len(pdu)))
        assert (result.decryption, result.verified, result.reason) == (Decryption.DECRYPTED, True, None)
        opened += 1
    assert opened == messages
    assert {handshake.identity.account for handshake in handshakes.values()} == {account}

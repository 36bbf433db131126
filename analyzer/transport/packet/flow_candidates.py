"""Decides which TCP flows are ours, by their ports and by the first bytes of their payloads.

A flow is ours from its first segment when a port is one that SMB, the DCERPC endpoint mapper or a KDC uses. On any port, it is ours
from the moment a payload begins like SMB or connection-oriented DCERPC (servers behind port forwards, dynamic RPC ports).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from analyzer.core.array_functions import distinct
from analyzer.core.limits import DEFAULTS

if TYPE_CHECKING:
    import numpy.typing as npt

SMB_PORT, NBSS_PORT, EPMAPPER_PORT, KERBEROS_PORT = 445, 139, 135, 88
PORTS: Final = frozenset({SMB_PORT, NBSS_PORT, EPMAPPER_PORT, KERBEROS_PORT})
# MS-SMB 2.2.3.1, MS-SMB2 2.2.1, 2.2.41 and 2.2.42: protocol ids of SMB1, SMB2, encrypted and compressed SMB.
_SMB_IDS = frozenset({b"\xffSMB", b"\xfeSMB", b"\xfdSMB", b"\xfcSMB"})
# C706 12.6.4: the connection-oriented PDU types (request, response, fault, bind ... orphaned), and AUTH3 of MS-RPCE.
_PDU_TYPES = frozenset({0, 2, 3, *range(11, 20)})
_DREP_BYTES = frozenset({0x00, 0x10})
# Bytes of a payload that are needed to recognise SMB, and DCERPC (its common header).
SMB_SIGNATURE_LEN, PDU_HEADER_LEN = 8, 16
# What a stream of ours may begin with: the framing of SMB and the types of NetBIOS packets (RFC 1002 section 4.3.1), the version of
# DCERPC, the length of a Kerberos message.
FIRST_BYTES = bytes((0x00, 0x05, 0x81, 0x82, 0x85))
# Within a stream that began before the capture: a protocol id of SMB, or the first bytes of one at the end.
_PROTOCOL_ID = re.compile(rb"[\xfc-\xff](?:S(?:M(?:B|\Z)|\Z)|\Z)")


# One end is its address as bytes and its port; a flow is both ends in order, so that both directions have one key.
End = tuple[bytes, int]
FlowKey = tuple[End, End]


def flow_key(src: End, dst: End) -> FlowKey:
    """Returns the key of a TCP flow, equal for both of its directions."""
    return (src, dst) if src <= dst else (dst, src)


def is_by_port(src: End, dst: End) -> bool:
    """Whether a port makes the TCP flow between two ends ours."""
    return src[1] in PORTS or dst[1] in PORTS


def begins_like_ours(payload: bytes) -> bool:
    """Whether a TCP payload begins like an SMB message or a DCERPC PDU. `PDU_HEADER_LEN` bytes are enough."""
    if len(payload) < SMB_SIGNATURE_LEN:
        return False
    if payload[5:8] == b"SMB":
        # NBSS session message (RFC 1002 4.3.1) or direct TCP (MS-SMB2 2.1): a zero byte and the length come first.
        return payload[0] == 0 and payload[4:8] in _SMB_IDS
    if payload[1:4] == b"SMB":
        # Some senders put the four bytes of framing in a segment of their own.
        return payload[0:4] in _SMB_IDS
    if len(payload) < PDU_HEADER_LEN or payload[0] != 5 or payload[1] > 1 or payload[2] not in _PDU_TYPES:
        return False
    if payload[4] not in _DREP_BYTES:
        return False
    return int.from_bytes(payload[8:10], "little" if payload[4] else "big") >= PDU_HEADER_LEN


def may_be_ours(data: bytes, begin: int, end: int) -> bool:
    """Whether a TCP payload (not empty) in a dissected block may belong to a stream that carries SMB, DCERPC or Kerberos."""
    return data[begin] in FIRST_BYTES or _PROTOCOL_ID.search(data, begin, end) is not None


class Flows:
    """The TCP flows that are ours because of their payloads. Flows that are ours by port need no memory."""

    def __init__(self, most: int = DEFAULTS.flows) -> None:
        self._most = most
        self._known: dict[FlowKey, None] = {}
        self.forgotten = 0
        self._pairs: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[FlowKey]:
        return iter(self._known)

    def add(self, key: FlowKey) -> None:
        """Notes a TCP flow that its payload shows to be ours. Above the limit, the flow noted first is forgotten."""
        if key in self._known:
            return
        if len(self._known) >= self._most:
            del self._known[next(iter(self._known))]
            self.forgotten += 1
        self._known[key] = None
        self._pairs = None

    def port_pairs(self) -> npt.NDArray[np.int64]:
        """Returns both ports of each noted TCP flow in one number, the smaller port first."""
        if self._pairs is None:
            self._pairs = distinct(np.array([min(a, b) << 16 | max(a, b) for (_, a), (_, b) in self._known], np.int64))
        return self._pairs

    def __contains__(self, key: FlowKey) -> bool:
        return is_by_port(*key) or key in self._known

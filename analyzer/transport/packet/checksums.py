"""Checks the IPv4 and TCP checksums of many segments at once with arrays.

The references are `checksum_fails` and `tcp_checksum_fails` of `frame_dissector`, which state when a checksum is wrong. A ones'
complement sum of 16-bit words (RFC 1071) is the remainder by 0xFFFF of all bytes as one number, and the same in either byte order.
Because 2**16 leaves 1, so do 2**32 and 2**64: words may be added up in larger ones. A run of bytes that begins at an odd place has
the sum of its neighbours turned by a byte, which is a factor of 2**8. So the 64-bit words of a buffer are added up between the
borders of all runs at once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from analyzer.transport.packet.frame_dissector import TCP, checksum_fails
from analyzer.transport.packet.tunnels import Bools, IntArray, Views

_USUAL_HEADER_LEN = 20
# Segments that are few in a large buffer are copied together first.
_DENSE = 4
_U64 = npt.NDArray[np.uint64]


def bad_ip_checksums(data: bytes, views: Views, ip: IntArray, tcp: IntArray, is_ipv4: Bools) -> Bools:
    """Tells which IPv4 headers have a wrong checksum. The result equals `checksum_fails` on each header."""
    bad = np.zeros(len(ip), np.bool_)
    is_usual = is_ipv4 & (tcp - ip == _USUAL_HEADER_LEN)
    usual = np.flatnonzero(is_usual)
    headers = np.ndarray((max(len(data) - _USUAL_HEADER_LEN + 1, 0),), f"V{_USUAL_HEADER_LEN}", data, strides=(1,))
    # Column by column, which takes a fifth of the time that row by row does.
    first, *others = headers[ip[usual]].view("<u4").reshape(-1, _USUAL_HEADER_LEN // 4).T
    total = first.astype(np.int64)
    for column in others:
        total += column
    # The checksum is the upper half of the third.
    bad[usual] = (total % 0xFFFF != 0) & (others[1] >> 16 != 0)
    for position in np.flatnonzero(is_ipv4 & ~is_usual).tolist():
        bad[position] = checksum_fails(data[int(ip[position]) : int(tcp[position])])
    return bad


def bad_tcp_checksums(
    data: bytes, views: Views, ip: IntArray, tcp: IntArray, lengths: IntArray, whole: Bools, is_ipv4: Bools
) -> Bools:
    """Tells which whole segments have a wrong TCP checksum. The result equals `tcp_checksum_fails` on each segment."""
    bad = np.zeros(len(ip), np.bool_)
    left = views.u16[tcp + 16].astype(np.int64)
    chosen = np.flatnonzero(whole & (left != 0))
    if not len(chosen):
        return bad
    ip, tcp, lengths, is_ipv4, left = ip[chosen], tcp[chosen], lengths[chosen], is_ipv4[chosen], left[chosen]
    if is_ipv4.all():
        pseudo = _halves(views.u64[ip + 12])
    else:
        pseudo = np.zeros(len(chosen), np.int64)
        for of_version, first, words in ((is_ipv4, 12, 1), (~is_ipv4, 8, 4)):
            at = ip[of_version] + first
            for word in range(words):
                pseudo[of_version] += _halves(views.u64[at + 8 * word])
    pseudo += TCP << 8
    swapped = (lengths & 0xFF) << 8 | lengths >> 8 & 0xFF
    # Segmentation offload makes longer ones; no frame has 16 MiB.
    swapped += (lengths >> 16) << 8
    # Checksums that a card finishes after the capture are accepted.
    left -= pseudo
    finished = np.flatnonzero((left % 0xFFFF != 0) & ((left - swapped) % 0xFFFF != 0))
    if len(finished):
        sums = word_sums(data, tcp[finished], lengths[finished]).astype(np.int64)
        bad[chosen[finished]] = (pseudo[finished] + swapped[finished] + sums) % 0xFFFF != 0
    return bad


def _halves(words: _U64) -> IntArray:
    """Returns for each 64-bit word the sum of its upper and its lower half, a step of the checksum."""
    return (words & np.uint64(0xFFFFFFFF)).astype(np.int64) + (words >> np.uint64(32)).astype(np.int64)


def word_sums(data: bytes, starts: IntArray, lengths: IntArray) -> _U64:
    """Returns the checksum sums of runs of at least sixteen bytes: their 16-bit words modulo 0xFFFF. An odd last byte counts as a
    word."""
    if int(lengths.sum()) * _DENSE < len(data):
        pieces = [data[start : start + length] for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)]
        data = b"".join(pieces)
        starts = np.cumsum(lengths) - lengths
    stops = starts + lengths
    if int(stops.max()) + 8 > len(data):
        # There is a word behind the last one of each run.
        data += bytes(8)
    # The 64-bit words that lie in the run, and the bytes before and after them.
    borders = np.empty((len(starts), 2), np.int64)
    first, last = borders.T
    np.right_shift(starts + 7, 3, out=first)
    np.right_shift(stops, 3, out=last)
    head = _bytes_at(data, starts, (first << 3) - starts)
    sums = _bytes_at(data, last << 3, stops & 7)
    # Sums of whole words run over; those of upper halves do not, and with them give what the lower halves come to.
    words = np.frombuffer(data, "<u8", len(data) // 8)[: int(last.max()) + 1]
    upper: _U64 = np.add.reduceat(words >> np.uint64(32), borders.ravel())[::2]
    lower: _U64 = np.add.reduceat(words, borders.ravel())[::2] - (upper << np.uint64(32))
    # Less than 2**56 in the bytes behind them, and in each half less than 2**48 for a frame of 256 KiB.
    sums += upper
    sums += lower
    turned = np.flatnonzero(starts & 1)
    sums[turned] = (sums[turned] % np.uint64(0xFFFF)) << np.uint64(8)
    sums += head
    sums %= np.uint64(0xFFFF)
    return sums


def _bytes_at(data: bytes, starts: IntArray, counts: IntArray) -> _U64:
    """Returns the bytes at each place (fewer than eight) as a little-endian number, for a checksum."""
    words: _U64 = np.ndarray((len(data) - 7,), np.dtype(np.uint64).newbyteorder("<"), data, strides=(1,))
    # A place near the end of the data is read from a little before it.
    at = np.minimum(starts, len(data) - 8)
    found: _U64 = words[at] >> ((starts - at) * 8).astype(np.uint64)
    found &= (np.uint64(1) << (counts * 8).astype(np.uint64)) - np.uint64(1)
    return found

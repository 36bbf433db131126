"""Computes MD4 (RFC 1320), which OpenSSL 3 does not offer by default. A password is hashed with it once.

scapy has it too, behind a configuration that takes longer to load than a small capture to read.
"""

from __future__ import annotations

_MASK = 0xFFFFFFFF
_BLOCK_LEN = 64
_BEGIN = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
# For each round: the added number, the rotations, and the order of the words of the block.
_ROUNDS = (
    (0, (3, 7, 11, 19), range(16)),
    (0x5A827999, (3, 5, 9, 13), (0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)),
    (0x6ED9EBA1, (3, 9, 11, 15), (0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15)),
)


def md4(data: bytes) -> bytes:
    """Returns the MD4 digest of bytes, 16 bytes."""
    zeros = bytes(-(len(data) + 9) % _BLOCK_LEN)
    padded = data + b"\x80" + zeros + (8 * len(data) & (1 << 64) - 1).to_bytes(8, "little")
    state = _BEGIN
    for at in range(0, len(padded), _BLOCK_LEN):
        words = [int.from_bytes(padded[place : place + 4], "little") for place in range(at, at + _BLOCK_LEN, 4)]
        state = _with_block(state, words)
    return b"".join([word.to_bytes(4, "little") for word in state])


def _with_block(state: tuple[int, int, int, int], words: list[int]) -> tuple[int, int, int, int]:
    a, b, c, d = state
    for number, (added, turns, order) in enumerate(_ROUNDS):
        for step, at in enumerate(order):
            total = a + _mixed(number, b, c, d) + words[at] + added & _MASK
            turn = turns[step % 4]
            a, b, c, d = d, (total << turn | total >> 32 - turn) & _MASK, b, c
    first, second, third, fourth = state
    return first + a & _MASK, second + b & _MASK, third + c & _MASK, fourth + d & _MASK


def _mixed(number: int, x: int, y: int, z: int) -> int:
    """Computes the function F, G or H of MD4 (RFC 1320 section 3.4), by the number of its round."""
    if number == 0:
        return x & y | ~x & z
    return x & y | x & z | y & z if number == 1 else x ^ y ^ z

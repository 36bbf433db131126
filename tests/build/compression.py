"""Packers of the algorithms of [MS-XCA] and LZNT1 for tests: slow, plain, and made after the documents alone."""

import struct


def huffman_table(lengths: dict[int, int]) -> bytes:
    table = bytearray(256)
    for symbol, length in lengths.items():
        table[symbol // 2] |= length << 4 * (symbol % 2)
    return bytes(table)


def find_match(data: bytes, at: int, reach: int, longest: int) -> tuple[int, int]:
    """Distance and length of the longest earlier run, by trying."""
    best = (0, 0)
    for distance in range(1, min(at, reach) + 1):
        length = 0
        while length < longest and at + length < len(data) and data[at + length] == data[at + length - distance]:
            length += 1
        if length > best[1]:
            best = (distance, length)
    return best


def tokens(data: bytes, reach: int, longest: int = 100_000) -> list[int | tuple[int, int]]:
    out: list[int | tuple[int, int]] = []
    at = 0
    while at < len(data):
        distance, length = find_match(data, at, reach, longest)
        if length >= 3:
            out.append((distance, length))
            at += length
        else:
            out.append(data[at])
            at += 1
    return out


def pack_lz77(data: bytes) -> bytes:
    """[MS-XCA] 2.3, without ambition."""
    out = bytearray()
    flags: list[int] = []
    flags_at = nibble_at = 0
    for token in tokens(data, 8192):
        if len(flags) % 32 == 0:
            flags_at = len(out)
            out += bytes(4)
        flags.append(0 if isinstance(token, int) else 1)
        if isinstance(token, int):
            out.append(token)
        else:
            distance, length = token[0], token[1] - 3
            out += struct.pack("<H", (distance - 1) << 3 | min(length, 7))
            if length >= 7:
                length -= 7
                if nibble_at:
                    out[nibble_at] |= min(length, 15) << 4
                    nibble_at = 0
                else:
                    nibble_at = len(out)
                    out.append(min(length, 15))
                if length >= 15:
                    length -= 15
                    if length < 255:
                        out.append(length)
                    elif length + 22 < 1 << 16:
                        out += b"\xff" + struct.pack("<H", length + 22)
                    else:
                        out += b"\xff\0\0" + struct.pack("<I", length + 22)
        block = flags[-1 - (len(flags) - 1) % 32 :]
        word = sum(flag << (31 - index) for index, flag in enumerate(block))
        out[flags_at : flags_at + 4] = struct.pack("<I", word)
    return bytes(out)


def pack_lznt1(data: bytes) -> bytes:
    """[MS-XCA] 2.5.1."""
    out = b""
    for start in range(0, len(data), 4096):
        chunk = data[start : start + 4096]
        body = bytearray()
        count = at = 0
        flag_at = 0
        while at < len(chunk):
            if count % 8 == 0:
                flag_at = len(body)
                body.append(0)
            bits = 12
            while at > 0 and (at - 1) >> (16 - bits):
                bits -= 1
            distance, length = find_match(chunk, at, 1 << (16 - bits), (1 << bits) + 2)
            if length >= 3:
                body[flag_at] |= 1 << count % 8
                body += struct.pack("<H", (distance - 1) << bits | (length - 3))
                at += length
            else:
                body.append(chunk[at])
                at += 1
            count += 1
        if len(body) < 4096:
            out += struct.pack("<H", 0xB000 | (len(body) - 1)) + bytes(body)
        else:
            out += struct.pack("<H", 0x3000 | (len(chunk) - 1)) + chunk
    return out


def pack_huffman(data: bytes) -> bytes:
    """[MS-XCA] 2.1 with a flat code: all 512 symbols have 9 bits."""
    out = bytearray()
    stream = tokens(data, 65535)
    # A block ends after the token that reaches 65,536 bytes; the tests stay below.
    out += b"\x99" * 256
    places: list[int] = []
    bits: list[int] = []

    def room() -> None:
        places.append(len(out))
        out.extend(bytes(2))

    def put(value: int, count: int) -> None:
        # The reader takes its next 16 bits as soon as fewer than 16 are left over.
        for shift in reversed(range(count)):
            bits.append(value >> shift & 1)
        while len(bits) > 16 * (len(places) - 1):
            room()

    room()
    room()
    for token in stream:
        if isinstance(token, int):
            put(token, 9)
            continue
        distance, length = token[0], token[1] - 3
        width = distance.bit_length() - 1
        put(256 + (width << 4 | min(length, 15)), 9)
        if length >= 15:
            if length - 15 < 255:
                out.append(length - 15)
            elif length < 1 << 16:
                out += b"\xff" + struct.pack("<H", length)
            else:
                out += b"\xff\0\0" + struct.pack("<I", length)
        put(distance - (1 << width), width)
    for index, at in enumerate(places):
        word = 0
        for bit in range(16):
            position = 16 * index + bit
            word = word << 1 | (bits[position] if position < len(bits) else 0)
        out[at : at + 2] = struct.pack("<H", word)
    return bytes(out)

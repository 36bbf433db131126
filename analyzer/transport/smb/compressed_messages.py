"""Decompresses SMB3 messages ([MS-SMB2] section 2.2.42; [MS-XCA] for the algorithms).

Every decompressor is given how much it may put out and stops there, so a few bytes never become gigabytes.
"""

from __future__ import annotations

from analyzer.core.byte_cursor import Cursor
from analyzer.core.errors import MalformedError, OutputLimitError, TruncatedError, UnsupportedError
from analyzer.core.traced_bytes import TracedBytes

NONE, LZNT1, LZ77, LZ77_HUFFMAN, PATTERN_V1, LZ4 = range(6)
FLAG_CHAINED = 0x1
STEP = "smb3-decompress"

# The framing of [MS-SMB2] section 2.1 counts a message's length in 24 bits; nothing compressed can have been longer.
MAX_OUTPUT = (1 << 24) - 1
_HUFFMAN_BLOCK = 65536
_HUFFMAN_BITS = 15
_LZNT1_CHUNK = 4096


def decompress_message(message: TracedBytes) -> TracedBytes:
    """Returns the message inside an SMB3 compression transform. The parts that were not compressed keep their own addresses."""
    cur = Cursor(message.data)
    cur.skip("compression.protocol_id", 4)
    size = cur.u32("compression.len_original")
    if size > MAX_OUTPUT:
        raise OutputLimitError(f"{size} is more than a message can hold", field="compression.len_original")
    algorithm, flags = cur.u16("compression.algorithm"), cur.u16("compression.flags")
    length = cur.u32("compression.offset")
    if flags & FLAG_CHAINED:
        return _chained(message, size)
    start = cur.pos + length
    if start > len(message):
        raise TruncatedError(f"{length} leads out of the message", field="compression.offset", start=12, stop=16)
    if length + size > MAX_OUTPUT:
        raise OutputLimitError(f"{length + size} is more than a message can hold", field="compression.len_original")
    packed = message[start:]
    return TracedBytes.join((message[cur.pos : start], packed.replaced(decompress(algorithm, packed.data, size), STEP)))


def _chained(message: TracedBytes, size: int) -> TracedBytes:
    cur = Cursor(message.data, 8)
    parts: list[TracedBytes] = []
    made = 0
    while cur.left:
        algorithm = cur.u16("payload.algorithm")
        cur.skip("payload.flags", 2)
        length = cur.u32("payload.length")
        start = cur.pos
        body = Cursor(cur.take_bytes("payload.data", length))
        if algorithm == NONE:
            part = message[start : start + length]
        elif algorithm == PATTERN_V1:
            pattern = body.take_bytes("pattern.pattern", 1)
            body.skip("pattern.reserved", 3)
            repetitions = body.u32("pattern.repetitions")
            if repetitions > size - made:
                raise OutputLimitError(f"{repetitions} is more than the message promised", field="pattern.repetitions")
            part = message[start : start + length].replaced(pattern * repetitions, STEP)
        else:
            original = body.u32("payload.len_original")
            if original > size - made:
                raise OutputLimitError(f"{original} is more than the message promised", field="payload.len_original")
            part = message[start : start + length].replaced(decompress(algorithm, body.rest(), original), STEP)
        made += len(part)
        if made > size:
            raise OutputLimitError(f"the chain is more than the {size} bytes promised", field="payload")
        parts.append(part)
    if made != size:
        raise MalformedError(f"{made} bytes came out, {size} were promised", field="compression.len_original")
    return TracedBytes.join(parts)


def decompress(algorithm: int, packed: bytes, size: int) -> bytes:
    """Decompresses the `packed` bytes of an SMB3 message. Returns exactly `size` bytes, or raises `DecodeError`."""
    if algorithm == LZNT1:
        out = lznt1(packed, size)
    elif algorithm == LZ77:
        out = lz77(packed, size)
    elif algorithm == LZ77_HUFFMAN:
        out = lz77_huffman(packed, size)
    elif algorithm == LZ4:
        out = _lz4(packed, size)
    else:
        raise UnsupportedError(f"compression algorithm {algorithm:#x}", field="compression.algorithm")
    if len(out) != size:
        raise MalformedError(f"{len(out)} bytes came out, {size} were promised", field="compression")
    return out


def lznt1(packed: bytes, limit: int) -> bytes:
    """Decompresses LZNT1 ([MS-XCA] section 2.5): chunks of up to 4096 bytes, in which distances grow into the bits of lengths."""
    cur, out = Cursor(packed), bytearray()
    while cur.left >= 2 and len(out) < limit:
        header = cur.u16("lznt1.chunk_header")
        if header == 0:
            break
        chunk = cur.take_bytes("lznt1.chunk", (header & 0xFFF) + 1)
        if not header & 0x8000:
            out += chunk
            continue
        begin, at = len(out), 0
        while at < len(chunk):
            flags = chunk[at]
            at += 1
            for bit in range(8):
                if at >= len(chunk):
                    break
                if not flags >> bit & 1:
                    out.append(chunk[at])
                    at += 1
                    continue
                if at + 2 > len(chunk):
                    raise TruncatedError("a reference is cut", field="lznt1.reference")
                word = chunk[at] | chunk[at + 1] << 8
                at += 2
                length_bits = 12 - max((len(out) - begin - 1).bit_length() - 4, 0)
                _copy(out, (word >> length_bits) + 1, (word & ((1 << length_bits) - 1)) + 3, len(out) - begin, limit)
        if len(out) - begin > _LZNT1_CHUNK:
            raise MalformedError("a chunk holds more than 4096 bytes", field="lznt1.chunk")
    return bytes(out[:limit])


def lz77(packed: bytes, limit: int) -> bytes:
    """Decompresses LZ77 ([MS-XCA] section 2.4): 32 flags at a time, lengths that grow from 3 bits over a shared nibble to 32."""
    cur, out = Cursor(packed), bytearray()
    flags = count = nibble_at = 0
    while len(out) < limit:
        if count == 0:
            flags, count = cur.u32("lz77.flags"), 32
        count -= 1
        if not flags >> count & 1:
            out.append(cur.u8("lz77.literal"))
            continue
        if not cur.left:
            break
        word = cur.u16("lz77.match")
        length, distance = word & 7, (word >> 3) + 1
        if length == 7:
            if nibble_at == 0:
                nibble_at = cur.pos
                length = cur.u8("lz77.length") & 0xF
            else:
                length, nibble_at = packed[nibble_at] >> 4, 0
            if length == 15:
                length = _long_length(cur, 15 + 7)
            length += 7
        _copy(out, distance, length + 3, len(out), limit)
    return bytes(out)


def lz77_huffman(packed: bytes, limit: int) -> bytes:
    """Decompresses LZ77+Huffman ([MS-XCA] section 2.2): blocks of 64 KiB, each with its own code of 512 symbols."""
    out = bytearray()
    at, end = 0, len(packed)
    while len(out) < limit:
        if at + 256 > end:
            raise TruncatedError("the table of code lengths is cut", field="huffman.table", start=at, stop=end)
        table = _code_table(packed[at : at + 256])
        at += 256
        # The reader runs up to four bytes ahead; what it would take from behind the end are zeros.
        bits = (_word(packed, at) << 16) | _word(packed, at + 2)
        at += 4
        extra = 16
        stop = min(len(out) + _HUFFMAN_BLOCK, limit)
        while len(out) < stop:
            if at > end + 4:
                raise TruncatedError("the code is cut", field="huffman.code", start=end, stop=end)
            index = bits >> (32 - _HUFFMAN_BITS)
            if index >= len(table):
                raise MalformedError("a code that no symbol has", field="huffman.code", start=at, stop=at)
            symbol, used = table[index]
            bits = bits << used & 0xFFFFFFFF
            extra -= used
            if extra < 0:
                bits |= _word(packed, at) << -extra
                at += 2
                extra += 16
            if symbol < 256:
                out.append(symbol)
                continue
            # Symbol 256 also ends the data, but only once all of them are there (section 2.2.4), and then it is not read.
            length, distance_bits = symbol & 0xF, symbol - 256 >> 4
            if length == 15:
                cur = Cursor(packed, min(at, end))
                length = _long_length(cur, 15)
                at = cur.pos
            distance = (1 << distance_bits) + (bits >> (32 - distance_bits))
            bits = bits << distance_bits & 0xFFFFFFFF
            extra -= distance_bits
            if extra < 0:
                bits |= _word(packed, at) << -extra
                at += 2
                extra += 16
            _copy(out, distance, length + 3, len(out), limit)
    return bytes(out)


def _long_length(cur: Cursor, offset: int) -> int:
    """Reads a long match length of LZ77: one byte, else two, else four. `offset` is what the longer forms add to it."""
    length = cur.u8("length.byte")
    if length < 255:
        return length + 15
    length = cur.u16("length.word") or cur.u32("length.dword")
    if length < offset:
        raise MalformedError(f"{length} is less than {offset}", field="length", start=cur.pos - 2, stop=cur.pos)
    return length - offset + 15


def _code_table(lengths: bytes) -> list[tuple[int, int]]:
    """Returns the Huffman table of LZ77: symbol and length for every 15 bits that may come next. Canonical codes are in order."""
    symbols = [(byte >> shift & 0xF, 2 * index + shift // 4) for index, byte in enumerate(lengths) for shift in (0, 4)]
    table: list[tuple[int, int]] = []
    for length, symbol in sorted(symbols):
        if length:
            table += [(symbol, length)] * (1 << (_HUFFMAN_BITS - length))
            if len(table) > 1 << _HUFFMAN_BITS:
                raise MalformedError("more codes than fit", field="huffman.table")
    return table


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "little")


def _copy(out: bytearray, distance: int, length: int, reach: int, limit: int) -> None:
    """Copies an LZ77 match: appends `length` bytes from `distance` before the end, and repeats them if needed, up to `limit`."""
    if distance > reach:
        raise MalformedError(f"a reference {distance} bytes back, {reach} are there", field="distance")
    length = min(length, limit - len(out))
    if distance >= length:
        out += out[len(out) - distance : len(out) - distance + length]
        return
    piece = bytes(out[len(out) - distance :])
    out += (piece * (length // distance + 1))[:length]


def _lz4(packed: bytes, size: int) -> bytes:
    import lz4.block

    try:
        return bytes(lz4.block.decompress(packed, uncompressed_size=size))
    except (lz4.block.LZ4BlockError, ValueError, MemoryError) as error:
        raise MalformedError("no LZ4 block", field="lz4") from error

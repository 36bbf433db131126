"""The framer and the parsers of headers on their own: what each byte of a header decides, and what is stated of a loss."""

from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from analyzer.core.errors import MalformedError, TruncatedError
from analyzer.core.traced_bytes import TracedBytes
from analyzer.transport.channel.channels import ChannelBatch, ChannelGap, SmbInfo
from analyzer.transport.rpc import pdu as pdu_module
from analyzer.transport.rpc.pdu import (
    HEADER_LEN,
    CutPdu,
    Framer,
    LostPdus,
    RawPdu,
    find_sec_trailer,
    looks_like_header,
    parse_bind,
    parse_bind_ack,
    parse_bind_nak,
    parse_call_head,
    read_header,
)
from tests.build.rpc import (
    CHANNEL,
    NDR,
    NDR64,
    OBJECT,
    PCQ,
    WINREG,
    Auth,
    bind,
    bind_ack,
    bind_nak,
    context,
    fault,
    pdu,
    request,
    response,
)
from tests.written import Told

# Request: 5.0, type 0, little-endian, 28 bytes, call 1, four bytes of stub.
ASK = request(7, b"ask!")


def changed(data: bytes, at: int, value: int) -> bytes:
    return data[:at] + bytes((value,)) + data[at + 1 :]


BYTES = {"ASK": ASK, "STRANGE": changed(ASK, 6, 1), "WEB": b"GET / HTTP/1.1\r\n\r\n", "V5": b"\5\5"}
CARRIED = {
    "plain": SmbInfo("3.1.1", 1, encrypted=False, signed=False, compressed=False),
    "sealed": SmbInfo("3.1.1", 1, encrypted=True, signed=False, compressed=False),
    "signed": SmbInfo("3.1.1", 1, encrypted=False, signed=True, compressed=False, signature_ok=True),
    "altered": SmbInfo("3.1.1", 1, encrypted=False, signed=True, compressed=False, signature_ok=False),
}


def taken(
    framer: Framer, frame: int, data: bytes, *, fresh: bool = True, smb: SmbInfo | None = None
) -> list[RawPdu | CutPdu | LostPdus]:
    return framer.feed(ChannelBatch.of_span(CHANNEL, True, TracedBytes.of_frame(data, frame, 0, 0), smb, fresh=fresh))


def bytes_in(word: str) -> bytes:
    """`ASK+ASK[..3]+text+zero20`"""
    found = b""
    for part in word.split("+"):
        name, _, cut = part.rstrip("]").partition("[")
        first, _, stop = cut.partition("..")
        data = bytes(int(name[4:])) if name.startswith("zero") else BYTES.get(name, name.encode())
        found += data[int(first or 0) : int(stop) if stop else None]
    return found


def shown(item: RawPdu | CutPdu | LostPdus) -> str:
    if isinstance(item, LostPdus):
        frames = ",".join(map(str, item.frames))
        return f"{item.length} bytes lost{', captured,' if item.captured else ''} at {frames}: {item.reason}"
    carried = next((f" {name}" for name, smb in CARRIED.items() if item.smb == smb), "")
    if isinstance(item, CutPdu):
        header = f"header of {item.header.frag_length}" if item.header is not None else "no header"
        return f"cut{carried}: {header}, {len(item.data)} bytes"
    assert item.data.data in BYTES.values()
    return f"{next(name for name, data in BYTES.items() if data == item.data.data)}{carried} in {item.data.frames}"


def said(words: str) -> str:
    """What a framer makes of pieces, each a frame: `&` continues a message, `/sealed` says how it was carried; `gap:length@frames`
    is a loss of so many bytes, which were not captured, and `end` the end of the stream."""
    framer, out, frame = Framer(), list[str](), 0
    for word in words.split():
        what, _, how = word.partition("/")
        if what.startswith("gap:"):
            length, _, frames = what[4:].partition("@")
            first, _, last = frames.partition("-")
            numbers = range(int(first), int(last or first) + 1) if frames else ()
            found = framer.feed(ChannelGap(CHANNEL, True, int(length) if length else None, tuple(numbers), "a hole"))
        elif what == "end":
            found = framer.finish()
        else:
            frame += 1
            piece = bytes_in(what.lstrip("&"))
            found = taken(framer, frame, piece, fresh=not what.startswith("&"), smb=CARRIED.get(how))
        out += [f"{word}: {shown(item)}" for item in found]
    if framer.held.length:
        out.append(f"{framer.held.length} bytes held")
    return "".join(f"  = {line}\n" for line in out)


TOLD = Told(Path(__file__).with_name("framer.txt"), said)


@pytest.mark.parametrize("name", TOLD.words)
def test_pieces_of_a_stream_are_pdus_as_far_as_they_are_there(name: str) -> None:
    TOLD.holds(name)


@pytest.mark.parametrize("first", range(1, len(ASK) + 1))
def test_a_pdu_is_whole_with_its_last_byte_wherever_it_is_cut(first: int) -> None:
    framer, both = Framer(), ASK + ASK + ASK[:3]
    out = taken(framer, 1, both[:first]) + taken(framer, 2, both[first:], fresh=False)
    assert [item.data.data for item in out if isinstance(item, RawPdu)] == [ASK, ASK]
    assert (len(out), framer.held.length) == (2, 3)
    if 16 <= first < len(ASK):
        # What lacks of a PDU is known from its header on; what follows is not copied.
        assert isinstance(out[1], RawPdu)
        assert (out[1].start, len(out[1].piece)) == (len(ASK) - first, len(both) - first)


@pytest.mark.parametrize("first", range(1, 30))
def test_a_header_is_found_behind_a_loss_wherever_it_is_cut(first: int) -> None:
    framer, data = Framer(), b"\x05ab\x05\0tail" + ASK
    framer.feed(ChannelGap(CHANNEL, True, 4, (), "a hole"))
    out = taken(framer, 1, data[:first], fresh=False) + taken(framer, 2, data[first:], fresh=False)
    assert [item.length if isinstance(item, LostPdus) else item.data.data for item in out] == [4 + 9, ASK]


@pytest.mark.parametrize(
    ("at", "value", "is_one", "is_strictly"),
    [
        (0, 5, True, True),
        (0, 4, False, False),
        (0, 6, False, False),
        (1, 1, True, True),
        (1, 2, False, False),
        (2, 1, False, False),  # ping, of the connectionless protocol
        (2, 20, True, True),
        (2, 21, False, False),
        (4, 0x11, True, False),
        (4, 0x20, False, False),
        (5, 3, True, True),
        (5, 4, True, False),
        (6, 1, True, False),
        (7, 1, True, False),
        (8, 24, True, True),
        (8, 23, False, False),  # a request has 24 bytes before its stub
        (10, 1, True, True),
        (10, 4, True, True),
        (10, 5, False, False),  # with its trailer of 8 bytes it would begin inside the header
    ],
)
def test_what_may_begin_a_pdu(at: int, value: int, is_one: bool, is_strictly: bool) -> None:
    data = b"xx" + changed(ASK, at, value)
    assert looks_like_header(data, 2, strict=False) is is_one
    assert looks_like_header(data, 2, strict=True) is is_strictly


@pytest.mark.parametrize(
    ("ptype", "least"), [(0, 24), (2, 24), (3, 24), (11, 28), (12, 26), (13, 16), (16, 16), (18, 16), (19, 16)]
)
def test_no_pdu_is_shorter_than_its_fixed_fields(ptype: int, least: int) -> None:
    for length in (least - 1, least):
        data = pdu(ptype, bytes(40), frag_length=length)
        assert looks_like_header(data, 0, strict=True) is (length >= least)
        assert looks_like_header(pdu(ptype, bytes(40), frag_length=length, big=True), 0, strict=True) is (
            length >= least
        )


def test_a_header_is_read_in_both_byte_orders() -> None:
    for big in (False, True):
        data = b"?" + pdu(2, bytes(8), flags=0x83, call_id=0x01020304, big=big, minor=1, auth=Auth(bytes(5)))
        header = read_header(data, 1)
        assert (header.minor, header.ptype, header.flags, header.order) == (1, 2, 0x83, "big" if big else "little")
        assert (header.frag_length, header.auth_length, header.call_id) == (37, 5, 0x01020304)
        assert (header.drep, header.first, header.last) == (b"\0\0\0\0" if big else b"\x10\0\0\0", True, True)
    assert not read_header(pdu(2, flags=0x02)).first
    assert not read_header(pdu(2, flags=0x01)).last


@pytest.mark.parametrize(
    ("at", "value", "field", "where"),
    [
        (0, 4, "rpc_vers", (0, 2)),
        (1, 2, "rpc_vers", (0, 2)),
        (4, 0x20, "drep", (4, 8)),
        (8, 15, "frag_length", (8, 10)),
    ],
)
def test_what_is_wrong_with_a_header_is_named_with_its_place(
    at: int, value: int, field: str, where: tuple[int, int]
) -> None:
    with pytest.raises(MalformedError) as raised:
        read_header(changed(ASK, at, value))
    assert (raised.value.field, raised.value.start, raised.value.stop) == (field, *where)
    assert read_header(changed(changed(ASK, 8, 16), 4, 0x1F)).frag_length == HEADER_LEN


@pytest.mark.parametrize("big", [False, True])
def test_a_security_trailer_lies_before_the_auth_value_at_the_end(big: bool) -> None:
    data = pdu(0, bytes(12), big=big, auth=Auth(b"value", 6, 9, 0x01020304), pad=3)
    header = read_header(data)
    trailer = find_sec_trailer(header, b"??" + data, 24, 2)
    assert (trailer.auth_type, trailer.level, trailer.pad_length, trailer.context_id) == (9, 6, 3, 0x01020304)
    assert (trailer.start, trailer.stop, data[trailer.value]) == (28, 41, b"value")
    assert find_sec_trailer(header, data, 28) is not None
    with pytest.raises(MalformedError) as raised:
        find_sec_trailer(header, data, 29)
    assert (raised.value.field, raised.value.start, raised.value.stop) == ("auth_length", 10, 12)
    assert find_sec_trailer(read_header(ASK), ASK, 24) is None


@pytest.mark.parametrize("big", [False, True])
def test_a_bind_and_its_answer_give_all_their_fields(big: bool) -> None:
    offered = (context(3, PCQ, (NDR, NDR64), version=0x00020001, big=big), context(4, WINREG, big=big))
    data = bind(offered, group=0x01020304, big=big, auth=Auth(b"token"))
    parsed = parse_bind(read_header(data), data, len(data) - 13)
    assert (parsed.max_xmit_frag, parsed.max_recv_frag, parsed.assoc_group_id) == (4280, 4280, 0x01020304)
    assert [(one.context_id, one.abstract.uuid, one.abstract.version) for one in parsed.offers] == [
        (3, PCQ, (1, 2)),
        (4, WINREG, (1, 0)),
    ]
    assert [tuple((each.uuid, each.version) for each in one.transfer) for one in parsed.offers] == [
        ((NDR[0], (2, 0)), (NDR64[0], (1, 0))),
        ((NDR[0], (2, 0)),),
    ]
    for address in (b"135\0", b"\0", b"\\PIPE\\x\0"):
        data = bind_ack(((0, 0, NDR), (2, 1, NDR64)), group=7, address=address, big=big)
        answer = parse_bind_ack(read_header(data), data, len(data))
        assert (answer.secondary_address, answer.assoc_group_id) == (address[:-1].decode(), 7)
        assert [(one.result, one.reason, one.transfer.uuid) for one in answer.results] == [
            (0, 0, NDR[0]),
            (2, 1, NDR64[0]),
        ]
    with pytest.raises(TruncatedError):
        parse_bind_ack(read_header(data), data, len(data) - 1)
    nak = bind_nak(4)
    assert parse_bind_nak(read_header(nak), nak) == 4


@pytest.mark.parametrize("big", [False, True])
def test_the_fields_before_a_stub_are_those_of_its_kind(big: bool) -> None:
    ask = request(0x0102, b"stub", big=big, hint=99, context_id=5)
    head = parse_call_head(read_header(ask), b"?" + ask, 1)
    assert (head.alloc_hint, head.context_id, head.opnum, head.stub, head.object_uuid) == (99, 5, 0x0102, 24, None)
    answer = response(b"stub", big=big, hint=98, context_id=6)
    head = parse_call_head(read_header(answer), answer)
    assert (head.alloc_hint, head.context_id, head.stub, head.opnum, head.status) == (98, 6, 24, None, None)
    failed = fault(0x1C010003, big=big)
    head = parse_call_head(read_header(failed), b"?" + failed + b"?", 1, 1 + len(failed))
    assert (head.status, head.stub, head.opnum) == (0x1C010003, 32, None)
    short = failed[:28]
    assert parse_call_head(read_header(failed), short).stub == 28
    with_object = pdu(0, bytes(8) + b"\1" * 16 + b"stub", flags=3 | OBJECT, big=big)
    head = parse_call_head(read_header(with_object), with_object)
    assert (head.stub, head.object_uuid) == (40, "01010101-0101-0101-0101-010101010101")
    with pytest.raises(TruncatedError) as raised:
        parse_call_head(read_header(ask), ask, 0, 23)
    assert (raised.value.field, raised.value.start, raised.value.stop) == ("alloc_hint", 16, 23)
    assert parse_call_head(read_header(ask), ask, 0, 24).opnum == 0x0102


def test_what_was_read_of_a_pdu_does_not_change() -> None:
    """Values are shared by many calls."""
    for one in vars(pdu_module).values():
        if isinstance(one, type) and issubclass(one, msgspec.Struct) and one.__module__ == pdu_module.__name__:
            assert one.__struct_config__.frozen, one


def test_fragments_from_the_middle_with_equal_headers_are_taken_together() -> None:
    first, last = response(b"aaaa", flags=1), response(b"zzzz", flags=2)
    middle, other = (
        [response(stub, flags=0) for stub in (b"bbbb", b"cccc", b"dddd")],
        response(b"eeee", flags=0, call_id=2),
    )
    pieces = [
        TracedBytes.of_frame(b"".join(run), frame) for frame, run in ((1, [first, *middle]), (2, [other, last, last]))
    ]
    out = Framer().feed(ChannelBatch(CHANNEL, False, [(piece, 0, len(piece)) for piece in pieces], None, True))
    assert all(isinstance(item, RawPdu) for item in out)
    runs = [[one.data.data for one in item.each()] for item in out if isinstance(item, RawPdu)]
    # The first and the last fragment say so in their headers, so that none is like them.
    assert runs == [[first], middle, [other], [last], [last]]


@pytest.mark.parametrize("held", [1, 20])
def test_fragments_are_taken_together_up_to_one_that_is_cut(held: int) -> None:
    one = response(b"bbbb", flags=0)
    pieces = [TracedBytes.of_frame(data, frame) for frame, data in enumerate((one + one[:held], one[held:] + one), 1)]
    out = Framer().feed(ChannelBatch(CHANNEL, False, [(piece, 0, len(piece)) for piece in pieces], None, True))
    assert [[each.data.data for each in item.each()] for item in out if isinstance(item, RawPdu)] == [[one]] * 3


@pytest.mark.parametrize(
    "data",
    [pdu(2, bytes(4), flags=0), pdu(3, bytes(16), flags=0), request(1, b"", flags=0, object_uuid=str(UUID(int=9)))],
)
def test_fragments_with_more_in_their_head_are_taken_one_by_one(data: bytes) -> None:
    assert len(taken(Framer(), 1, data + data)) == 2

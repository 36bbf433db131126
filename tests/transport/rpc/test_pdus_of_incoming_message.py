"""What is kept of PDUs: the stub, whole or in part, is what the fragments hold, wherever it lies."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.byte_log import Log
from analyzer.core.traced_bytes import TracedBytes
from analyzer.interfaces.calls_from_exchanges import plain_call
from analyzer.results.calls.call_table import CallTable
from analyzer.results.calls.pdus import Fragments, frames_of, stub_of
from analyzer.transport.rpc import call_pairing as rpc_pdus
from analyzer.transport.rpc.call_pairing import FragmentPart, PduList
from tests.build.calls import Calls


def through_store(pdus: Fragments) -> Fragments:
    """The same PDUs, as a call has them that was packed and spilled."""
    call = plain_call(Calls().exchange(6, b"", None))
    assert call.request is not None
    calls = CallTable(memory=0)
    calls.append(replace(call, request=replace(call.request, pdus=pdus)))
    side = calls[0].request
    return side.pdus


# Of each PDU: what stands before its stub, the stub, what stands behind it.
_PDUS = st.lists(st.tuples(st.binary(max_size=3), st.binary(max_size=5), st.binary(max_size=2)), min_size=1, max_size=5)


@given(_PDUS, st.booleans(), st.booleans(), st.data())
def test_any_part_of_a_stub_in_clear(
    parts: list[tuple[bytes, bytes, bytes]], in_one_piece: bool, packed: bool, draw: st.DataObject
) -> None:
    wholes = [head + stub + tail for head, stub, tail in parts]
    pieces = [TracedBytes.of_frame(whole, number, 7, number) for number, whole in enumerate(wholes, 1)]
    if in_one_piece:
        pieces = [TracedBytes.of_frame(b"".join(wholes), 1, 7, 1)] * len(wholes)
    starts = [0, *accumulate(map(len, wholes))] if in_one_piece else [0] * len(wholes)
    pdus = PduList()
    for piece, at, whole, (head, stub, _) in zip(pieces, starts, wholes, parts, strict=False):
        pdus.add(FragmentPart(piece, at, len(whole), None, len(head), len(head) + len(stub), None))
    kept, times = pdus.kept()
    assert times == pdus.times
    if packed:
        kept = through_store(kept)
    stub, stated = stub_of(kept), b"".join(part[1] for part in parts)
    assert (stub.data, len(stub)) == (stated, len(stated))
    start = draw.draw(st.integers(0, len(stated)))
    stop = draw.draw(st.integers(start, len(stated)))
    assert stub.part(start, stop) == stub.view(start, stop).data == stated[start:stop]
    assert sum(extent.length for extent in stub.origin(start, stop)) == stop - start
    assert [fragment.pdu.data for fragment in kept] == wholes
    assert frames_of(kept) == tuple(sorted({frame for piece in pieces if len(piece) for frame in piece.frames}))


@given(_PDUS, st.sampled_from(["clear", "sealed", "some"]), st.integers(0, 30))
def test_what_is_long_is_the_same_from_its_spill_file(
    parts: list[tuple[bytes, bytes, bytes]], kind: str, room: int
) -> None:
    log = Log(0)
    here, there = PduList(), PduList(log)
    before, rpc_pdus._ROOM = rpc_pdus._ROOM, room
    try:
        for number, (head, stub, tail) in enumerate(parts, 1):
            whole = head + stub + tail
            plain = {"clear": None, "sealed": stub[::-1], "some": stub if number % 2 else Missing.SEALED}[kind]
            piece = TracedBytes.of_frame(whole + b"rest", number, 7, number)
            for each in (here, there):
                step = "rpc-seal" if isinstance(plain, bytes) else ""
                each.add(FragmentPart(piece, 0, len(whole), None, len(head), len(head) + len(stub), plain, step))
            log.append(b"of another message")
        (expected, _), (kept, times) = here.kept(), there.kept()
        assert times == there.times
    finally:
        rpc_pdus._ROOM = before
    assert kept == expected == through_store(kept)
    assert stub_of(kept) == stub_of(expected)
    assert frames_of(kept) == frames_of(expected)

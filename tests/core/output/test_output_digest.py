"""A digest that stands in what it is of."""

import io
from hashlib import sha256
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.output.output_digest import DIGITS, SealedOutput, digest_within, new_mark

MARK = ("pcq" + "0123456789abcdef" * 4)[:DIGITS]


def sealed(pieces: list[bytes]) -> bytes:
    out = io.BytesIO()
    writer = SealedOutput(out, MARK)
    for piece in pieces:
        assert writer.write(piece) == len(piece)
    writer.finish()
    return out.getvalue()


@given(
    st.binary(max_size=80) | st.just(MARK[:40].encode()),
    st.binary(max_size=80),
    st.lists(st.integers(0, 220)),
    st.booleans(),
)
def test_however_it_is_written_the_digest_is_of_all(before: bytes, after: bytes, cuts: list[int], twice: bool) -> None:
    whole = before + MARK.encode() + after + MARK.encode() * twice
    places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    found = sealed([whole[first:last] for first, last in pairwise(places)])
    plain = whole.replace(MARK.encode(), b"0" * DIGITS, 1)
    digest = sha256(plain).hexdigest()
    assert found == whole.replace(MARK.encode(), digest.encode(), 1)
    for piece in (1, 3, 64, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("analyzer.core.output.output_digest._PIECE", piece)
            assert digest_within(io.BytesIO(found), digest) == digest
            assert digest_within(io.BytesIO(found + b"x"), digest) != digest


@given(st.lists(st.binary(max_size=90)))
def test_without_a_mark_bytes_pass_as_they_are(pieces: list[bytes]) -> None:
    assert sealed(pieces) == b"".join(pieces)
    assert digest_within(io.BytesIO(b"".join(pieces)), MARK) is None


def test_what_stands_before_the_mark_does_not_wait() -> None:
    out = io.BytesIO()
    writer = SealedOutput(out, MARK)
    for number in range(5):
        writer.write(f"call {number}\n".encode())
        assert out.getvalue().endswith(f"call {number}\n".encode())
    writer.write(b"result p")
    assert out.getvalue().endswith(b"result ")


def test_marks_are_as_long_as_digests_and_never_the_same() -> None:
    assert len(new_mark()) == len(new_mark()) == DIGITS == sha256().digest_size * 2
    assert new_mark() != new_mark()

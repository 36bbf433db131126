"""MD4 gives the digests of RFC 1320, and those of scapy whatever the length."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.tls.crypto.hash import Hash_MD4

from analyzer.auth.ntlm_keys import md4

# Section A.5.
_DIGITS = "1234567890"


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        ("", "31d6cfe0d16ae931b73c59d7e0c089c0"),
        ("a", "bde52cb31de33e46245e05fbdbd6fb24"),
        ("abc", "a448017aaf21d8525fc10ae87aa6729d"),
        ("message digest", "d9130a8164549fe818874806e1c7014b"),
        ("abcdefghijklmnopqrstuvwxyz", "d79e1c308aa5bbcdeea8ed63df412da9"),
        (8 * _DIGITS, "e33b4ddc9c38f2199c3e7b164fcc0536"),
    ],
)
def test_the_test_suite_of_the_specification(text: str, digest: str) -> None:
    assert md4(text.encode()).hex() == digest


@given(st.binary(max_size=300))
def test_every_length_gives_what_scapy_gives(data: bytes) -> None:
    assert md4(data) == bytes(Hash_MD4().digest(data))

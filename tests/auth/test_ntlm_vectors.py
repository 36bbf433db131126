"""The examples of [MS-NLMP] section 4.2 come out byte for byte."""

import pytest

from analyzer.auth.ntlm import Authenticate, Challenge, parse_message
from analyzer.auth.ntlm_context import NtlmContext
from analyzer.auth.ntlm_keys import direction_keys, lm_hash, nt_hash, ntowf_v2, prove
from analyzer.results.security import Decryption
from tests.build.auth import authenticate_message, challenge_message

USER, DOMAIN, PASSWORD = "User", "Domain", "Password"
SERVER_CHALLENGE = bytes.fromhex("0123456789abcdef")
CLIENT_CHALLENGE = bytes.fromhex("aaaaaaaaaaaaaaaa")
RANDOM_SESSION_KEY = bytes.fromhex("55" * 16)
PLAINTEXT = "Plaintext".encode("utf-16-le")

V1_FLAGS, ESS_FLAGS, V2_FLAGS = 0xE2028233, 0x820A8233, 0xE28A8233
V1_NT = bytes.fromhex("67c43011f30298a2ad35ece64f16331c44bdbed927841f94")
V1_LM = bytes.fromhex("98def7b87f88aa5dafe2df779688a172def11c7d5ccdef13")


def messages(flags: int, lm_response: bytes, nt_response: bytes, key: bytes) -> tuple[Challenge, Authenticate]:
    names = [text.encode("utf-16-le") for text in (DOMAIN, USER, "COMPUTER")]
    challenge = parse_message(challenge_message(flags, SERVER_CHALLENGE))
    answer = parse_message(authenticate_message(flags, lm_response, nt_response, *names, key))
    assert isinstance(challenge, Challenge)
    assert isinstance(answer, Authenticate)
    return challenge, answer


def unsealed(context: NtlmContext, sealed: str, signature: str) -> bytes | None:
    body, verifier = bytes.fromhex(sealed), bytes.fromhex(signature)
    result = context.open("initiator", 6, body + verifier, slice(0, len(body)), slice(len(body), len(body) + 16))
    assert result.decryption is Decryption.DECRYPTED, result.reason
    return result.body


def test_password_hashes_are_those_of_4_2_2_1() -> None:
    assert nt_hash(PASSWORD).hex() == "a4f49c406510bdcab6824ee7c30fd852"
    assert lm_hash(PASSWORD).hex() == "e52cac67419a9a224a3b108f3fa6cb6d"


@pytest.mark.parametrize(
    ("extra", "encrypted"),
    [
        (0, "518822b1b3f350c8958682ecbb3e3cb7"),
        (0x400000, "7452ca55c225a1ca04b48fae32cf56fc"),
        (0x80, "4cd7bb57d697ef9b549f02b8f9b37864"),
    ],
    ids=["nt", "non-nt-session-key", "lm-key"],
)
def test_ntlmv1_session_keys_are_those_of_4_2_2(extra: int, encrypted: str) -> None:
    challenge, answer = messages(V1_FLAGS | extra, V1_LM, V1_NT, bytes.fromhex(encrypted))
    proof = prove(challenge, answer, nt_hash(PASSWORD), PASSWORD)
    assert proof.session_key == RANDOM_SESSION_KEY
    assert prove(challenge, answer, nt_hash("password"), "password") is None


def test_an_lm_response_alone_proves_the_password() -> None:
    challenge, answer = messages(V1_FLAGS & ~0x40000000, V1_LM, b"", b"")
    proof = prove(challenge, answer, nt_hash(PASSWORD), PASSWORD)
    assert proof.session_key == lm_hash(PASSWORD)[:8] + bytes(8)
    assert prove(challenge, answer, nt_hash("another"), "another") is None
    # Of an NT hash the LM hash cannot be made.
    assert prove(challenge, answer, nt_hash(PASSWORD)) is None


def test_sealing_without_extended_security_is_that_of_4_2_2_4() -> None:
    context = NtlmContext(RANDOM_SESSION_KEY, V1_FLAGS)
    sealed = "56fe04d861f9319af0d7238a2e3b4d457fb8"
    assert unsealed(context, sealed, "0100000045c844e509dcd1df2e459d36") == PLAINTEXT


def test_extended_session_security_is_that_of_4_2_3() -> None:
    response = bytes.fromhex("7537f803ae367128ca458204bde7caf81e97ed2683267232")
    challenge, answer = messages(ESS_FLAGS, CLIENT_CHALLENGE + bytes(16), response, b"")
    proof = prove(challenge, answer, nt_hash(PASSWORD))
    assert proof.session_key.hex() == "eb93429a8bd952f8b89c55b87f475edc"
    keys = direction_keys(proof.session_key, ESS_FLAGS, initiator=True)
    assert keys.seal.hex() == "04dd7f014d8504d265a25cc86a3a7c06"
    assert keys.sign.hex() == "60e799be5c72fc92922ae8ebe961fb8d"
    context = NtlmContext(proof.session_key, ESS_FLAGS)
    sealed = "a02372f6530273f3aa1eb90190ce5200c99d"
    assert unsealed(context, sealed, "01000000ff2aeb52f681793a00000000") == PLAINTEXT


def test_ntlmv2_is_that_of_4_2_4() -> None:
    assert ntowf_v2(nt_hash(PASSWORD), USER, DOMAIN).hex() == "0c868a403bfd7a93a3001ef22ef02e3f"
    temp = bytes.fromhex("0101000000000000" + "00" * 8 + "aa" * 8 + "00000000")
    temp += bytes.fromhex(
        "02000c0044006f006d00610069006e00" + "01000c00530065007200760065007200" + "00000000" + "00000000"
    )
    response = bytes.fromhex("68cd0ab851e51c96aabc927bebef6a1c") + temp
    encrypted = bytes.fromhex("c5dad2544fc9799094ce1ce90bc9d03e")
    lm_response = bytes.fromhex("86c35097ac9cec102554764a57cccc19aaaaaaaaaaaaaaaa")
    challenge, answer = messages(V2_FLAGS, lm_response, response, encrypted)
    assert (answer.info.domain, answer.info.computer) == ("Domain", "Server")
    proof = prove(challenge, answer, nt_hash(PASSWORD))
    assert proof.session_key == RANDOM_SESSION_KEY
    keys = direction_keys(proof.session_key, V2_FLAGS, initiator=True)
    assert keys.seal.hex() == "59f600973cc4960a25480a7c196e4c58"
    assert keys.sign.hex() == "4788dc861b4782f35d43fd98fe1a2d39"
    context = NtlmContext(proof.session_key, V2_FLAGS)
    sealed = "54e50165bf1936dc996020c1811b0f06fb5f"
    assert unsealed(context, sealed, "010000007fb38ec5c55d497600000000") == PLAINTEXT

"""Makes the keys of NTLM, and proves by them which password or hash made a captured response ([MS-NLMP] sections 3.3 and 3.4.5).

Proving a password needs the challenge and the authenticate message: the response computed from the key is compared with the
captured one. So a key that fits is known to be right. The ciphers' library is loaded with the first key that needs one.

MD4 (RFC 1320) is computed here, since OpenSSL 3 does not offer it by default. A password is hashed with it once. scapy has it too,
behind a configuration that takes longer to load than a small capture to read.
"""

from __future__ import annotations

import hmac
from functools import lru_cache
from hashlib import md5

from analyzer.auth.ntlm import Authenticate, Challenge, Flag, Negotiate
from analyzer.core.printable_text import Discreet

# ------------------------------------------------------------------------------------------------------------------ md4


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
    """Returns the MD4 digest of bytes, 16 bytes, by which NTLM hashes passwords."""
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
    """Computes the function F, G or H of NTLM's MD4 (RFC 1320 section 3.4), by the number of its round."""
    if number == 0:
        return x & y | ~x & z
    return x & y | x & z | y & z if number == 1 else x ^ y ^ z


# ------------------------------------------------------------------------------------------------------------------- keys


_CLIENT_SIGN = b"session key to client-to-server signing key magic constant\x00"
_SERVER_SIGN = b"session key to server-to-client signing key magic constant\x00"
_CLIENT_SEAL = b"session key to client-to-server sealing key magic constant\x00"
_SERVER_SEAL = b"session key to server-to-client sealing key magic constant\x00"


def nt_hash(password: str) -> bytes:
    """Returns the NT hash of a password: NTOWFv1, MD4 of its UTF-16 form ([MS-NLMP] section 3.3.1)."""
    return md4(password.encode("utf-16-le", "surrogatepass"))


def lm_hash(password: str) -> bytes:
    """Returns the LM hash of a password: LMOWFv1 ([MS-NLMP] section 3.3.1)."""
    short = password.upper().encode("cp437", "replace")[:14].ljust(14, b"\0")
    return _des(short[:7], b"KGS!@#$%") + _des(short[7:], b"KGS!@#$%")


def upper(text: str) -> str:
    """Returns a user or domain name in upper case like Windows does for NTLM: one code unit for one, no `SS` for a sharp s."""
    return "".join(big if len(big := char.upper()) == 1 else char for char in text)


def ntowf_v2(hash_of_password: bytes, user: str, domain: str) -> bytes:
    """Returns the key of NTLMv2 responses, from the hash of a password: NTOWFv2 ([MS-NLMP] section 3.3.2)."""
    return _hmac_md5(hash_of_password, (upper(user) + domain).encode("utf-16-le", "surrogatepass"))


def rc4(key: bytes, data: bytes) -> bytes:
    from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
    from cryptography.hazmat.primitives.ciphers import Cipher

    return Cipher(ARC4(key), mode=None).encryptor().update(data)


def _hmac_md5(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "md5")


def _des(key7: bytes, block: bytes) -> bytes:
    from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
    from cryptography.hazmat.primitives.ciphers import Cipher, modes

    bits = int.from_bytes(key7, "big")
    key = bytes(((bits >> (49 - 7 * at)) & 0x7F) << 1 for at in range(8))
    # ECB of one block is what the LM and NTLMv1 responses are made of; single DES is triple DES with one key.
    return Cipher(TripleDES(key * 3), modes.ECB()).encryptor().update(block)


def _desl(key16: bytes, block: bytes) -> bytes:
    key = key16.ljust(21, b"\0")
    return _des(key[:7], block) + _des(key[7:14], block) + _des(key[14:], block)


class Proof(Discreet, frozen=True):
    """The proof that a key made the captured NTLM response. `session_key` is the ExportedSessionKey, `domain` the name that was
    hashed."""

    hidden = ("session_key", "domain")
    session_key: bytes
    domain: str


def prove(
    challenge: Challenge,
    answer: Authenticate,
    key: bytes,
    password: str | None = None,
    domains: tuple[str, ...] = (),
) -> Proof | None:
    """Returns the proof with NTLM's session key if `key` (an NT hash) made the response, else None.

    `domains` are further spellings to try: the name that a client hashes is not always the one that it sends.
    """
    flags = answer.flags or challenge.flags
    if answer.is_v2:
        for domain in dict.fromkeys((answer.domain, *domains, "", upper(answer.domain), challenge.info.domain or "")):
            response_key = ntowf_v2(key, answer.user, domain)
            proof = _hmac_md5(response_key, challenge.challenge + answer.nt_response[16:])
            if hmac.compare_digest(proof, answer.nt_response[:16]):
                return Proof(_exported(answer, flags, _hmac_md5(response_key, proof)), domain)
        return None
    if len(answer.nt_response) == 24:
        base = challenge.challenge
        extended = bool(flags & Flag.EXTENDED_SESSIONSECURITY)
        if extended:
            base = md5(base + answer.lm_response[:8]).digest()[:8]
        if hmac.compare_digest(_desl(key, base), answer.nt_response):
            return Proof(_exported(answer, flags, _kxkey_v1(challenge, answer, flags, key, password)), answer.domain)
        return None
    if len(answer.lm_response) == 24 and password is not None:
        # Windows 9x and clients so configured: only the LM response is there.
        hashed = lm_hash(password)
        if hmac.compare_digest(_desl(hashed, challenge.challenge), answer.lm_response):
            return Proof(_exported(answer, flags, _lm_kxkey(answer, flags, hashed)), answer.domain)
    return None


def anonymous(answer: Authenticate) -> Proof:
    """Returns the proof of an NTLM null session: its key exchange key is sixteen zeros ([MS-NLMP] section 3.2.5.1.2)."""
    return Proof(_exported(answer, answer.flags, bytes(16)), answer.domain)


def _kxkey_v1(challenge: Challenge, answer: Authenticate, flags: int, key: bytes, password: str | None) -> bytes:
    """Returns the key exchange key of NTLMv1: KXKEY ([MS-NLMP] section 3.4.5.1)."""
    base = md4(key)
    if flags & Flag.EXTENDED_SESSIONSECURITY:
        return _hmac_md5(base, challenge.challenge + answer.lm_response[:8])
    if flags & (Flag.LM_KEY | Flag.NON_NT_SESSION_KEY) and password is not None:
        return _lm_kxkey(answer, flags, lm_hash(password))
    return base


def _lm_kxkey(answer: Authenticate, flags: int, hashed: bytes) -> bytes:
    if flags & Flag.LM_KEY:
        block = answer.lm_response[:8].ljust(8, b"\0")
        return _des(hashed[:7], block) + _des(hashed[7:8] + b"\xbd" * 6, block)
    return hashed[:8] + bytes(8)


def _exported(answer: Authenticate, flags: int, key_exchange_key: bytes) -> bytes:
    if flags & Flag.KEY_EXCH and len(answer.encrypted_session_key) == 16:
        return rc4(key_exchange_key, answer.encrypted_session_key)
    return key_exchange_key


def mic_is_right(session_key: bytes, negotiate: Negotiate, challenge: Challenge, answer: Authenticate) -> bool | None:
    """Whether the MIC over the three NTLM messages fits ([MS-NLMP] section 3.1.5.1.2). None if there is no MIC."""
    at = answer.ofs_mic
    if at is None:
        return None
    blanked = answer.raw[:at] + bytes(16) + answer.raw[at + 16 :]
    expected = _hmac_md5(session_key, negotiate.raw + challenge.raw + blanked)
    return hmac.compare_digest(expected, answer.raw[at : at + 16])


class DirectionKeys(Discreet, frozen=True):
    """The signing and the sealing key that an NTLM exchange gives one sender ([MS-NLMP] sections 3.4.5.2 and 3.4.5.3)."""

    hidden = ("sign", "seal")
    sign: bytes
    seal: bytes


@lru_cache(maxsize=64)
def direction_keys(session_key: bytes, flags: int, *, initiator: bool) -> DirectionKeys:
    """Returns the signing and the sealing key that an NTLM exchange gives one sender under its negotiated flags."""
    if flags & Flag.EXTENDED_SESSIONSECURITY:
        weak = session_key
        if not flags & Flag.KEY_128:
            weak = session_key[:7] if flags & Flag.KEY_56 else session_key[:5]
        sign = md5(session_key + (_CLIENT_SIGN if initiator else _SERVER_SIGN)).digest()
        return DirectionKeys(sign, md5(weak + (_CLIENT_SEAL if initiator else _SERVER_SEAL)).digest())
    if flags & Flag.LM_KEY:
        seal = session_key[:7] + b"\xa0" if flags & Flag.KEY_56 else session_key[:5] + b"\xe5\x38\xb0"
        return DirectionKeys(b"", seal)
    return DirectionKeys(b"", session_key)

"""Opens and checks messages with Kerberos per-message tokens (RFC 4121, RFC 4757 section 7, [MS-KILE] section 3.4.5, [MS-RPCE]
section 3.3.1.5.2).

RPC uses DCE style: the body stays where it is, and what a token has besides lies in the auth_value. For AES that is the 16-byte
token header and the rotated rest of the ciphertext. With EC bytes of filler, the encrypted copy of the header and the checksum
behind the body, the whole is turned right by RRC + EC. Then the first part goes to the auth_value, and the last `len(body)` bytes
are the body. Stacks differ in EC (16, or what fills the last block, 0 included), so the lengths decide nothing and the token's own
fields are followed. With header signing the checksum covers header, body and sec_trailer, while only the body is encrypted.

Every token names its place in the sequence and is opened on its own: a lost message costs only itself.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from hashlib import md5
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from msgspec import Struct

from analyzer.auth.der import unwrap_gss
from analyzer.auth.hmac_key import Hmac
from analyzer.auth.kerberos import RC4_HMAC, Key
from analyzer.auth.ntlm_keys import rc4
from analyzer.auth.security_types import Sender, Unprotected
from analyzer.core.errors import DecodeError
from analyzer.results.security import AuthLevel, Decryption

_CFX_HEADER_LEN = 16
_WRAP, _MIC = b"\x05\x04", b"\x04\x04"
_WRAP_RC4, _MIC_RC4 = b"\x02\x01", b"\x01\x01"
_SENT_BY_ACCEPTOR, _SEALED, _ACCEPTOR_SUBKEY = 1, 2, 4

# RFC 4121 section 2: key usages of the acceptor; the initiator's are two higher.
_USAGE_SEAL, _USAGE_SIGN = 22, 23

_HASHES = {17: "sha1", 18: "sha1", 19: "sha256", 20: "sha384"}


class _Parts(Struct):
    """One RPC PDU protected by Kerberos, taken apart."""

    header: bytes
    body: bytes
    trailer: bytes
    token: bytes
    sealed: bool


class _AesKeys:
    """The AES keys that a Kerberos context derives from one key and usage (RFC 3961 section 5.3, RFC 8009 section 5). They are made
    once."""

    def __init__(self, engine: Any, usage: int) -> None:
        self._profile = engine.ep
        self.is_rfc8009 = bool(self._profile.rfc8009)
        self.mac_len = int(self._profile.macsize)
        self._hash = _HASHES[int(engine.etype)]
        mac_bits, key_bits = self.mac_len * 8, int(self._profile.keysize) * 8
        self._seal = Hmac(self._derive(engine, usage, 0x55, mac_bits), self._hash)
        self._ke = self._derive(engine, usage, 0xAA, key_bits)
        self._sign = Hmac(self._derive(engine, usage, 0x99, mac_bits), self._hash)
        self._block = Cipher(algorithms.AES(self._ke), modes.ECB()).decryptor()
        self._chain = Cipher(algorithms.AES(self._ke), modes.CBC(bytes(16))).decryptor()
        self._vector = 0

    def _derive(self, engine: Any, usage: int, kind: int, bits: int) -> bytes:
        constant = usage.to_bytes(4, "big") + bytes([kind])
        extra = (bits,) if self.is_rfc8009 else ()
        return bytes(self._profile.derive(engine, constant, *extra))

    def decrypt(self, cipher: bytes) -> bytes:
        """Decrypts a message under a Kerberos context: AES in CBC mode with ciphertext stealing, its last two blocks swapped (RFC
        3962 section 5).

        `Profile.basic_decrypt` does the same a block at a time in Python; for message bodies that is a hundred times
        slower. Two blocks at least are there: the confounder, and the copy of the token's header.
        """
        rest = len(cipher) % 16 or 16
        head, full, last = cipher[: -16 - rest], cipher[-16 - rest : -rest], cipher[-rest:]
        opened = self._block.update(full)
        stolen = int.from_bytes(opened[:rest], "big") ^ int.from_bytes(last, "big")
        return self._cbc(head + last + opened[rest:]) + stolen.to_bytes(rest, "big")

    def _cbc(self, cipher: bytes) -> bytes:
        """Decrypts the ciphertext of a message under a Kerberos context by AES in CBC mode with an initial vector of zeros.

        Making a cipher context costs more than a short message. So one context goes on from message to message. It takes the last
        block of the message before as the initial vector, and that is undone in the first block.
        """
        plain = self._chain.update(cipher)
        first = int.from_bytes(plain[:16], "big") ^ self._vector
        self._vector = int.from_bytes(cipher[-16:], "big")
        return first.to_bytes(16, "big") + plain[16:]

    def seal_mac(self, signed: bytes) -> bytes:
        return self._seal.digest(signed)[: self.mac_len]

    def sign_mac(self, signed: bytes) -> bytes:
        return self._sign.digest(signed)[: self.mac_len]


class KerberosContext:
    """Opens the messages of one Kerberos security context. `keys` are in order of preference. `lacks` says why the acceptor's
    subkey is not known, if it may have chosen one: a message that no key opens is not wrong then."""

    def __init__(self, keys: tuple[Key, ...], lacks: str | None = None) -> None:
        self._keys = keys
        self._lacks = lacks
        self._derived: dict[tuple[Key, int], _AesKeys] = {}
        self._header_signed = True
        # Which key opened the last messages with these flags: it is the first to be tried.
        self._proven: dict[int, Key] = {}

    def __repr__(self) -> str:
        return "KerberosContext()"

    def lost(self, sender: Sender, length: int | None) -> None:
        """Does nothing for a lost message, because every Kerberos token stands alone."""

    def open(self, sender: Sender, level: int, pdu: bytes, body: slice, verifier: slice) -> Unprotected:
        """Opens or checks one PDU under Kerberos (`SecurityContext.open`)."""
        start, stop, _ = body.indices(len(pdu))
        at, end, _ = verifier.indices(len(pdu))
        if level < AuthLevel.PKT:
            return Unprotected(pdu[start:stop], None, Decryption.NOT_SEALED)
        parts = _Parts(pdu[:start], pdu[start:stop], pdu[stop:at], pdu[at:end], level >= AuthLevel.PRIVACY)
        found, reason, decryption = self._open(parts)
        if found is not None:
            plain, header_signed = found
            self._header_signed = header_signed
            return Unprotected(
                plain, True, Decryption.DECRYPTED if parts.sealed else Decryption.NOT_SEALED, None, header_signed
            )
        verified = None if decryption is Decryption.NO_HANDSHAKE else False
        if parts.sealed:
            return Unprotected(None, verified, decryption, reason)
        return Unprotected(parts.body, verified, Decryption.NOT_SEALED, reason)

    def _open(self, parts: _Parts) -> tuple[tuple[bytes, bool] | None, str, Decryption]:
        token = parts.token
        kind = token[:2]
        if token[:1] == b"\x60":
            try:
                framed = unwrap_gss(token)
            except DecodeError as error:
                return None, f"the verifier is no Kerberos token: {error}", Decryption.WRONG_KEY
            token = framed[1] if framed is not None else b""
            kind = token[:2]
        found: tuple[bytes, bool] | None = None
        cfx = kind in (_WRAP, _MIC)
        if not cfx and kind not in (_WRAP_RC4, _MIC_RC4):
            return None, "the verifier is no Kerberos token", Decryption.WRONG_KEY
        keys = [key for key in self._keys if (key.etype == RC4_HMAC) != cfx and key.is_usable]
        # Only newer tokens say whether they are under the acceptor's subkey (RFC 4121 section 4.2.2).
        by_acceptor = not cfx or bool(token[2:3] and token[2] & _ACCEPTOR_SUBKEY)
        if not keys and not (by_acceptor and self._lacks):
            types = ", ".join(str(key.etype) for key in self._keys)
            return None, f"no key of the context (encryption types {types}) fits the token", Decryption.UNSUPPORTED
        if cfx and len(token) >= _CFX_HEADER_LEN:
            for key in self._in_order(keys, token[2]):
                found = self._open_wrap(parts, token, key) if kind == _WRAP else self._check_mic(parts, token, key)
                if found is not None:
                    self._proven[token[2]] = key
                    break
        elif not cfx:
            for key in keys:
                found = self._open_rc4(parts, token, key.data)
                if found is not None:
                    break
        if by_acceptor and self._lacks is not None:
            if found is None:
                return None, self._lacks, Decryption.NO_HANDSHAKE
            self._lacks = None
        number = int.from_bytes(token[8:16], "big") if cfx else None
        which = f" {number}" if number is not None else ""
        return found, f"the checksum of message{which} does not fit", Decryption.WRONG_KEY

    def _in_order(self, keys: list[Key], flags: int) -> list[Key]:
        proven = self._proven.get(flags)
        if proven is not None and proven in keys:
            return [proven, *(key for key in keys if key is not proven)]
        # The token says whether the acceptor's subkey is in use; where there is none the flag means nothing.
        return keys if flags & _ACCEPTOR_SUBKEY else [*keys[1:], keys[0]]

    def _derive(self, key: Key, usage: int) -> _AesKeys:
        if (key, usage) not in self._derived:
            self._derived[key, usage] = _AesKeys(key.engine(), usage)
        return self._derived[key, usage]

    def _ways(self) -> tuple[bool, bool]:
        return self._header_signed, not self._header_signed

    def _open_wrap(self, parts: _Parts, token: bytes, key: Key) -> tuple[bytes, bool] | None:
        flags = token[2]
        usage = _USAGE_SEAL + (0 if flags & _SENT_BY_ACCEPTOR else 2)
        keys = self._derive(key, usage)
        if not flags & _SEALED:
            if parts.sealed:
                return None
            header = token[:4] + bytes(4) + token[8:16]
            return self._check(parts, keys, token[_CFX_HEADER_LEN:], header)
        extra, rotation = int.from_bytes(token[4:6], "big"), int.from_bytes(token[6:8], "big")
        wire = token[_CFX_HEADER_LEN:] + parts.body
        if len(wire) < 16 + len(parts.body) + extra + 16 + keys.mac_len:
            return None
        # DCE style turns by RRC + EC, plain GSS-API by RRC alone.
        for turn in dict.fromkeys(((rotation + extra) % len(wire), rotation % len(wire))):
            turned = wire[turn:] + wire[:turn]
            found = self._decrypt(parts, keys, turned[: -keys.mac_len], turned[-keys.mac_len :])
            if found is not None:
                return found
        return None

    def _decrypt(self, parts: _Parts, keys: _AesKeys, cipher: bytes, mac: bytes) -> tuple[bytes, bool] | None:
        stop = 16 + len(parts.body)
        plain: bytes | None = None
        if keys.is_rfc8009:
            # RFC 8009 section 5: the checksum covers the initial vector and the ciphertext.
            prefix, covered = bytes(16), cipher
        else:
            plain = keys.decrypt(cipher)
            prefix, covered = b"", plain
        for header_signed in self._ways():
            signed = covered
            if header_signed:
                signed = covered[:16] + parts.header + covered[16:stop] + parts.trailer + covered[stop:]
            if hmac.compare_digest(keys.seal_mac(prefix + signed), mac):
                return (plain if plain is not None else keys.decrypt(cipher))[16:stop], header_signed
        return None

    def _check_mic(self, parts: _Parts, token: bytes, key: Key) -> tuple[bytes, bool] | None:
        if parts.sealed:
            return None
        usage = _USAGE_SIGN + (0 if token[2] & _SENT_BY_ACCEPTOR else 2)
        return self._check(parts, self._derive(key, usage), token[_CFX_HEADER_LEN:], token[:_CFX_HEADER_LEN])

    def _check(self, parts: _Parts, keys: _AesKeys, mac: bytes, header: bytes) -> tuple[bytes, bool] | None:
        for header_signed in self._ways():
            covered = parts.header + parts.body + parts.trailer if header_signed else parts.body
            if hmac.compare_digest(keys.sign_mac(covered + header), mac):
                return parts.body, header_signed
        return None

    def _open_rc4(self, parts: _Parts, token: bytes, key: bytes) -> tuple[bytes, bool] | None:
        """Opens a message under a Kerberos context with an RC4 token: RFC 4757 section 7.2 (MIC) and 7.3 (wrap)."""
        wrap = token[:2] == _WRAP_RC4
        if len(token) < (32 if wrap else 24) or token[2:4] != b"\x11\x00" or wrap != parts.sealed:
            return None
        checksum = token[16:24]
        body, confounder = parts.body, b""
        if wrap:
            if token[4:6] != b"\x10\x00":
                return None
            sequence_key = hmac.digest(hmac.digest(key, bytes(4), "md5"), checksum, "md5")
            number = rc4(sequence_key, token[8:16])[:4]
            local = bytes(octet ^ 0xF0 for octet in key)
            seal_key = hmac.digest(hmac.digest(local, bytes(4), "md5"), number, "md5")
            opened = rc4(seal_key, token[24:32] + body)
            confounder, body = opened[:8], opened[8:]
        signing_key = hmac.digest(key, b"signaturekey\x00", "md5")
        salt = (13 if wrap else 15).to_bytes(4, "little")
        for header_signed in self._ways():
            covered = parts.header + body + parts.trailer if header_signed else body
            for padding in _paddings(covered):
                digest = md5(salt + token[:8] + confounder + covered + padding).digest()
                if hmac.compare_digest(hmac.digest(signing_key, digest, "md5")[:8], checksum):
                    return body, header_signed
        return None


def _paddings(covered: bytes) -> Iterator[bytes]:
    """Yields the paddings that Kerberos stacks sign behind the message but do not send: none (MIT, Heimdal and Windows in DCE
    style), padding to eight (RFC 1964 section 1.2.2.3, scapy), or the one byte that RFC 4757 section 7.3 pads to."""
    yield b""
    if short := -len(covered) % 8:
        yield bytes([short]) * short
    yield b"\x01"

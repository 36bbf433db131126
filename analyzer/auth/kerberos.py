"""Reads Kerberos messages, and opens tickets and their keys with long-term keys (RFC 4120, RFC 3961 and successors).

Messages are read with our own small DER reader (see `analyzer.auth.der` for why). All cryptography is `scapy.libs.rfc3961`,
imported when the first encrypted part is met. An encrypted part proves the key that opens it: each carries a checksum.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec import Struct

from analyzer.auth.der import SEQUENCE, Piece, read, unwrap_gss
from analyzer.auth.ntlm_keys import nt_hash
from analyzer.core.errors import DecodeError, MalformedError, UnsupportedError
from analyzer.core.printable_text import Discreet
from analyzer.transport.tcp.protocol_recognition import KDC_REPLIES

SUPPORTED_ETYPES = frozenset({17, 18, 19, 20, 23})
RC4_HMAC = 23

# RFC 4120 section 7.5.1.
_USAGE_TICKET, _USAGE_AUTHENTICATOR, _USAGE_AP_REP = 2, 11, 12

KRB5_OIDS = frozenset({"1.2.840.113554.1.2.2", "1.2.840.48018.1.2.2", "1.2.840.113554.1.2.2.3"})
# APPLICATION tag of a ticket.
_TICKET = 0x61
# AP-REQ, AP-REP and KRB-ERROR (RFC 4121 section 4.1).
_TOKEN_IDS = frozenset({b"\x01\x00", b"\x02\x00", b"\x03\x00"})

ERROR_NAMES = {
    6: "KDC_ERR_C_PRINCIPAL_UNKNOWN",
    7: "KDC_ERR_S_PRINCIPAL_UNKNOWN",
    14: "KDC_ERR_ETYPE_NOSUPP",
    24: "KDC_ERR_PREAUTH_FAILED",
    31: "KRB_AP_ERR_BAD_INTEGRITY",
    32: "KRB_AP_ERR_TKT_EXPIRED",
    33: "KRB_AP_ERR_TKT_NYV",
    34: "KRB_AP_ERR_REPEAT",
    35: "KRB_AP_ERR_NOT_US",
    36: "KRB_AP_ERR_BADMATCH",
    37: "KRB_AP_ERR_SKEW",
    41: "KRB_AP_ERR_MODIFIED",
    44: "KRB_AP_ERR_BADKEYVER",
    45: "KRB_AP_ERR_NOKEY",
    60: "KRB_ERR_GENERIC",
}

ETYPE_NAMES = {
    1: "des-cbc-crc",
    3: "des-cbc-md5",
    16: "des3-cbc-sha1-kd",
    17: "aes128-cts-hmac-sha1-96",
    18: "aes256-cts-hmac-sha1-96",
    19: "aes128-cts-hmac-sha256-128",
    20: "aes256-cts-hmac-sha384-192",
    23: "rc4-hmac",
    24: "rc4-hmac-exp",
    25: "camellia128-cts-cmac",
    26: "camellia256-cts-cmac",
}


def etype_name(etype: int) -> str:
    """Returns the name of a Kerberos encryption type (IANA registry), or its number as `etype 99`."""
    return ETYPE_NAMES.get(etype, f"etype {etype}")


class Key(Discreet, frozen=True):
    """A Kerberos key of one encryption type."""

    hidden = ("data",)
    etype: int
    data: bytes

    def __repr__(self) -> str:
        return f"Key(etype {self.etype})"

    def decrypt(self, usage: int, cipher: bytes) -> bytes | None:
        """Returns the plaintext of a Kerberos ciphertext if this key made it, else None."""
        engine = _engine(self.etype, self.data)
        if engine is None:
            return None
        try:
            return bytes(engine.decrypt(usage, cipher))
        except ValueError:
            return None

    @property
    def is_usable(self) -> bool:
        return _engine(self.etype, self.data) is not None

    def engine(self) -> Any:
        """Returns the Kerberos key as scapy's object, which encrypts and decrypts. The key must be usable."""
        return _engine(self.etype, self.data)


@lru_cache(maxsize=256)
def _engine(etype: int, data: bytes) -> Any:
    if etype not in SUPPORTED_ETYPES:
        return None
    from scapy.libs.rfc3961 import Key as ScapyKey

    try:
        return ScapyKey(etype, key=data)
    except (ValueError, AssertionError):
        # Not a key of that type: wrong length, or none at all.
        return None


def default_salt(principal: str, realm: str) -> str:
    """Returns the Kerberos salt of RFC 4120 section 4: the realm and the components. Computer accounts of Active Directory differ:
    `REALM`, `host`, and the lower-case host name with its domain ([MS-KILE] section 3.1.1.2)."""
    return realm + "".join(principal.split("/"))


@lru_cache(maxsize=256)
def string_to_key(etype: int, password: str, salt: str | bytes, iterations: int | None = None) -> bytes:
    """Returns the Kerberos key made from a password (RFC 3962, 8009, 4757). `iterations` None: the default count of the type."""
    if etype not in SUPPORTED_ETYPES:
        raise UnsupportedError(f"no string-to-key for encryption type {etype}")
    if etype == RC4_HMAC:
        return nt_hash(password)
    from scapy.libs.rfc3961 import EncryptionType
    from scapy.libs.rfc3961 import Key as ScapyKey

    salted = salt.encode("utf-8", "surrogatepass") if isinstance(salt, str) else salt
    params = None if iterations is None else iterations.to_bytes(4, "big")
    made = ScapyKey.string_to_key(EncryptionType(etype), password.encode("utf-8", "surrogatepass"), salted, params)
    return bytes(made.key)


class Encrypted(Discreet, frozen=True):
    """An EncryptedData of Kerberos (RFC 4120 section 5.2.9)."""

    hidden = ("cipher",)
    etype: int
    kvno: int | None
    cipher: bytes


class ApReq(Discreet, frozen=True):
    """A Kerberos AP-REQ (RFC 4120 section 5.5.1), with the clear part of its ticket. `service` is `host/name` without the realm."""

    hidden = ("raw", "ticket_raw")
    raw: bytes
    realm: str
    service: str
    ticket: Encrypted
    ticket_raw: bytes
    authenticator: Encrypted


class KdcReply(Discreet, frozen=True):
    """A Kerberos message of a KDC, AS-REP or TGS-REP (RFC 4120 section 5.4.2), in its clear part: the client, and the ticket that
    was issued to it."""

    hidden = ("ticket_raw",)
    client: str
    realm: str
    ticket_raw: bytes
    ticket_etype: int
    reply_etype: int


class ApRep(Discreet, frozen=True):
    """A Kerberos AP-REP (RFC 4120 section 5.5.2)."""

    hidden = ("raw",)
    raw: bytes
    part: Encrypted


class KrbError(Struct, frozen=True):
    """A Kerberos error message, KRB-ERROR (RFC 4120 section 5.9.1)."""

    code: int

    @property
    def name(self) -> str:
        return ERROR_NAMES.get(self.code, f"error {self.code}")


class TicketPart(Struct, frozen=True):
    """The opened EncTicketPart of a Kerberos ticket: session key and client."""

    session_key: Key
    client: str
    realm: str


class AuthenticatorPart(Struct, frozen=True):
    """The opened Authenticator of a Kerberos AP-REQ. `subkey` is None if the initiator chose none."""

    subkey: Key | None
    client: str
    realm: str


Message = ApReq | ApRep | KrbError


def is_kerberos(token: bytes) -> bool:
    """Whether a token begins like a Kerberos AP-REQ, AP-REP or KRB-ERROR, bare or in the GSS-API framing."""
    if token[:1] in (b"\x6e", b"\x6f", b"\x7e"):
        return True
    try:
        framed = unwrap_gss(token)
    except DecodeError:
        return False
    return framed is not None and framed[0] in KRB5_OIDS


def parse_message(token: bytes) -> Message:
    """Parses one Kerberos message of an authentication: AP-REQ, AP-REP or KRB-ERROR. Raises `DecodeError`."""
    inner = token
    if (framed := unwrap_gss(token)) is not None:
        inner = framed[1]
        if inner[:2] not in _TOKEN_IDS:
            raise UnsupportedError(
                f"token id {inner[:2].hex()} is not one of context establishment", field="krb5.tok_id"
            )
        inner = inner[2:]
    outer = read(inner, 0, "krb5.message")
    if outer.tag == 0x6E:
        return _read_ap_req(outer)
    if outer.tag == 0x6F:
        fields = outer.only("krb5.ap_rep").fields("krb5.ap_rep")
        return ApRep(outer.raw, _encrypted(_required_field(fields, 2, "krb5.ap_rep.enc_part")))
    if outer.tag == 0x7E:
        fields = outer.only("krb5.krb_error").fields("krb5.krb_error")
        return KrbError(_required_field(fields, 6, "krb5.krb_error.error_code").integer("krb5.krb_error.error_code"))
    raise MalformedError(f"tag {outer.tag:#04x} is no AP-REQ, AP-REP or KRB-ERROR", field="krb5.message")


def _required_field(fields: dict[int, Piece], at: int, name: str) -> Piece:
    if at not in fields:
        raise MalformedError("is missing", field=name)
    return fields[at]


def _encrypted(piece: Piece) -> Encrypted:
    fields = piece.fields("krb5.encrypted_data")
    etype = _required_field(fields, 0, "krb5.etype").integer("krb5.etype")
    kvno = fields[1].integer("krb5.kvno") if 1 in fields else None
    return Encrypted(etype, kvno, _required_field(fields, 2, "krb5.cipher").octets("krb5.cipher"))


def _principal(piece: Piece) -> str:
    fields = piece.fields("krb5.principal_name")
    names = (
        _required_field(fields, 1, "krb5.name_string").expect(SEQUENCE, "krb5.name_string").children("krb5.name_string")
    )
    return "/".join(name.text("krb5.name_string") for name in names)


def _key(piece: Piece) -> Key:
    fields = piece.fields("krb5.encryption_key")
    etype = _required_field(fields, 0, "krb5.keytype").integer("krb5.keytype")
    return Key(etype, _required_field(fields, 1, "krb5.keyvalue").octets("krb5.keyvalue"))


def parse_as_or_tgs_rep(message: bytes) -> KdcReply:
    """Parses one Kerberos message, AS-REP or TGS-REP. Raises `DecodeError`."""
    outer = read(message, 0, "krb5.kdc_rep")
    if outer.raw[:1] not in KDC_REPLIES:
        raise MalformedError(f"tag {outer.tag:#04x} is no AS-REP or TGS-REP", field="krb5.kdc_rep")
    fields = outer.only("krb5.kdc_rep").fields("krb5.kdc_rep")
    ticket = _required_field(fields, 5, "krb5.ticket").expect(_TICKET, "krb5.ticket")
    inside = ticket.only("krb5.ticket").fields("krb5.ticket")
    return KdcReply(
        client=_principal(_required_field(fields, 4, "krb5.kdc_rep.cname")),
        realm=_required_field(fields, 3, "krb5.kdc_rep.crealm").text("krb5.kdc_rep.crealm"),
        ticket_raw=ticket.raw,
        ticket_etype=_encrypted(_required_field(inside, 3, "krb5.ticket.enc_part")).etype,
        reply_etype=_encrypted(_required_field(fields, 6, "krb5.kdc_rep.enc_part")).etype,
    )


def _read_ap_req(outer: Piece) -> ApReq:
    fields = outer.only("krb5.ap_req").fields("krb5.ap_req")
    whole = _required_field(fields, 3, "krb5.ticket").expect(_TICKET, "krb5.ticket")
    ticket = whole.only("krb5.ticket").fields("krb5.ticket")
    return ApReq(
        raw=outer.raw,
        realm=_required_field(ticket, 1, "krb5.ticket.realm").text("krb5.ticket.realm"),
        service=_principal(_required_field(ticket, 2, "krb5.ticket.sname")),
        ticket=_encrypted(_required_field(ticket, 3, "krb5.ticket.enc_part")),
        ticket_raw=whole.raw,
        authenticator=_encrypted(_required_field(fields, 4, "krb5.authenticator")),
    )


def open_ticket(request: ApReq, key: Key) -> TicketPart | None:
    """Opens a Kerberos ticket if `key` is the service's, else returns None. Raises `DecodeError` if its inside cannot be read."""
    plain = key.decrypt(_USAGE_TICKET, request.ticket.cipher) if key.etype == request.ticket.etype else None
    if plain is None:
        return None
    # Bytes behind the value are padding of ciphers that need it.
    fields = read(plain, 0, "krb5.enc_ticket_part").expect(0x63, "krb5.enc_ticket_part")
    inside = fields.only("krb5.enc_ticket_part").fields("krb5.enc_ticket_part")
    return TicketPart(
        session_key=_key(_required_field(inside, 1, "krb5.enc_ticket_part.key")),
        client=_principal(_required_field(inside, 3, "krb5.enc_ticket_part.cname")),
        realm=_required_field(inside, 2, "krb5.enc_ticket_part.crealm").text("krb5.enc_ticket_part.crealm"),
    )


def open_authenticator(request: ApReq, session_key: Key) -> AuthenticatorPart | None:
    """Opens a Kerberos authenticator with the ticket's session key. Returns None if the key does not fit."""
    plain = session_key.decrypt(_USAGE_AUTHENTICATOR, request.authenticator.cipher)
    if plain is None:
        return None
    outer = read(plain, 0, "krb5.authenticator").expect(0x62, "krb5.authenticator")
    inside = outer.only("krb5.authenticator").fields("krb5.authenticator")
    return AuthenticatorPart(
        subkey=_key(inside[6]) if 6 in inside else None,
        client=_principal(_required_field(inside, 2, "krb5.authenticator.cname")),
        realm=_required_field(inside, 1, "krb5.authenticator.crealm").text("krb5.authenticator.crealm"),
    )


def open_ap_rep(reply: ApRep, session_key: Key) -> tuple[bool, Key | None]:
    """Returns whether the session key opens the Kerberos AP-REP, and the acceptor's subkey, if it chose one."""
    plain = session_key.decrypt(_USAGE_AP_REP, reply.part.cipher)
    if plain is None:
        return False, None
    outer = read(plain, 0, "krb5.enc_ap_rep_part").expect(0x7B, "krb5.enc_ap_rep_part")
    inside = outer.only("krb5.enc_ap_rep_part").fields("krb5.enc_ap_rep_part")
    return True, _key(inside[2]) if 2 in inside else None

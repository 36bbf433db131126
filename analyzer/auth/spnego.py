"""Parses SPNEGO tokens and takes the mechanism's own tokens out of them (RFC 4178, NegTokenInit2 of [MS-SPNG] section 2.2.1)."""

from __future__ import annotations

from analyzer.auth.der import OCTET_STRING, OID, SEQUENCE, Piece, oid_text, read, unwrap_gss
from analyzer.core.errors import MalformedError
from analyzer.core.printable_text import Discreet

SPNEGO_OID = "1.3.6.1.5.5.2"

MECHANISMS = {
    "1.3.6.1.4.1.311.2.2.10": "ntlm",
    "1.2.840.113554.1.2.2": "krb5",
    "1.2.840.48018.1.2.2": "krb5",
    "1.2.840.113554.1.2.2.3": "krb5",
    "1.3.6.1.4.1.311.2.2.30": "negoex",
    "1.3.6.1.5.2.5": "iakerb",
}


class SpnegoToken(Discreet, frozen=True):
    """One SPNEGO message. `mechanisms` are names from `MECHANISMS` or dotted identifiers: the initiator's list in order of
    preference, or the one that the acceptor chose. `state` is negState (0 completed, 1 incomplete, 2 reject, 3 request-mic)."""

    hidden = ("token", "mic")
    is_init: bool
    mechanisms: tuple[str, ...]
    token: bytes | None
    mic: bytes | None
    state: int | None = None


def is_spnego(token: bytes) -> bool:
    """Whether a token begins like SPNEGO, with or without the GSS-API framing."""
    if token[:1] in (b"\xa0", b"\xa1"):
        return True
    return token[:1] == b"\x60" and b"\x06\x06\x2b\x06\x01\x05\x05\x02" in token[:16]


def parse_spnego(token: bytes) -> SpnegoToken:
    """Parses a SPNEGO token. Raises `DecodeError` if it is none."""
    inner = token
    if (framed := unwrap_gss(token)) is not None:
        mechanism, inner = framed
        if mechanism != SPNEGO_OID:
            raise MalformedError(f"GSS-API token of {mechanism}, not SPNEGO", field="spnego.thisMech")
    outer = read(inner, 0, "spnego")
    if outer.tag == 0xA0:
        return _read_init(outer.only("spnego.negTokenInit").fields("spnego.negTokenInit"))
    if outer.tag == 0xA1:
        return _read_resp(outer.only("spnego.negTokenResp").fields("spnego.negTokenResp"))
    raise MalformedError(f"tag {outer.tag:#04x} is neither negTokenInit nor negTokenResp", field="spnego")


def _name(piece: Piece) -> str:
    oid = oid_text(piece.expect(OID, "spnego.mechType").data)
    return MECHANISMS.get(oid, oid)


def _read_init(fields: dict[int, Piece]) -> SpnegoToken:
    mechanisms: tuple[str, ...] = ()
    if 0 in fields:
        listed = fields[0].expect(SEQUENCE, "spnego.mechTypes").children("spnego.mechTypes")
        mechanisms = tuple(dict.fromkeys(_name(piece) for piece in listed))
    token = fields[2].octets("spnego.mechToken") if 2 in fields else None
    # Field 3 is the MIC in RFC 4178 and negHints in NegTokenInit2, which has the MIC in field 4.
    mic = next((fields[at].data for at in (3, 4) if at in fields and fields[at].tag == OCTET_STRING), None)
    return SpnegoToken(True, mechanisms, token, mic)


def _read_resp(fields: dict[int, Piece]) -> SpnegoToken:
    mechanisms = (_name(fields[1]),) if 1 in fields else ()
    token = fields[2].octets("spnego.responseToken") if 2 in fields else None
    mic = fields[3].octets("spnego.mechListMIC") if 3 in fields else None
    state = fields[0].integer("spnego.negState") if 0 in fields else None
    return SpnegoToken(False, mechanisms, token, mic, state)

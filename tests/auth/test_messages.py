"""Fields of NTLM and SPNEGO messages, DER values and keytab entries at their bounds, byte by byte."""

from __future__ import annotations

import struct

import pytest

from analyzer.auth.der import OID, SEQUENCE, oid_text, read
from analyzer.auth.kerberos import ERROR_NAMES, KrbError
from analyzer.auth.keytab import KerberosKey, etype_name, is_keytab, parse_keytab, write_keytab
from analyzer.auth.ntlm import (
    Authenticate,
    Challenge,
    Flag,
    Negotiate,
    TargetInfo,
    direction_keys,
    parse_message,
    upper,
)
from analyzer.auth.spnego import is_spnego, parse_spnego
from analyzer.core.errors import DecodeError, MalformedError, TruncatedError

SIGNATURE = b"NTLMSSP\0"
OEM, UNICODE = 0, int(Flag.UNICODE)


@pytest.mark.needs("impacket")
def test_flags_and_errors_have_the_numbers_of_the_specifications() -> None:
    """[MS-NLMP] 2.2.2.5 and RFC 4120 7.5.9, as another implementation lists them."""
    from impacket import ntlm
    from impacket.krb5.constants import ErrorCodes

    short = {"LM_KEY": "NEGOTIATE_LM_KEY", "KEY_128": "NEGOTIATE_128", "KEY_56": "NEGOTIATE_56"}
    short["NON_NT_SESSION_KEY"] = "REQUEST_NON_NT_SESSION_KEY"
    assert {flag.name: flag.value for flag in Flag} == {
        flag.name: getattr(ntlm, f"NTLMSSP_{short.get(flag.name, f'NEGOTIATE_{flag.name}')}") for flag in Flag
    }
    assert len(Flag) == 13
    assert {code: ErrorCodes(code).name for code in ERROR_NAMES} == ERROR_NAMES


def message(kind: int, fixed: bytes, *fields: tuple[int, bytes]) -> bytes:
    """A message of which each field (its place in the fixed part, its bytes) lies behind the fixed part."""
    raw = bytearray(SIGNATURE + struct.pack("<I", kind) + fixed)
    for at, data in fields:
        struct.pack_into("<HHI", raw, at, len(data), len(data), len(raw))
        raw += data
    return bytes(raw)


def negotiate(flags: int, length: int = 40, *fields: tuple[int, bytes]) -> Negotiate:
    found = parse_message(message(1, (struct.pack("<I", flags) + bytes(64))[: length - 12], *fields))
    assert isinstance(found, Negotiate)
    return found


@pytest.mark.parametrize(
    ("length", "domain", "workstation", "version"),
    [(16, "", "", None), (24, "LAB", "", None), (40, "LAB", "PC1", "6.1.7601")],
)
def test_a_negotiate_message_may_end_where_old_clients_end_it(
    length: int, domain: str, workstation: str, version: str | None
) -> None:
    """[MS-NLMP] 2.2.1.1: names in the OEM code page whatever the flags say, and a version by its flag."""
    flags = Flag.VERSION | UNICODE
    head = SIGNATURE + struct.pack("<II", 1, flags) + bytes(16) + bytes((6, 1)) + struct.pack("<H", 7601) + bytes(4)
    raw = bytearray(head[:length])
    for at, name in ((16, b"LAB"), (24, b"PC1")):
        if length >= at + 8:
            struct.pack_into("<HHI", raw, at, 3, 3, len(raw))
            raw += name
    found = parse_message(bytes(raw))
    assert isinstance(found, Negotiate)
    assert (found.flags, found.domain, found.workstation, found.os_version) == (flags, domain, workstation, version)


def test_a_version_is_none_without_its_flag_and_where_it_says_nothing() -> None:
    assert negotiate(Flag.VERSION).os_version is None
    raw = bytearray(message(1, struct.pack("<I", 0) + bytes(24)))
    raw[32:36] = b"\x0a\x00\x61\x4a"
    assert parse_message(bytes(raw)).os_version is None
    struct.pack_into("<I", raw, 12, int(Flag.VERSION))
    assert parse_message(bytes(raw)).os_version == "10.0.19041"
    raw[32:36] = b"\x00\x00\x61\x4a"
    assert parse_message(bytes(raw)).os_version == "0.0.19041"
    raw[32:36] = b"\x05\x00\x00\x00"
    assert parse_message(bytes(raw)).os_version == "5.0.0"


@pytest.mark.parametrize(("kind", "is_one"), [(0, False), (1, True), (2, True), (3, True), (4, False)])
def test_there_are_three_types_of_messages(kind: int, is_one: bool) -> None:
    raw = SIGNATURE + struct.pack("<I", kind) + bytes(88)
    if is_one:
        assert type(parse_message(raw)).__name__ == ("Negotiate", "Challenge", "Authenticate")[kind - 1]
        return
    with pytest.raises(MalformedError, match=f"message type {kind} is not 1, 2 or 3") as raised:
        parse_message(raw)
    assert (raised.value.start, raised.value.stop) == (8, 12)


def test_what_ends_early_or_leads_out_of_the_message_is_named_with_its_place() -> None:
    with pytest.raises(MalformedError, match="no NTLMSSP signature") as no:
        parse_message(b"NTLMSSPx" + bytes(80))
    assert (no.value.start, no.value.stop) == (0, 8)
    with pytest.raises(TruncatedError) as short:
        parse_message(SIGNATURE + b"\1\0\0")
    assert (short.value.field, short.value.start, short.value.stop) == ("ntlm.MessageType", 8, 12)
    with pytest.raises(TruncatedError) as late:
        parse_message(message(2, bytes(19)))
    assert (late.value.field, late.value.start, late.value.stop) == ("ntlm.ServerChallenge", 24, 32)
    good = message(3, bytes(52), (36, b"user"))
    assert parse_message(good).user == "user"  # type: ignore[union-attr]
    with pytest.raises(MalformedError, match=f"4 bytes at {len(good) - 4} run past the message") as past:
        parse_message(good[:-1])
    assert (past.value.field, past.value.start, past.value.stop) == ("ntlm.UserName", 36, 44)


def pairs(*items: tuple[int, bytes]) -> bytes:
    return b"".join(struct.pack("<HH", kind, len(data)) + data for kind, data in items)


def text(name: str) -> bytes:
    return name.encode("utf-16-le")


EVERYTHING = pairs(
    (2, text("LAB")),
    (1, text("SRV")),
    (4, text("lab.test")),
    (3, text("srv.lab.test")),
    (5, text("test")),
    (7, bytes(8)),
    (6, struct.pack("<I", 2)),
    (9, text("cifs/srv")),
    (0, b""),
    (1, text("behind the end")),
)
INFO = TargetInfo("SRV", "LAB", "srv.lab.test", "lab.test", "test", 2, "cifs/srv")


@pytest.mark.parametrize(("flags", "length", "info"), [(0x800000, 48, INFO), (0, 48, None), (0x800000, 40, None)])
def test_a_challenge_has_target_information_by_its_flag(flags: int, length: int, info: TargetInfo | None) -> None:
    """[MS-NLMP] 2.2.1.2 and 2.2.2.1."""
    fixed = bytes(8) + struct.pack("<I", flags | UNICODE) + b"12345678" + bytes(length - 32)
    fields = [(12, text("LAB")), *([(40, EVERYTHING)] if length >= 48 else [])]
    found = parse_message(message(2, fixed, *fields))
    assert isinstance(found, Challenge)
    assert (found.challenge, found.target, found.flags) == (b"12345678", "LAB", flags | UNICODE)
    assert found.info == (info or TargetInfo())


def test_target_information_that_is_cut_is_refused_and_one_of_another_size_is_no_flags() -> None:
    def challenge(info: bytes) -> TargetInfo:
        fixed = bytes(8) + struct.pack("<I", int(Flag.TARGET_INFO)) + bytes(24)
        found = parse_message(message(2, fixed, (40, info)))
        assert isinstance(found, Challenge)
        return found.info

    assert challenge(pairs((6, b"\2\0"), (1, text("A")))) == TargetInfo("A")
    assert challenge(pairs((1, text("A"))) + b"\2\0\0") == TargetInfo("A")
    with pytest.raises(MalformedError, match="AV pair runs past"):
        challenge(pairs((1, text("A")))[:-1])


def authenticate(
    nt: bytes, *, fixed: int = 88, flags: int = UNICODE, key: bytes = b"", lm: bytes = b""
) -> Authenticate:
    """[MS-NLMP] 2.2.1.3; the fixed part ends at 52 (Windows NT 4), 64, 72 or 88."""
    head = bytearray(fixed - 12)
    if fixed >= 64:
        struct.pack_into("<I", head, 60 - 12, flags)
    fields = [(12, lm), (20, nt), (28, text("LAB")), (36, text("user")), (44, text("PC"))]
    found = parse_message(message(3, bytes(head), *fields, *([(52, key)] if fixed >= 60 else [])))
    assert isinstance(found, Authenticate)
    return found


@pytest.mark.parametrize(
    ("fixed", "flags", "key", "mic"),
    [(52, 0, b"", None), (64, UNICODE, b"k" * 16, None), (72, UNICODE, b"k" * 16, None), (88, UNICODE, b"k" * 16, 72)],
)
def test_an_authenticate_message_has_the_fields_before_its_payload(
    fixed: int, flags: int, key: bytes, mic: int | None
) -> None:
    nt = bytes(16) + bytes(28) + EVERYTHING
    found = authenticate(nt, fixed=fixed, key=key)
    assert (found.flags, found.encrypted_session_key, found.ofs_mic) == (flags, key, mic)
    assert found.info == INFO
    assert found.nt_response == nt
    assert found.user.replace("\0", "") == "user"
    assert found.is_v2


def test_an_authenticate_message_without_any_field_ends_with_its_flags() -> None:
    """What an anonymous client of old sends: no field has bytes, and nothing follows the fixed part."""
    for length, flags in ((64, UNICODE), (63, 0)):
        found = parse_message(message(3, (bytes(48) + struct.pack("<I", UNICODE))[: length - 12]))
        assert isinstance(found, Authenticate)
        assert (found.flags, found.user, found.nt_response, found.ofs_mic) == (flags, "", b"", None)


@pytest.mark.parametrize(
    ("nt", "info", "mic", "is_v2"),
    [
        (bytes(24), TargetInfo(), None, False),
        (bytes(25), TargetInfo(), None, True),
        (bytes(44), TargetInfo(), None, True),
        (bytes(44) + pairs((6, struct.pack("<I", 1))), TargetInfo(flags=1), None, True),
        (bytes(44) + pairs((6, struct.pack("<I", 3))), TargetInfo(flags=3), 72, True),
        (bytes(44) + pairs((1, text("A")))[:-1], TargetInfo(), None, True),
    ],
)
def test_the_response_says_whether_there_is_a_mic(nt: bytes, info: TargetInfo, mic: int | None, is_v2: bool) -> None:
    found = authenticate(nt)
    assert (found.info, found.ofs_mic, found.is_v2) == (info, mic, is_v2)


@pytest.mark.parametrize(
    ("lm", "nt", "user", "is_anonymous"),
    [
        (b"", b"", b"", True),
        (b"\0", b"", b"", True),
        (b"\0\0", b"", b"", False),
        (b"\1", b"", b"", False),
        (b"", b"x", b"", False),
        (b"", b"", b"u", False),
    ],
)
def test_a_null_session_has_neither_name_nor_response(lm: bytes, nt: bytes, user: bytes, is_anonymous: bool) -> None:
    found = parse_message(message(3, bytes(76), (12, lm), (20, nt), (36, user)))
    assert isinstance(found, Authenticate)
    assert found.is_anonymous is is_anonymous


def test_names_in_upper_case_keep_their_length() -> None:
    assert upper("straße ıſ") == "STRAßE IS"


@pytest.mark.parametrize(
    ("flags", "seal_of"),
    [(Flag.KEY_128, 16), (Flag.KEY_56, 7), (0, 5), (Flag.KEY_128 | Flag.KEY_56, 16)],
)
def test_sealing_keys_are_as_weak_as_was_negotiated(flags: int, seal_of: int) -> None:
    """[MS-NLMP] 3.4.5.2 and 3.4.5.3."""
    from hashlib import md5

    key = bytes(range(16))
    for initiator, who in ((True, b"client-to-server"), (False, b"server-to-client")):
        found = direction_keys(key, flags | Flag.EXTENDED_SESSIONSECURITY, initiator=initiator)
        magic = b"session key to " + who + b" %s key magic constant\0"
        assert found.sign == md5(key + magic % b"signing").digest()
        assert found.seal == md5(key[:seal_of] + magic % b"sealing").digest()
    assert direction_keys(key, flags, initiator=True).seal == key
    weak = key[:7] + b"\xa0" if flags & Flag.KEY_56 else key[:5] + b"\xe5\x38\xb0"
    found = direction_keys(key, flags | Flag.LM_KEY, initiator=True)
    assert (found.sign, found.seal) == (b"", weak)


# DER (X.690)


@pytest.mark.parametrize(
    ("head", "length"),
    [("0400", 0), ("047f", 127), ("048180", 128), ("0481ff", 255), ("04820100", 256), ("0483010000", 65536)],
)
def test_lengths_have_one_octet_or_more(head: str, length: int) -> None:
    raw = bytes.fromhex(head) + bytes(length)
    piece = read(b"xx" + raw + b"rest", 2)
    assert (piece.tag, len(piece.data), piece.raw) == (4, length, raw)
    if length:
        with pytest.raises(TruncatedError, match=f"{length} bytes announced, {length - 1} there") as raised:
            read(b"xx" + raw[:-1], 2, "some")
        assert (raised.value.field, raised.value.start, raised.value.stop) == ("some", 2, 2 + len(raw))


def test_four_octets_of_length_are_the_most() -> None:
    assert read(b"\4\x84\0\0\0\1a").data == b"a"
    for first in (0x80, 0x85):
        with pytest.raises(MalformedError) as raised:
            read(bytes((4, first)) + b"\0\0\0\0\1a")
        assert (raised.value.start, raised.value.stop) == (1, 2)
    with pytest.raises(TruncatedError):
        read(b"\4\x84\0\0\0")
    assert read(b"\x1e\0").tag == 0x1E
    with pytest.raises(MalformedError):
        read(b"\x3f\0")


@pytest.mark.parametrize(
    ("data", "oid"),
    [
        ("2b0601050502", "1.3.6.1.5.5.2"),
        ("2a864886f712010202", "1.2.840.113554.1.2.2"),
        ("28", "1.0"),
        ("27", "0.39"),
        ("4f", "1.39"),
        ("50", "2.0"),
        ("813403", "2.100.3"),
        ("2b8100", "1.3.128"),
    ],
)
def test_object_identifiers_are_written_with_dots(data: str, oid: str) -> None:
    assert oid_text(bytes.fromhex(data)) == oid
    for damaged in (b"", bytes.fromhex(data) + b"\x81"):
        with pytest.raises(MalformedError, match="does not end"):
            oid_text(damaged)


def tlv(tag: int, data: bytes) -> bytes:
    return bytes((tag, len(data))) + data


SPNEGO, KRB5, NTLM = (
    bytes.fromhex("2b0601050502"),
    bytes.fromhex("2a864886f712010202"),
    bytes.fromhex("2b06010401823702020a"),
)


def init(*fields: tuple[int, bytes], framed: bool = True) -> bytes:
    inner = tlv(0xA0, tlv(SEQUENCE, b"".join(tlv(0xA0 | number, data) for number, data in fields)))
    return tlv(0x60, tlv(OID, SPNEGO) + inner) if framed else inner


@pytest.mark.parametrize("framed", [True, False])
def test_a_first_token_lists_mechanisms_and_may_bring_one_token(framed: bool) -> None:
    """RFC 4178 section 4.2.1; [MS-SPNG] 2.2.1 has hints in the place of the MIC, and the MIC behind them."""
    mechanisms = tlv(SEQUENCE, tlv(OID, KRB5) + tlv(OID, NTLM) + tlv(OID, KRB5) + tlv(OID, b"\x2a\3"))
    found = parse_spnego(init((0, mechanisms), (2, tlv(4, b"token")), (3, tlv(4, b"mic")), framed=framed))
    assert (found.is_init, found.mechanisms, found.token, found.mic) == (
        True,
        ("krb5", "ntlm", "1.2.3"),
        b"token",
        b"mic",
    )
    assert found.state is None
    hints = tlv(SEQUENCE, tlv(0xA0, tlv(0x1B, b"not_defined_in_RFC4178@please_ignore")))
    second = parse_spnego(init((3, hints), (4, tlv(4, b"mic")), framed=framed))
    assert (second.mechanisms, second.token, second.mic) == ((), None, b"mic")
    assert parse_spnego(init((3, hints), framed=framed)).mic is None
    assert is_spnego(init((3, hints), framed=framed))


def test_an_answer_has_a_state_a_choice_a_token_and_a_mic() -> None:
    fields = ((0, tlv(0x0A, b"\1")), (1, tlv(OID, NTLM)), (2, tlv(4, b"token")), (3, tlv(4, b"mic")))
    raw = tlv(0xA1, tlv(SEQUENCE, b"".join(tlv(0xA0 | number, data) for number, data in fields)))
    found = parse_spnego(raw)
    assert (found.is_init, found.state, found.mechanisms, found.token, found.mic) == (
        False,
        1,
        ("ntlm",),
        b"token",
        b"mic",
    )
    empty = parse_spnego(tlv(0xA1, tlv(SEQUENCE, b"")))
    assert (empty.state, empty.mechanisms, empty.token, empty.mic) == (None, (), None, None)
    assert is_spnego(raw)
    with pytest.raises(MalformedError, match="neither negTokenInit nor negTokenResp"):
        parse_spnego(tlv(0xA2, tlv(SEQUENCE, b"")))
    with pytest.raises(MalformedError, match="not SPNEGO"):
        parse_spnego(tlv(0x60, tlv(OID, KRB5) + raw))
    assert not is_spnego(tlv(0x60, tlv(OID, KRB5) + raw))
    assert not is_spnego(b"\xa2\0")


# Keytabs (MIT Kerberos, keytab_file_format)

KEY = KerberosKey("cifs/srv", "LAB.TEST", 18, 3, bytes(range(32)))


def entry(*, kvno8: int = 3, wide: bytes = b"", version: int = 2, order: str = ">") -> bytes:
    def counted(data: bytes) -> bytes:
        return struct.pack(order + "H", len(data)) + data

    body = (
        struct.pack(order + "H", 2 if version == 2 else 3) + counted(b"LAB.TEST") + counted(b"cifs") + counted(b"srv")
    )
    body += struct.pack(order + "I", 1) if version == 2 else b""
    body += struct.pack(order + "IBH", 0, kvno8, 18) + counted(KEY.key) + wide
    return struct.pack(order + "i", len(body)) + body


@pytest.mark.parametrize(
    ("kvno8", "wide", "kvno"),
    [(3, b"", 3), (3, struct.pack(">I", 259), 259), (3, bytes(4), 3), (3, b"\0\0\1", 3), (0, b"", 0)],
)
def test_the_wide_version_of_a_key_counts_where_it_is_one(kvno8: int, wide: bytes, kvno: int) -> None:
    (found,) = parse_keytab(b"\5\2" + entry(kvno8=kvno8, wide=wide))
    assert found == KerberosKey("cifs/srv", "LAB.TEST", 18, kvno, KEY.key)
    assert found.name == f"cifs/srv@LAB.TEST (aes256-cts-hmac-sha1-96, kvno {kvno})"


@pytest.mark.parametrize("order", ["<", ">"])
def test_old_keytabs_are_in_the_byte_order_of_their_machine(order: str) -> None:
    assert parse_keytab(b"\5\1" + entry(version=1, order=order) * 2) == (KEY, KEY)
    with pytest.raises(MalformedError, match="negative number of components"):
        parse_keytab(b"\5\1" + struct.pack(order + "iHH", 4, 0, 0))


def test_holes_are_passed_over_and_nothing_is_read_behind_an_empty_entry() -> None:
    hole = struct.pack(">i", -6) + bytes(6)
    assert parse_keytab(b"\5\2" + entry() + hole + entry()) == (KEY, KEY)
    assert parse_keytab(b"\5\2" + entry() + bytes(4) + entry()) == (KEY,)
    assert parse_keytab(b"\5\2" + entry() + b"\0\0\0") == (KEY,)
    assert parse_keytab(b"\5\2") == ()


@pytest.mark.parametrize("cut", [1, 10, len(entry()) - 5])
def test_an_entry_that_is_cut_is_named_with_its_place(cut: int) -> None:
    with pytest.raises(TruncatedError, match="an entry runs past the end of the file") as raised:
        parse_keytab(b"\5\2" + entry() + entry()[:-cut])
    start = 2 + len(entry())
    assert (raised.value.start, raised.value.stop) == (start, start + 4)
    body = entry()[4:-cut]
    with pytest.raises(TruncatedError, match="runs past its entry"):
        parse_keytab(b"\5\2" + struct.pack(">i", len(body)) + body)


def test_what_is_written_is_read_again() -> None:
    keys = (KEY, KerberosKey("host", "", 23, None, bytes(16)), KerberosKey("a/b/c", "R", 17, 70000, bytes(16)))
    read_again = parse_keytab(write_keytab(keys))
    assert [(one.principal, one.realm, one.etype, one.key) for one in read_again] == [
        (one.principal, one.realm, one.etype, one.key) for one in keys
    ]
    assert [one.kvno for one in read_again] == [3, 0, 70000]
    assert keys[1].name == "host (rc4-hmac)"
    assert (etype_name(99), is_keytab(b"\5\2"), is_keytab(b"\5\1"), is_keytab(b"\5\3"), is_keytab(b"\5")) == (
        "etype 99",
        True,
        True,
        False,
        False,
    )
    with pytest.raises(MalformedError, match="does not begin with"):
        parse_keytab(b"\5\3")


def test_errors_of_kerberos_have_the_names_of_rfc_4120() -> None:
    """Section 7.5.9."""
    assert ERROR_NAMES == {
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
    assert (KrbError(37).name, KrbError(1).name) == ("KRB_AP_ERR_SKEW", "error 1")


def test_an_answer_that_ends_behind_its_key_field_has_a_key_or_none() -> None:
    """With 60 bytes the field of the session key is there, and the flags are not."""
    bare = message(3, bytes(48))
    found = parse_message(bare)
    assert isinstance(found, Authenticate)
    assert (len(bare), found.encrypted_session_key, found.flags) == (60, b"", 0)
    with pytest.raises(MalformedError, match="16 bytes at 60 run past"):
        parse_message(bare[:52] + struct.pack("<HHI", 16, 16, 60))
    found = parse_message(bare[:52] + struct.pack("<HHI", 4, 4, 60) + b"keys")
    assert isinstance(found, Authenticate)
    assert found.encrypted_session_key == b"keys"


# DER: what a reader of tokens refuses, and says where (ITU-T X.690).


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        (b"", TruncatedError, "ends inside a tag and length"),
        (b"\x02", TruncatedError, "ends inside a tag and length"),
        (b"\x1f\x81\x00", MalformedError, "a tag number above 30"),
        (b"\x30\x80\x00\x00", MalformedError, "an indefinite or oversized length"),
        (b"\x30\x85\x00\x00\x00\x00\x01\x00", MalformedError, "an indefinite or oversized length"),
        (b"\x04\x03ab", TruncatedError, "3 bytes announced, 2 there"),
        (b"\x04\x82\x00", TruncatedError, "ends inside a tag and length"),
    ],
)
def test_what_is_no_value_is_refused(data: bytes, error: type[DecodeError], text: str) -> None:
    with pytest.raises(error, match=text):
        read(data)


def test_a_value_is_what_its_tag_says() -> None:
    number = read(b"\x02\x02\xff\x7f")
    assert (number.integer("n"), number.raw) == (-129, b"\x02\x02\xff\x7f")
    assert read(b"\x0a\x01\x07").integer("n") == 7
    for data in (b"\x02\x00", b"\x02\x0a" + bytes(10), b"\x04\x01\x07"):
        with pytest.raises(MalformedError, match="no INTEGER"):
            read(data).integer("n")
    assert read(b"\x1b\x02\xffb").text("s") == "\ufffdb"
    for data in (b"\xa0\x01a", b"\x30\x01a", b"\x81\x01a"):
        with pytest.raises(MalformedError, match="where a string belongs"):
            read(data).text("s")
    assert read(b"\x04\x02ab").octets("o") == b"ab"
    with pytest.raises(MalformedError, match="tag 0x02 where 0x04 belongs"):
        read(b"\x02\x01\x07").octets("o")


def test_of_members_with_one_number_the_first_counts_and_each_holds_one_value() -> None:
    one, two = b"\xa0\x03\x02\x01\x01", b"\xa0\x03\x02\x01\x02"
    found = read(b"\x30\x0f" + one + two + b"\xa3\x03\x02\x01\x05").fields("s")
    assert {number: piece.integer("n") for number, piece in found.items()} == {0: 1, 3: 5}
    with pytest.raises(MalformedError, match="more than one value"):
        read(b"\x30\x08\xa0\x06" + b"\x02\x01\x01" * 2).fields("s")
    with pytest.raises(MalformedError, match="tag 0x31"):
        read(b"\x31\x00").fields("s")

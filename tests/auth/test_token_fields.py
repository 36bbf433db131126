"""Fields of NTLM and SPNEGO messages, DER values and keytab entries at their bounds, byte by byte: `token_fields.txt` has what is
read of each, and each name is a promise."""

import re
import struct
from collections.abc import Callable, Iterator
from hashlib import md5
from pathlib import Path

import pytest

from analyzer.auth.der import OID, SEQUENCE, oid_text, read
from analyzer.auth.kerberos import ERROR_NAMES, KrbError, etype_name
from analyzer.auth.key_files import KerberosKey, is_keytab, parse_keytab, write_keytab
from analyzer.auth.ntlm import Authenticate, Flag, Message, parse_message
from analyzer.auth.ntlm_keys import direction_keys, upper
from analyzer.auth.spnego import is_spnego, parse_spnego
from analyzer.core.errors import TruncatedError
from tests.written import Outcomes, came_of

SIGNATURE = b"NTLMSSP\0"
UNICODE, VERSION, INFORMED = int(Flag.UNICODE), int(Flag.VERSION), int(Flag.TARGET_INFO)


@pytest.mark.needs("impacket")
def test_flags_and_errors_have_the_numbers_of_the_specifications() -> None:
    """[MS-NLMP] 2.2.2.5 and RFC 4120 7.5.9, as another implementation lists them."""
    from impacket import ntlm
    from impacket.krb5.constants import ErrorCodes

    short = {"LM_KEY": "NEGOTIATE_LM_KEY", "KEY_128": "NEGOTIATE_128", "KEY_56": "NEGOTIATE_56"}
    short["NON_NT_SESSION_KEY"] = "REQUEST_NON_NT_SESSION_KEY"
    assert {name: flag for flag, name in Flag.names.items()} == {
        name: getattr(ntlm, f"NTLMSSP_{short.get(name, f'NEGOTIATE_{name}')}") for name in Flag.names.values()
    }
    assert len(Flag.names) == 13
    assert {code: ErrorCodes(code).name for code in ERROR_NAMES} == ERROR_NAMES


def message(kind: int, fixed: bytes, *fields: tuple[int, bytes]) -> bytes:
    """A message of which each field (its place in the fixed part, its bytes) lies behind the fixed part."""
    raw = bytearray(SIGNATURE + struct.pack("<I", kind) + fixed)
    for at, data in fields:
        struct.pack_into("<HHI", raw, at, len(data), len(data), len(raw))
        raw += data
    return bytes(raw)


def negotiate(length: int, flags: int, version: bytes) -> Message:
    """[MS-NLMP] 2.2.1.1: names in the OEM code page whatever the flags say."""
    head = (struct.pack("<I", flags) + bytes(16) + version + bytes(4))[: length - 12]
    fields = [(16, b"LAB"), (24, b"PC1")][: (length - 16) // 8]
    return parse_message(message(1, head, *fields))


def pairs(*items: tuple[int, bytes]) -> bytes:
    return b"".join(struct.pack("<HH", kind, len(data)) + data for kind, data in items)


def text(name: str) -> bytes:
    return name.encode("utf-16-le")


EVERYTHING = pairs(
    *((kind, text(name)) for kind, name in ((2, "LAB"), (1, "SRV"), (4, "lab.test"), (3, "srv.lab.test"), (5, "test"))),
    *((7, bytes(8)), (6, struct.pack("<I", 2)), (9, text("cifs/srv")), (0, b""), (1, text("behind the end"))),
)
NAMED = pairs((1, text("A")))


def challenge(flags: int, info: bytes, length: int = 48) -> Message:
    """[MS-NLMP] 2.2.1.2 and 2.2.2.1."""
    fixed = bytes(8) + struct.pack("<I", flags | UNICODE) + b"12345678" + bytes(length - 32)
    return parse_message(message(2, fixed, (12, text("LAB")), *([(40, info)] if length >= 48 else [])))


def authenticate(nt: bytes, *, fixed: int = 88, flags: int = UNICODE, key: bytes = b"") -> Message:
    """[MS-NLMP] 2.2.1.3; the fixed part ends at 52 (Windows NT 4), 64, 72 or 88."""
    head = bytearray(fixed - 12)
    if fixed >= 64:
        struct.pack_into("<I", head, 60 - 12, flags)
    fields = [(12, b""), (20, nt), (28, text("LAB")), (36, text("user")), (44, text("PC"))]
    return parse_message(message(3, bytes(head), *fields, *([(52, key)] if fixed >= 60 else [])))


def is_v2(found: Message) -> Iterator[object]:
    assert isinstance(found, Authenticate)
    return iter((found, found.is_v2))


def is_anonymous(lm: bytes, nt: bytes, user: bytes) -> bool:
    found = parse_message(message(3, bytes(76), (12, lm), (20, nt), (36, user)))
    assert isinstance(found, Authenticate)
    return found.is_anonymous


ENDING, USER = message(3, bytes(48)), message(3, bytes(52), (36, b"user"))
NT2 = bytes(44)


def tlv(tag: int, data: bytes) -> bytes:
    return bytes((tag, len(data))) + data


SPNEGO, KRB5, NTLM = map(bytes.fromhex, ("2b0601050502", "2a864886f712010202", "2b06010401823702020a"))


def numbered(*fields: tuple[int, bytes]) -> bytes:
    return tlv(SEQUENCE, b"".join(tlv(0xA0 | number, data) for number, data in fields))


def offered(*fields: tuple[int, bytes]) -> Iterator[object]:
    """RFC 4178 section 4.2.1, within a GSS-API token and bare."""
    inner = tlv(0xA0, numbered(*fields))
    for raw in (tlv(0x60, tlv(OID, SPNEGO) + inner), inner):
        yield is_spnego(raw)
        yield parse_spnego(raw)


MECHANISMS = tlv(SEQUENCE, b"".join(tlv(OID, one) for one in (KRB5, NTLM, KRB5, b"\x2a\3")))
HINTS = tlv(SEQUENCE, tlv(0xA0, tlv(0x1B, b"not_defined_in_RFC4178@please_ignore")))
TOKEN, MIC = tlv(4, b"token"), tlv(4, b"mic")
CHOSEN = tlv(0xA1, numbered((0, tlv(0x0A, b"\1")), (1, tlv(OID, NTLM)), (2, TOKEN), (3, MIC)))
# Two members with the number 0, and one with 3.
TWICE = b"\x30\x0f\xa0\x03\x02\x01\x01\xa0\x03\x02\x01\x02\xa3\x03\x02\x01\x05"


def members(data: bytes) -> dict[int, int]:
    return {number: piece.integer("n") for number, piece in read(data).fields("s").items()}


KEY = KerberosKey("cifs/srv", "LAB.TEST", 18, 3, bytes(range(32)))


def entry(*, kvno8: int = 3, wide: bytes = b"", version: int = 2, order: str = ">") -> bytes:
    """MIT Kerberos, keytab_file_format."""

    def counted(data: bytes) -> bytes:
        return struct.pack(order + "H", len(data)) + data

    body = struct.pack(order + "H", 2 if version == 2 else 3) + counted(b"LAB.TEST") + counted(b"cifs")
    body += counted(b"srv") + (struct.pack(order + "I", 1) if version == 2 else b"")
    body += struct.pack(order + "IBH", 0, kvno8, 18) + counted(KEY.key) + wide
    return struct.pack(order + "i", len(body)) + body


def keys_of(entries: bytes, version: int = 2) -> Iterator[str]:
    """Each key of a keytab: its name, and whether its bytes are those of KEY."""
    found = parse_keytab(bytes((5, version)) + entries)
    return (f"{one.name} {one.key == KEY.key}" for one in found)


def cut_entry(cut: int) -> bytes:
    body = entry()[4:-cut]
    return struct.pack(">i", len(body)) + body


OTHER_KEYS = KerberosKey("host", "", 23, None, bytes(16)), KerberosKey("a/b/c", "R", 17, 70000, bytes(16))

CASES: dict[str, Callable[[], object]] = {
    **{
        f"a negotiate message of {length} bytes, where old clients end it, has names and a version so far": (
            lambda length=length: negotiate(length, VERSION | UNICODE, struct.pack("<BBH", 6, 1, 7601))
        )
        for length in (16, 24, 40)
    },
    "a version is none without its flag": lambda: negotiate(40, 0, b"\x0a\x00\x61\x4a").os_version,
    "a version is none where it says nothing": lambda: negotiate(40, VERSION, bytes(4)).os_version,
    "a version has three parts": lambda: negotiate(40, VERSION, b"\x0a\x00\x61\x4a").os_version,
    "a version is one with a build alone": lambda: negotiate(40, VERSION, b"\x00\x00\x61\x4a").os_version,
    "a version is one without a build": lambda: negotiate(40, VERSION, b"\x05\x00\x00\x00").os_version,
    **{
        f"of three types of messages, {kind}": lambda kind=kind: type(
            parse_message(SIGNATURE + struct.pack("<I", kind) + bytes(88))
        )
        for kind in range(5)
    },
    "what has no signature is no message": lambda: parse_message(b"NTLMSSPx" + bytes(80)),
    "what ends in its type is named with its place": lambda: parse_message(SIGNATURE + b"\1\0\0"),
    "what ends in its fixed part is named with its place": lambda: parse_message(message(2, bytes(19))),
    "a field may end with the message": lambda: parse_message(USER),
    "a field that leads out of the message is named with its place": lambda: parse_message(USER[:-1]),
    "a challenge has target information by its flag": lambda: challenge(0x800000, EVERYTHING),
    "a challenge has no target information without its flag": lambda: challenge(0, EVERYTHING),
    "a challenge has no target information where it ends before it": lambda: challenge(0x800000, b"", 40),
    "target information of another size is no flags": lambda: challenge(INFORMED, pairs((6, b"\2\0")) + NAMED),
    "target information may end in a pair's head": lambda: challenge(INFORMED, NAMED + b"\2\0\0"),
    "target information that is cut is refused": lambda: challenge(INFORMED, NAMED[:-1]),
    **{
        f"an authenticate message has the fields of its {fixed} bytes": lambda fixed=fixed, key=key: authenticate(
            bytes(16) + bytes(28) + EVERYTHING, fixed=fixed, key=key
        )
        for fixed, key in ((52, b""), (64, b"k" * 16), (72, b"k" * 16), (88, b"k" * 16))
    },
    # What an anonymous client of old sends: no field has bytes, and nothing follows the fixed part.
    "an authenticate message without any field ends with its flags": lambda: parse_message(
        message(3, bytes(48) + struct.pack("<I", UNICODE))
    ),
    "an authenticate message that ends in its flags has none": lambda: parse_message(
        message(3, (bytes(48) + struct.pack("<I", UNICODE))[:51])
    ),
    "an authenticate message may end behind the field of its key, without flags": lambda: parse_message(ENDING),
    "a key that lies beyond such an end is refused": lambda: parse_message(
        ENDING[:52] + struct.pack("<HHI", 16, 16, 60)
    ),
    "a key may lie behind such an end": lambda: parse_message(ENDING[:52] + struct.pack("<HHI", 4, 4, 60) + b"keys"),
    "a response of 24 bytes is of the first version": lambda: is_v2(authenticate(bytes(24))),
    "a response of 25 bytes is of the second version": lambda: is_v2(authenticate(bytes(25))),
    "a response without target information has no MIC": lambda: authenticate(NT2),
    "a response whose flags say something else has no MIC": lambda: authenticate(NT2 + pairs((6, b"\1\0\0\0"))),
    "a response whose flags say so has a MIC": lambda: authenticate(NT2 + pairs((6, b"\3\0\0\0"))),
    "a response whose target information is cut has none": lambda: authenticate(NT2 + NAMED[:-1]),
    **{
        f"a null session has neither name nor response: {given!r}": lambda given=given: is_anonymous(*given)
        for given in ((b"", b"", b""), (b"\0", b"", b""), (b"\0\0", b"", b""), (b"\1", b"", b""), (b"", b"x", b""))
    },
    "a session with a name is no null session": lambda: is_anonymous(b"", b"", b"u"),
    "names in upper case keep their length": lambda: upper("straße ıſ"),
    "four octets of length are the most": lambda: read(b"\4\x84\0\0\0\1a"),
    "an indefinite length is refused": lambda: read(b"\4\x80\0\0\0\0\1a"),
    "five octets of length are refused": lambda: read(b"\4\x85\0\0\0\0\1a"),
    "a length that ends early is truncated": lambda: read(b"\4\x84\0\0\0"),
    "the last tag of one octet": lambda: read(b"\x1e\0"),
    "a tag of several octets is refused": lambda: read(b"\x3f\0"),
    "nothing is no value": lambda: read(b""),
    "a tag alone is no value": lambda: read(b"\x02"),
    "a tag number above 30 is no value": lambda: read(b"\x1f\x81\x00"),
    "a value that is longer than its bytes is truncated": lambda: read(b"\x04\x03ab"),
    "a value whose length is cut is truncated": lambda: read(b"\x04\x82\x00"),
    "a number may be negative": lambda: read(b"\x02\x02\xff\x7f").integer("n"),
    "an ENUMERATED is a number": lambda: read(b"\x0a\x01\x07").integer("n"),
    "a number has a byte": lambda: read(b"\x02\x00").integer("n"),
    "a number has no ten bytes": lambda: read(b"\x02\x0a" + bytes(10)).integer("n"),
    "a string of octets is no number": lambda: read(b"\x04\x01\x07").integer("n"),
    "a text may have bytes that are none": lambda: read(b"\x1b\x02\xffb").text("s"),
    "octets are bytes": lambda: read(b"\x04\x02ab").octets("o"),
    "a number is no octets": lambda: read(b"\x02\x01\x07").octets("o"),
    **{
        f"a text is a string, not {data.hex()}": lambda data=data: read(data).text("s")
        for data in (b"\xa0\x01a", b"\x30\x01a", b"\x81\x01a")
    },
    "of members with one number the first counts": lambda: members(TWICE),
    "a member holds one value": lambda: members(b"\x30\x08\xa0\x06" + b"\x02\x01\x01" * 2),
    "members are those of a sequence": lambda: members(b"\x31\x00"),
    **{
        f"an object identifier is written with dots: {data}": lambda data=data: oid_text(bytes.fromhex(data))
        for data in ("2b0601050502", "2a864886f712010202", "28", "27", "4f", "50", "813403", "2b8100", "", "2b81")
    },
    "a first token lists mechanisms and may bring one token": lambda: offered((0, MECHANISMS), (2, TOKEN), (3, MIC)),
    # [MS-SPNG] 2.2.1.
    "a first token of Windows has hints in the place of the MIC, and the MIC behind them": lambda: offered(
        (3, HINTS), (4, MIC)
    ),
    "a first token of Windows has hints and may have no MIC": lambda: offered((3, HINTS)),
    "an answer has a state, a choice, a token and a MIC": lambda: iter((is_spnego(CHOSEN), parse_spnego(CHOSEN))),
    "an answer may have nothing": lambda: parse_spnego(tlv(0xA1, tlv(SEQUENCE, b""))),
    "what is neither is refused": lambda: parse_spnego(tlv(0xA2, tlv(SEQUENCE, b""))),
    "a token of another mechanism is no SPNEGO": lambda: parse_spnego(tlv(0x60, tlv(OID, KRB5) + CHOSEN)),
    "what is neither is not taken for SPNEGO": lambda: map(is_spnego, (tlv(0x60, tlv(OID, KRB5) + CHOSEN), b"\xa2\0")),
    **{
        f"the wide version of a key counts where it is one: {kvno8}, {wide.hex()}": lambda given=(kvno8, wide): keys_of(
            entry(kvno8=given[0], wide=given[1])
        )
        for kvno8, wide in ((3, b""), (3, struct.pack(">I", 259)), (3, bytes(4)), (3, b"\0\0\1"), (0, b""))
    },
    **{
        f"an old keytab is in the byte order of its machine: {order}": lambda order=order: keys_of(
            entry(version=1, order=order) * 2, 1
        )
        for order in "<>"
    },
    **{
        f"an old keytab counts its realm among its components: {order}": lambda order=order: keys_of(
            struct.pack(order + "iHH", 4, 0, 0), 1
        )
        for order in "<>"
    },
    "holes are passed over": lambda: keys_of(entry() + struct.pack(">i", -6) + bytes(6) + entry()),
    "nothing is read behind an empty entry": lambda: keys_of(entry() + bytes(4) + entry()),
    "nothing is read of an entry without its length": lambda: keys_of(entry() + b"\0\0\0"),
    "a keytab may have no keys": lambda: keys_of(b""),
    **{
        f"an entry that lacks {cut} bytes is named with its place": lambda cut=cut: keys_of(entry() + entry()[:-cut])
        for cut in (1, 10, len(entry()) - 5)
    },
    **{
        f"what runs past its entry by {cut} bytes is named with its place": lambda cut=cut: keys_of(cut_entry(cut))
        for cut in (1, 10, len(entry()) - 5)
    },
    "what is written is read again": lambda: (one for one in parse_keytab(write_keytab((KEY, *OTHER_KEYS)))),
    "a key without a realm and a version is named by what there is": lambda: OTHER_KEYS[0].name,
    "a keytab has one of two versions": lambda: map(is_keytab, (b"\5\2", b"\5\1", b"\5\3", b"\5")),
    "what begins otherwise is no keytab": lambda: keys_of(b"", 3),
    "an unknown type of encryption has its number": lambda: etype_name(99),
    "errors of Kerberos have the names of RFC 4120 7.5.9": lambda: iter(ERROR_NAMES.items()),
    "errors of Kerberos have names or numbers": lambda: iter((KrbError(37).name, KrbError(1).name)),
}


def without_raw(job: Callable[[], object]) -> Iterator[str]:
    """What comes of it, but for the bytes that it was read from."""
    return (re.sub(r"""raw=b(['"]).*?\1, """, "", line) for line in came_of(job))


OUTCOMES = Outcomes(Path(__file__).parent / "token_fields.txt", CASES, without_raw)


@pytest.mark.parametrize("name", CASES)
def test_what_is_read_of_a_message_is_what_was_read_through(name: str) -> None:
    OUTCOMES.holds(name)


def test_what_is_read_of_messages_is_written_as_it_is() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    OUTCOMES.is_as_written()


@pytest.mark.parametrize(
    ("flags", "seal_of"),
    [(Flag.KEY_128, 16), (Flag.KEY_56, 7), (0, 5), (Flag.KEY_128 | Flag.KEY_56, 16)],
)
def test_sealing_keys_are_as_weak_as_was_negotiated(flags: int, seal_of: int) -> None:
    """[MS-NLMP] 3.4.5.2 and 3.4.5.3."""
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

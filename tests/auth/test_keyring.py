"""Secrets files and single values become a keyring; mistakes are placed, never shown."""

import json
import os
import tomllib
import traceback
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.auth.kerberos import default_salt
from analyzer.auth.key_files import (
    KerberosKey,
    keys_from_password,
    ntlm_keytab,
    parse_keytab,
    parse_seskey_line,
    seskey_line,
    split_principal,
    write_keytab,
)
from analyzer.auth.keyring import Keyring, SmbKeys, UserKey
from analyzer.auth.ntlm_keys import nt_hash
from analyzer.auth.secrets import _LONG_KEY, document_of, keyring_of_documents
from analyzer.core.errors import InputError
from tests.truth import CAPTURES
from tests.written import Told

NT = nt_hash("S3cret!pw").hex()
KEYS = (
    KerberosKey("host/srv.lab.test", "LAB.TEST", 18, 2, bytes(range(32))),
    KerberosKey("SRV$", "LAB.TEST", 23, 300, bytes(range(16))),
)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_toml_and_json_have_the_same_shape(tmp_path: Path) -> None:
    write(tmp_path / "srv.keytab", write_keytab(KEYS))
    document = {
        "users": [
            {"username": "perfmon", "domain": "LAB", "password": "S3cret!pw"},
            {"username": "LAB\\b", "nt_hash": NT},
        ],
        "keytabs": ["srv.keytab"],
        "smb_session_keys": [{"session_id": "0x1d", "session_key": "ab" * 16, "server_to_client_key": "cd" * 32}],
        "sessions": [{"client": "c1", "anything": 1}],
    }
    toml = f"""
        keytabs = ["srv.keytab"]
        comment = "unknown keys are ignored"
        [[users]]
        username = "perfmon"
        domain = "LAB"
        password = "S3cret!pw"
        [[users]]
        username = 'LAB\\b'
        nt_hash = "{NT}"
        [[smb_session_keys]]
        session_id = 0x1d
        session_key = "{"ab" * 16}"
        server_to_client_key = "{"cd" * 32}"
    """
    first = Keyring.load(write(tmp_path / "a.toml", json.dumps(document)))
    second = Keyring.load(write(tmp_path / "b.json", toml))
    assert first.users == second.users
    assert first.kerberos_keys == second.kerberos_keys == KEYS
    assert first.smb_keys == second.smb_keys
    assert [(user.username, user.domain, user.nt_hash.hex()) for user in first.users] == [
        ("perfmon", "LAB", NT),
        ("b", "LAB", NT),
    ]
    assert repr(first) == "Keyring(users=2, kerberos_keys=2, smb_session_keys=1)"


def test_a_password_and_a_hash_that_disagree_are_both_kept(tmp_path: Path) -> None:
    user = {"username": "a", "password": "new", "nt_hash": NT}
    users = Keyring.load(write(tmp_path / "s", json.dumps({"users": [user]}))).users
    assert [user.nt_hash.hex() for user in users] == [nt_hash("new").hex(), NT]


def test_a_bare_keytab_is_a_secrets_file_too(tmp_path: Path) -> None:
    assert Keyring.load(write(tmp_path / "x", write_keytab(KEYS))).kerberos_keys == KEYS


def test_single_values_make_a_keyring(tmp_path: Path) -> None:
    ring = Keyring.build(
        passwords=["any", ("LAB\\one", "1"), ("two@LAB", "2")],
        nt_hashes=[NT, f"aad3b435b51404eeaad3b435b51404ee:{NT}"],
        keytabs=[write(tmp_path / "k", write_keytab(KEYS))],
        smb_session_keys=[f'1d00000000000000,{"ab" * 16},"",""'],
    )
    assert [(user.username, user.domain) for user in ring.users] == [
        (None, None),
        ("one", "LAB"),
        ("two", "LAB"),
        (None, None),
    ]
    assert repr(ring.merged(ring)) == repr(ring)


def test_users_are_found_whatever_the_case_and_the_domain() -> None:
    ring = Keyring.build(
        passwords=["any", ("perfmon", "none"), ("OTHER\\perfmon", "other"), ("LAB\\PerfMon", "lab"), "any2"]
    )
    found = [user.password for user in ring.users_for("PERFMON", "lab")]
    assert found == ["lab", "none", "other", "any", "any2"]
    assert [user.password for user in ring.users_for("perfmon@lab.test")] == ["none", "other", "lab", "any", "any2"]
    assert [user.password for user in ring.users_for("somebody")] == ["any", "any2"]


def test_a_keyring_goes_into_a_document_and_comes_back(tmp_path: Path) -> None:
    """The form of a secrets file, in which a pcapng file carries keys; it names no other files."""
    ring = Keyring(
        [UserKey("perfmon", "LAB", nt_hash("S3cret!pw"), "S3cret!pw"), UserKey("b", None, bytes.fromhex(NT))],
        KEYS,
        [SmbKeys(0x3C009C000019, b"\xab" * 16, server_to_client_key=b"\xcd" * 32)],
    )
    document = document_of(ring)
    assert json.loads(document)["users"] == [
        {"username": "perfmon", "domain": "LAB", "password": "S3cret!pw"},
        {"username": "b", "domain": None, "nt_hash": NT},
    ]
    back = keyring_of_documents(tmp_path / "x.pcapng", [document])
    assert (back.users, back.kerberos_keys, back.smb_keys) == (ring.users, ring.kerberos_keys, ring.smb_keys)
    listed = json.loads(document) | {"keytabs": ["of-another.keytab"]}
    assert keyring_of_documents(tmp_path / "x.pcapng", [json.dumps(listed).encode()]).users == ring.users


def test_wireshark_lines_are_read_and_written() -> None:
    line = seskey_line(0x3C009C000019, b"\xab" * 16, b"\xcd" * 16, b"\xef" * 16)
    assert line == f"1900009c003c0000,{'ab' * 16},{'cd' * 16},{'ef' * 16}"
    keys = parse_seskey_line(line)
    assert (keys.server_to_client_key, keys.client_to_server_key) == (b"\xcd" * 16, b"\xef" * 16)
    assert seskey_line(1, None, b"\xcd" * 16) == f'0100000000000000,"",{"cd" * 16},""'
    assert parse_seskey_line(seskey_line(1, None, b"\xcd" * 16)).session_key is None


def said(content: str) -> str:
    """What is made of a secrets file, or what it is refused for: in few words, of which none is a secret."""
    reported, traced = list[str](), ""
    with TemporaryDirectory() as folder:
        path = write(Path(folder) / "secrets", content.removeprefix("  ").removesuffix("\n"))
        try:
            ring = Keyring.load(path, reported.append)
            found = [repr(ring), *(f"{keys.session_id:#x}" for keys in ring.smb_keys)]
        except InputError as error:
            found, traced = [str(error)], "".join(traceback.format_exception(error))
    assert "S3cret" not in traced
    assert "The above exception" not in traced
    return "".join(f"  = {line}\n" for line in [*found, *reported]).replace(folder, "FOLDER")


TOLD = Told(Path(__file__).with_name("keyring.txt"), said)


@pytest.mark.parametrize("name", TOLD.words)
def test_mistakes_are_placed_and_named_and_nothing_is_echoed(name: str) -> None:
    TOLD.holds(name)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\xff\xfeS\x003\x00", "not UTF-8"), ("[" * 100000, "nested too deep")],
    ids=["UTF-16", "deep"],
)
def test_what_is_no_text_or_too_deep_is_refused(tmp_path: Path, content: str | bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Keyring.load(write(tmp_path / "secrets", content))


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError):
            Keyring.load(path)
    write(tmp_path / "broken.keytab", write_keytab(KEYS)[:30])
    with pytest.raises(InputError, match="not a readable keytab"):
        Keyring.build(keytabs=[tmp_path / "broken.keytab"])


def test_a_named_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "keytab"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="is a named pipe, not a keytab"):
        Keyring.build(keytabs=[pipe])
    with pytest.raises(InputError, match="is a named pipe"):
        Keyring.load(pipe)


@settings(max_examples=100)
@given(st.one_of(st.binary(max_size=100), st.binary(max_size=80).map(lambda data: b"\x05\x02" + data)))
def test_random_files_are_input_errors_or_keyrings(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = write(tmp_path_factory.mktemp("keyring") / "f", data)
    try:
        ring = Keyring.load(path)
    except InputError:
        return
    assert isinstance(ring, Keyring)


def test_keytabs_from_passwords() -> None:
    principal, realm = split_principal("host/srv.lab.test@LAB.TEST")
    assert default_salt(principal, realm) == "LAB.TESThostsrv.lab.test"
    keys = keys_from_password(principal, realm, "pw", kvno=3)
    assert [(key.etype, key.kvno, len(key.key)) for key in keys] == [
        (20, 3, 32),
        (19, 3, 16),
        (18, 3, 32),
        (17, 3, 16),
        (23, 3, 16),
    ]
    assert parse_keytab(write_keytab(keys)) == keys
    assert keys_from_password(principal, realm, "pw", salt="other")[0].key != keys[0].key
    with pytest.raises(InputError):
        split_principal("host/srv.lab.test")


def test_nt_hashes_go_into_a_keytab_for_wireshark() -> None:
    ring = Keyring.build(passwords=[("LAB\\a", "1"), "2"])
    found = parse_keytab(ntlm_keytab(ring))
    assert [(key.principal, key.etype, key.key) for key in found] == [
        ("a", 23, nt_hash("1")),
        ("any", 23, nt_hash("2")),
    ]


@pytest.mark.parametrize(
    ("content", "reported"),
    [
        ('{"a": ' + "9" * 5000 + "}", "number of too many digits"),
        ("a = " + "9" * 5000, "number of too many digits"),
        ('{"keytabs": ["a\\u0000b"]}', "a character that no path has"),
        ('{"keytabs": ["' + "k" * 5000 + '"]}', "File name too long"),
        ('{"keytabs": ["\\ud800"]}', "a character that no path has"),
        ("x" + ".x" * 20_000 + " = 1", "a key of too many parts"),
        ("[" + '"x" . ' * 20_000 + "x]", "a key of too many parts"),
        ("a = {" + "x." * 20_000 + "x = 1}", "a key of too many parts"),
        ("a = 1\n" * 300_000, "too large for a secrets file"),
        ('{"users": [{"password": "\\ud800"}]}', "users[1].password holds a character that no password has"),
    ],
    ids=lambda value: value[:12],
)
def test_what_no_secrets_file_holds_is_one_sentence(
    tmp_path: Path, content: str, reported: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    original = tomllib.loads
    monkeypatch.setattr(tomllib, "loads", lambda text: (parsed.append(text), original(text))[1])
    with pytest.raises(InputError) as raised:
        Keyring.load(write(tmp_path / "s", content))
    assert reported in str(raised.value)
    assert len(str(raised.value)) < 600
    assert not parsed or "x.x" not in parsed[0]


def test_no_memory_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise MemoryError

    monkeypatch.setattr(json, "loads", fail)
    with pytest.raises(InputError, match="not enough memory to read the secrets file"):
        Keyring.load(write(tmp_path / "s", "{}"))


@pytest.mark.parametrize(
    "text", ["a.b.c.keytab", "'d.e' . f = 1", 'x = "' + "A sentence. " * 40 + '"', "# " + "." * 200]
)
def test_ordinary_dots_are_no_long_key(text: str) -> None:
    assert not _LONG_KEY.search(text)


def test_secrets_files_of_captures_are_spelt_right() -> None:
    for path in sorted(CAPTURES.glob("*.secrets.json")):
        Keyring.load(path, pytest.fail)


def test_keys_of_sessions_have_ids_of_64_bits() -> None:
    ring = Keyring.build(smb_session_keys=["1d00000000000000," + "ab" * 16, "ffffffffffffffff," + "cd" * 16])
    assert [len(ring.smb_keys_for(number)) for number in (0x1D, 0x1D << 56, 2**64 - 1, 0x1E)] == [1, 1, 1, 0]
    assert [ring.smb_keys_for(number) for number in (-1, 2**64, 2**65)] == [(), (), ()]
    assert Keyring().smb_keys_for(0x1D) == ()


def test_users_are_tried_from_the_closest_to_anybody() -> None:
    ring = Keyring(
        [
            UserKey(None, None, b"any"),
            UserKey("a", "OTHER", b"other"),
            UserKey("A", None, b"none"),
            UserKey("a", "lab", b"same"),
            UserKey("b", "LAB", b"b"),
        ]
    )
    assert [user.nt_hash for user in ring.users_for("a", "LAB")] == [b"same", b"other", b"none", b"any"]
    assert [user.nt_hash for user in ring.users_for("a")] == [b"none", b"other", b"same", b"any"]
    assert [user.nt_hash for user in ring.users_for("a@lab.test", "")] == [b"none", b"other", b"same", b"any"]


@pytest.mark.parametrize("order", ["little", "big"])
def test_an_old_keytab_may_begin_with_a_hole(order: Literal["little", "big"]) -> None:
    """File format 0x0501 is in the byte order of its machine, which the first size shows, also that of a deleted entry."""

    def number(value: int, length: int = 2) -> bytes:
        return value.to_bytes(length, order, signed=value < 0)

    def counted(data: bytes) -> bytes:
        return number(len(data)) + data

    entry = number(3) + counted(b"LAB.TEST") + counted(b"host") + counted(b"srv") + number(0, 4) + b"\x07"
    entry += number(18) + counted(bytes(range(32)))
    keytab = b"\x05\x01" + number(-5, 4) + b"\xff" * 5 + number(len(entry), 4) + entry
    assert parse_keytab(keytab) == (KerberosKey("host/srv", "LAB.TEST", 18, 7, bytes(range(32))),)

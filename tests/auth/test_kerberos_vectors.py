"""Published Kerberos values come out of the library as we use it."""

import pytest

from analyzer.auth.kerberos import Key, string_to_key
from analyzer.auth.kerberos_handshake import salts
from analyzer.core.errors import UnsupportedError


@pytest.mark.parametrize(
    ("etype", "iterations", "key"),
    [
        (17, 1, "42263c6e89f4fc28b8df68ee09799f15"),
        (18, 1, "fe697b52bc0d3ce14432ba036a92e65bbb52280990a2fa27883998d72af30161"),
        (17, 1200, "4c01cd46d632d01e6dbe230a01ed642a"),
        (18, 1200, "55a6ac740ad17b4846941051e1e8b0a7548d93b0ab30a8bc3ff16280382b8c2a"),
    ],
)
def test_aes_sha1_keys_from_passwords_are_those_of_rfc_3962_appendix_b(etype: int, iterations: int, key: str) -> None:
    assert string_to_key(etype, "password", "ATHENA.MIT.EDUraeburn", iterations).hex() == key


@pytest.mark.parametrize(
    ("etype", "key"),
    [
        (19, "089bca48b105ea6ea77ca5d2f39dc5e7"),
        (20, "45bd806dbf6a833a9cffc1c94589a222367a79bc21c413718906e9f578a78467"),
    ],
)
def test_aes_sha2_keys_from_passwords_are_those_of_rfc_8009_appendix_a(etype: int, key: str) -> None:
    salt = bytes.fromhex("10df9dd783e5bc8acea1730e74355f61") + b"ATHENA.MIT.EDUraeburn"
    assert string_to_key(etype, "password", salt).hex() == key


def test_rc4_keys_are_nt_hashes_as_in_rfc_4757_section_2() -> None:
    assert string_to_key(23, "foo", "ignored").hex() == "ac8e657f83df82beea5d43bdaf7800cc"


def test_other_types_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedError):
        string_to_key(1, "foo", "salt")


@pytest.mark.parametrize(
    ("plain", "cipher"),
    [
        ("", "ef85fb890bb8472f4dab20394dca781dad877eda39d50c870c0d5a0a8e48c718"),
        ("000102030405", "84d7f30754ed987bab0bf3506beb09cfb55402cef7e6877ce99e247e52d16ed4421dfdf8976c"),
    ],
)
def test_decryption_is_that_of_rfc_8009_appendix_a(plain: str, cipher: str) -> None:
    key = Key(19, bytes.fromhex("3705d96080c17728a0e800eab6e0d23c"))
    data = bytes.fromhex(cipher)
    assert key.decrypt(2, data) == bytes.fromhex(plain)
    assert key.decrypt(3, data) is None
    assert key.decrypt(2, data[:-1] + bytes([data[-1] ^ 1])) is None
    assert key.decrypt(2, data[:20]) is None


def test_salts_of_users_computers_and_services_are_all_tried() -> None:
    assert salts("LAB.TEST", "cifs/srv.lab.test", "svc-perf") == (
        "LAB.TESTsvc-perf",
        "LAB.TESThostsrv.lab.test",
        "LAB.TESTcifssrv.lab.test",
    )
    assert salts("LAB.TEST", "cifs/SRV", "SRV$")[:2] == ("LAB.TESThostsrv.lab.test", "LAB.TESTcifsSRV")

"""Keys, signatures and encryption of SMB 3 against the examples Microsoft published.

"SMB 2 and SMB 3 security in Windows 10: the anatomy of signing and cryptographic keys" (Microsoft Open Specifications
blog, 26 May 2017), appendix "Key derivation examples": a 3.0 session, and a 3.1.1 session message by message.
"""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from analyzer.auth.keyring import Keyring
from analyzer.results.connection import SmbSession
from analyzer.results.security import Decryption
from analyzer.transport.smb.smb3_crypto import (
    AES_128_CCM,
    AES_128_GCM,
    AES_256_CCM,
    AES_256_GCM,
    AES_CMAC,
    AES_GMAC,
    HMAC_SHA256,
    check_signature,
    decrypt_transform,
    derive_keys,
)
from analyzer.transport.tcp.protocol_recognition import Recognition
from tests.build import smb as build
from tests.build.chain import through, to_channels

WINDOWS_KEY = "270E1BA896585EEB7AF3472D3B4C75A7"
WINDOWS_HASH = bytes.fromhex(
    "0DD13628CC3ED218EF9DF9772D436D0887AB9814BFAE63A80AA845F36909DB79"
    "28622DDDAD522D9751640A459762C5A9D6BB084CBB3CE6BDADEF5D5BCE3C6C01"
)
# NEGOTIATE and SESSION_SETUP of the first channel, as printed there.
WINDOWS_TALK = (
    (
        0,
        (
            "FE534D4240000100000000000000800000000000000000000100000000000000FFFE000000000000"
            "00000000000000000000000000000000000000000000000024000500000000003F000000ECD86F32"
            "6276024F9F7752B89BB33F3A70000000020000000202100200030203110300000100260000000000"
            "010020000100FA49E6578F1F3A9F4CD3E9CC14A67AA884B3D05844E0E5A118225C15887F32FF0000"
            "0200060000000000020002000100"
        ),
    ),
    (
        1,
        (
            "FE534D4240000100000000000000010001000000000000000100000000000000FFFE000000000000"
            "000000000000000000000000000000000000000000000000410001001103020039CBCAF329714942"
            "BDCE5D60F09AB3FB2F000000000080000000800000008000D8DAE5ADCBAED00109094AB095AED001"
            "80004001C00100006082013C06062B0601050502A08201303082012CA01A3018060A2B0601040182"
            "3702021E060A2B06010401823702020AA282010C048201084E45474F455854530100000000000000"
            "60000000700000007C7CC0FD06D6362D02DDE1CF343BFE292900F49750B4AA97934D9C4296B26E51"
            "FD370471B235E15A50DAE15BD5489C87000000000000000060000000010000000000000000000000"
            "5C33530DEAF90D4DB2EC4AE3786EC3084E45474F4558545303000000010000004000000098000000"
            "7C7CC0FD06D6362D02DDE1CF343BFE295C33530DEAF90D4DB2EC4AE3786EC3084000000058000000"
            "3056A05430523027802530233121301F06035504031318546F6B656E205369676E696E6720507562"
            "6C6963204B65793027802530233121301F06035504031318546F6B656E205369676E696E67205075"
            "626C6963204B6579010026000000000001002000010060A3C3B95C3C7CCD51EC536648D9B3AC74C4"
            "83CA5B65385A251117BEB30712E50000020004000000000001000200"
        ),
    ),
    (
        0,
        (
            "FE534D4240000100000000000100800000000000000000000200000000000000FFFE000000000000"
            "00000000000000000000000000000000000000000000000019000001010000000000000058004A00"
            "0000000000000000604806062B0601050502A03E303CA00E300C060A2B06010401823702020AA22A"
            "04284E544C4D5353500001000000978208E200000000000000000000000000000000060380250000"
            "000F"
        ),
    ),
    (
        1,
        (
            "FE534D4240000100160000C00100010001000000000000000200000000000000FFFE000000000000"
            "190000000010000000000000000000000000000000000000090000004800B300A181B03081ADA003"
            "0A0101A10C060A2B06010401823702020AA281970481944E544C4D53535000020000000C000C0038"
            "00000015828AE20D1D8BA31179D008000000000000000050005000440000000A0092270000000F53"
            "005500540033003100310002000C0053005500540033003100310001000C00530055005400330031"
            "00310004000C0053005500540033003100310003000C0053005500540033003100310007000800A1"
            "A1F5ADCBAED00100000000"
        ),
    ),
    (
        0,
        (
            "FE534D4240000100000000000100800000000000000000000300000000000000FFFE000000000000"
            "1900000000100000000000000000000000000000000000001900000101000000000000005800CF01"
            "0000000000000000A18201CB308201C7A0030A0101A28201AA048201A64E544C4D53535000030000"
            "001800180090000000EE00EE00A80000000C000C00580000001A001A0064000000120012007E0000"
            "001000100096010000158288E2060380250000000FECAC77A5F385A8BF9C38C706EEEDDCD3530055"
            "005400330031003100610064006D0069006E006900730074007200610074006F0072004400520049"
            "0056004500520033003100310000000000000000000000000000000000000000000000000063078E"
            "B639FE03E20A231C3AE3BF23080101000000000000A1A1F5ADCBAED001BC4AD05F223CC90F000000"
            "0002000C0053005500540033003100310001000C0053005500540033003100310004000C00530055"
            "00540033003100310003000C0053005500540033003100310007000800A1A1F5ADCBAED001060004"
            "00020000000800300030000000000000000000000000300000B61FEFCAA857EA57BF1EDCEBF8974B"
            "8E0EBA5A6DFD9D07A31D11B548F8C9D0CC0A00100000000000000000000000000000000000090016"
            "0063006900660073002F005300550054003300310031000000000000000000000000003B9BDFF38F"
            "5EE8F9663F11A0F4C03A78A31204100100000063775A9A5FD97F0600000000"
        ),
    ),
    (
        1,
        (
            "FE534D4240000100000000000100800009000000000000000300000000000000FFFE000000000000"
            "1900000000100000EBE146DA120BA25FC3376A49DFE31BC10900000048001D00A11B3019A0030A01"
            "00A3120410010000003B453CDC3524164200000000"
        ),
    ),
)


def test_keys_of_a_3_0_session() -> None:
    keys = derive_keys(0x0300, bytes.fromhex("7CD451825D0450D235424E44BA6E78CC"), None, AES_128_CCM)
    assert keys.signing_key == bytes.fromhex("0B7E9C5CAC36C0F6EA9AB275298CEDCE")
    assert keys.client_to_server == bytes.fromhex("FAD27796665B313EBB578F388632B4F7")
    assert keys.server_to_client == bytes.fromhex("B0F0427F7CEB416D1D9DCC0CD4F99447")
    second = derive_keys(0x0302, bytes.fromhex("4E01A2B313BCF660CC250BEF021AEDE6"), None, AES_128_CCM)
    assert second.signing_key == bytes.fromhex("BA1A17DBBFEC349BCA105563D598952F")


def test_keys_of_a_3_1_1_session() -> None:
    keys = derive_keys(0x0311, bytes.fromhex(WINDOWS_KEY), WINDOWS_HASH, AES_128_GCM)
    assert keys.signing_key == bytes.fromhex("73FE7A9A77BEF0BDE49C650D8CCB5F76")
    assert keys.client_to_server == bytes.fromhex("629BCBC54422A0F572B97F45989B6073")
    assert keys.server_to_client == bytes.fromhex("E2AF0DCEFAC68DA71A0DFBD0D1350D74")
    assert derive_keys(0x0311, bytes.fromhex(WINDOWS_KEY), None, AES_128_GCM) is None


def test_a_windows_session_setup_hashes_and_verifies() -> None:
    sent = [(1 if way else 0, build.framed(bytes.fromhex(message))) for way, message in WINDOWS_TALK]
    keyring = Keyring.build(smb_session_keys=[f"1900000000100000,{WINDOWS_KEY}"])
    events, _ = Recognition().feed(list(build.stream(sent)))
    events = through(to_channels(keyring), events)
    (session,) = (event for event in events if isinstance(event, SmbSession))
    assert session.session_id == 0x100000000019
    assert (session.signed_messages, session.verified_messages) == (1, 1)
    assert (session.dialect, session.cipher, session.signing) == ("3.1.1", "AES-128-GCM", "AES-CMAC")
    assert session.client_guid == "326fd8ec-7662-4f02-9f77-52b89bb33f3a"
    assert session.identity.account == "SUT311\\administrator"
    assert session.identity.workstation == "DRIVER311"
    assert session.decryption is not Decryption.NO_HANDSHAKE


def test_256_bit_ciphers_use_the_whole_session_key() -> None:
    """[MS-SMB2] 3.2.5.3.1: FullSessionKey for the cipher keys, its first 16 bytes for the signing key."""
    long_key = bytes(range(32))
    keys = derive_keys(0x0311, long_key, WINDOWS_HASH, AES_256_GCM)
    expected = build.keys_of(0x0311, long_key, WINDOWS_HASH, AES_256_GCM)
    assert keys.client_to_server == expected.client_to_server
    assert keys.server_to_client == expected.server_to_client
    assert keys.signing_key == expected.signing == build.keys_of(0x0311, long_key[:16], WINDOWS_HASH, None).signing
    assert len(keys.client_to_server or b"") == 32


@settings(max_examples=40)
@given(
    st.sampled_from([AES_128_CCM, AES_128_GCM, AES_256_CCM, AES_256_GCM]),
    st.binary(min_size=1, max_size=80),
    st.sampled_from([1, 1, 1, 4000]),
    st.binary(min_size=11, max_size=12),
)
@example(AES_128_GCM, bytes(80), 4000, bytes(12))
@example(AES_256_GCM, bytes(80), 4000, bytes(12))
def test_what_is_sealed_opens_with_its_key_alone(cipher: int, message: bytes, times: int, nonce: bytes) -> None:
    message *= times
    key = bytes(range(32 if cipher in (AES_256_CCM, AES_256_GCM) else 16))
    sealed = build.seal(message, key, cipher, nonce)
    assert decrypt_transform(cipher, key, sealed) == message
    assert decrypt_transform(cipher, key, b"head" + sealed, 4) == message
    assert decrypt_transform(cipher, key[::-1], sealed) is None
    assert decrypt_transform(cipher, key[:8], sealed) is None
    assert decrypt_transform(cipher, key, sealed[:51] + b"\xff" + sealed[52:]) is None


def test_signatures_of_all_kinds() -> None:
    message = build.smb2(build.READ, build.read_request(), 77)
    for algorithm in (HMAC_SHA256, AES_CMAC, AES_GMAC):
        signed = build.sign(message, build.SESSION_KEY, algorithm)
        assert check_signature(algorithm, build.SESSION_KEY, signed, from_server=False, cancel=False)
        assert not check_signature(algorithm, build.SESSION_KEY, signed[:-1] + b"\1", from_server=False, cancel=False)
    gmac = build.sign(build.smb2(build.CANCEL, bytes(4), 1), build.SESSION_KEY, AES_GMAC)
    assert check_signature(AES_GMAC, build.SESSION_KEY, gmac, from_server=False, cancel=True)


def test_keys_do_not_show() -> None:
    keys = derive_keys(0x0300, build.SESSION_KEY, None, AES_128_CCM)
    assert build.SESSION_KEY.hex() not in repr(keys)
    assert (keys.signing_key or b"").hex() not in repr(keys)

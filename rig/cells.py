"""The cells of the rig: each is a server, a client, what carries the calls, and how they are protected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from rig import servers
from rig.network import KERBEROS_SERVER, SEALING_SERVER, SERVER, SERVER6

LEVELS = {"none": 1, "connect": 2, "packet": 4, "integrity": 5, "privacy": 6}


class Cell(Struct, frozen=True):
    """One kind of conversation. `client` is a module of `rig.clients`, `options` what it is told."""

    server: str
    client: str
    carrier: str
    security: str
    options: dict[str, Any]
    level: int = 6
    ndr64: bool = False
    polls: int = 3
    winreg: bool = True
    faults: bool = True
    decides: bool = False
    python: str = ""
    interface: str = "wire0"
    kerberos: bool = False
    extra: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        return f"{self.server} / {self.client} / {self.carrier} / {self.security}"


def _of(server: str, client: str, carrier: str, security: str, level: str = "privacy", **options: Any) -> Cell:
    host = {"smbd, sealing": SEALING_SERVER, "smbd, Kerberos": KERBEROS_SERVER}.get(server, SERVER)
    port = {"tcp": servers.TCP_PORT, "impacket": servers.IMPACKET_PORT}.get(server, 445)
    told = {
        "host": host,
        "port": port,
        "user": servers.USER,
        "password": servers.PASSWORD,
        "domain": servers.DOMAIN,
        "level": LEVELS[level],
        "carrier": "tcp" if server == "tcp" else "np",
    }
    named = {name: options.pop(name) for name in list(options) if name in Cell.__struct_fields__}
    security = f"{security if level != 'none' else ''} {level}".strip()
    if named.get("kerberos"):
        options["kerberos"] = True
    if named.get("ndr64"):
        options["ndr64"], carrier = True, f"{carrier}, NDR64"
    return Cell(server, client, carrier, security, {**told, **options}, level=LEVELS[level], **named)


def _impacket() -> Iterator[Cell]:
    for dialect, words in ((0x202, "2.0.2"), (0x210, "2.1"), (0x300, "3.0"), (0x311, "3.1.1")):
        for level in LEVELS if dialect == 0x311 else ("privacy",):
            if level != "connect":
                yield _of("smbd", "impacket", f"SMB {words}", "NTLM", level, dialect=hex(dialect))
    yield _of("smbd", "impacket", "SMB 1", "NTLM", dialect="NT LM 0.12")
    yield _of("smbd", "impacket", "SMB 3.1.1, fragments of 256", "NTLM", dialect="0x311", fragment=256)
    yield _of("smbd", "impacket", "SMB 3.1.1, IPv6", "NTLM", dialect="0x311", host=SERVER6)
    for dialect, words in ((0x300, "3.0"), (0x311, "3.1.1")):
        yield _of("smbd, sealing", "impacket", f"SMB {words}, AES-128-CCM", "NTLM", dialect=hex(dialect))
    yield _of("impacket", "impacket", "SMB 2.0.2", "NTLM", dialect="0x202")
    for level in LEVELS:
        yield _of("tcp", "impacket", "TCP", "NTLM", level)
    yield _of("tcp", "impacket", "TCP, fragments of 256", "NTLM", fragment=256)
    yield _of("tcp", "impacket", "TCP, IPv6", "NTLM", host=SERVER6)


def _samba() -> Iterator[Cell]:
    def of(server: str, carrier: str, security: str, level: str, *binding: str, **options: Any) -> Cell:
        # libdcerpc sends what it is given; a fault of the one context ends the other's connection.
        made = {"binding": binding, "python": "/usr/bin/python3", **options}
        return _of(server, "samba", carrier, security, level, **made)

    for level, word in (("privacy", "seal"), ("integrity", "sign"), ("packet", "packet"), ("none", "connect")):
        yield of("smbd", "SMB 3.1.1", "NTLM" if level != "none" else "", level, word, "ntlm" if level != "none" else "")
    yield of("smbd", "SMB 3.1.1", "SPNEGO", "privacy", "seal", "spnego")
    yield of(
        "smbd",
        "SMB 1",
        "NTLM",
        "privacy",
        "seal",
        "ntlm",
        settings={"client max protocol": "NT1", "client min protocol": "NT1"},
    )
    for dialect in ("SMB2_02", "SMB2_10", "SMB3_00", "SMB3_02"):
        words = dialect.removeprefix("SMB").replace("_", ".")
        settings = {"client max protocol": dialect}
        yield of("smbd", f"SMB {words}", "NTLM", "privacy", "seal", "ntlm", settings=settings)
    for cipher in ("AES-128-CCM", "AES-128-GCM", "AES-256-CCM", "AES-256-GCM"):
        settings = {"client smb encrypt": "required", "client smb3 encryption algorithms": cipher}
        yield of("smbd, sealing", f"SMB 3.1.1, {cipher}", "NTLM", "privacy", "seal", "ntlm", settings=settings)
    for signing in ("HMAC-SHA256", "AES-128-CMAC", "AES-128-GMAC"):
        settings = {
            "client signing": "required",
            "client ipc signing": "required",
            "client smb3 signing algorithms": signing,
        }
        yield of("smbd", f"SMB 3.1.1, {signing}", "NTLM", "privacy", "seal", "ntlm", settings=settings)
    for level, word in (("privacy", "seal"), ("integrity", "sign"), ("packet", "packet")):
        yield of("tcp", "TCP", "NTLM", level, word, "ntlm")
    yield of("tcp", "TCP", "SPNEGO", "privacy", "seal", "spnego")
    yield of("tcp", "TCP", "SPNEGO", "integrity", "sign", "spnego")


def _kerberos() -> Iterator[Cell]:
    """Sessions of SMB whose account a KDC vouches for. Nothing else protects the calls in them."""
    told: dict[str, Any] = {"kerberos": True, "realm": servers.REALM, "name": servers.KERBEROS_HOST}
    for dialect, words in ((0x210, "2.1"), (0x300, "3.0"), (0x311, "3.1.1")):
        yield _of("smbd, Kerberos", "impacket", f"SMB {words}", "", "none", dialect=hex(dialect), **told)
    samba: dict[str, Any] = {"binding": ("connect",), "python": "/usr/bin/python3", **told}
    yield _of("smbd, Kerberos", "samba", "SMB 3.1.1", "", "none", **samba)


def _own() -> Iterator[Cell]:
    for ndr64 in (False, True):
        yield _of("smbd", "own", "SMB 3.1.1", "NTLM", ndr64=ndr64, winreg=not ndr64)
        yield _of("tcp", "own", "TCP", "NTLM", ndr64=ndr64, winreg=not ndr64)
    for dialect in ("0x202", "0x210", "0x300", "0x302", "0x311"):
        words = ".".join(dialect[2:] if dialect != "0x202" else "202").replace("3.0.0", "3.0").replace("2.1.0", "2.1")
        yield _of("smbd", "smbprotocol", f"SMB {words}", "NTLM", dialect=dialect, encrypt=False)
    yield _of("smbd, sealing", "smbprotocol", "SMB 3.1.1, encrypted", "NTLM", dialect="0x311", encrypt=True)
    yield _of("smbd, sealing", "smbprotocol", "SMB 3.0, encrypted", "NTLM", dialect="0x300", encrypt=True)


def _aiosmb() -> Iterator[Cell]:
    """What smbd takes of it: of SMB 3.1.1 no signatures, but what is encrypted."""
    for dialect, words in (("SMB202", "2.0.2"), ("SMB210", "2.1"), ("SMB300", "3.0"), ("SMB302", "3.0.2")):
        yield _of("smbd", "aiosmb", f"SMB {words}", "NTLM", dialect=dialect)
    for level in ("integrity", "none"):
        yield _of("smbd", "aiosmb", "SMB 3.0.2", "NTLM", level, dialect="SMB302")
    yield _of("smbd, sealing", "aiosmb", "SMB 3.1.1, encrypted", "NTLM", dialect="SMB311")


def _scapy() -> Iterator[Cell]:
    for level in ("privacy", "integrity", "none"):
        # Over SMB, scapy protects nothing below integrity.
        security = "SPNEGO" if level != "none" else ""
        yield _of("smbd", "scapy", "SMB 3.1.1", security, level, spnego=True, encrypt=False)
    yield _of("smbd, sealing", "scapy", "SMB 3.1.1, encrypted", "SPNEGO", spnego=True, encrypt=True)
    for spnego in (False, True):
        for level in ("privacy", "integrity"):
            yield _of("tcp", "scapy", "TCP", "SPNEGO" if spnego else "NTLM", level, spnego=spnego)
    yield _of("tcp", "scapy", "TCP", "", "none", spnego=False)


def _tools() -> Iterator[Cell]:
    """Programs that decide themselves what they call."""
    account = ["-U", "{domain}/{user}%{password}", "-p", "{port}"]
    for level in ("seal", "sign"):
        words = [
            "rpcclient",
            f"ncacn_np:{{host}}[{level},ntlm]",
            *account[:2],
            "-c",
            "winreg_enumkey HKPD;winreg_enumkey HKLM",
        ]
        protection = {"seal": "privacy", "sign": "integrity"}[level]
        yield _of("smbd", "rpcclient", "SMB 3.1.1", "NTLM", protection, words=words, decides=True)
    for path in ("HKPD", "HKLM"):
        words = ["net", "rpc", "registry", "enumerate", path, "-S", "{host}", *account]
        yield _of("smbd", "net", "SMB 3.1.1", "", "none", words=words, decides=True)
    scripts = [
        "nmap",
        "-Pn",
        "-n",
        "-p",
        "{port}",
        "--script",
        "smb-protocols,smb2-security-mode,smb-os-discovery",
        "{host}",
    ]
    for server in ("smbd", "impacket"):
        yield _of(server, "nmap", "SMB 1 to 3.1.1", "", "none", words=scripts, decides=True)


def cells() -> list[Cell]:
    """Every cell."""
    return [*_impacket(), *_samba(), *_kerberos(), *_own(), *_aiosmb(), *_scapy(), *_tools()]

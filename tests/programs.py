"""The marks of programs, learnt from captures of the programs themselves: `python -m tests.programs` writes the table anew.

A capture is of a program because it was recorded so: what the folders' manifests and names say. Of public captures, which are not
ours to pass on, a client is what the file's name says of it, or the version of Windows that the client itself states. Where they
are not at hand, the programs that they show stay in the table as they are.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct, json

from analyzer.interfaces.call_contents.client_programs import (
    BY_CALLS,
    Marks,
    Program,
    client_programs,
    known_programs,
    learnt,
)
from analyzer.pipeline.run import analyze
from tests.corpus import CORPUS

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "analyzer/interfaces/call_contents/programs.json"


class Maker(Struct, frozen=True):
    """A program, and the captures that it made: patterns of our own files, and public files with the clients that it is in them."""

    name: str
    about: str
    own: tuple[str, ...] = ()
    public: tuple[tuple[str, tuple[str, ...]], ...] = ()


# Our own captures of programs that decide themselves what they call. In the others a script of ours calls by a program's library.
_TOOLS = ("impacket_", "samba_", "nmap_")
_OURS, _OF_TOOLS = "tests/interfaces/call_contents/programs", "tests/questions/observations/tools"
_OF_SMB = "tests/transport/smb/captures"
MAKERS = (
    Maker(
        "impacket 0.13",
        "impacket 0.13.1 and its examples, recorded here",
        (
            "captures/*_impacket_*.pcap",
            f"{_OURS}/impacket_*.pcap",
            f"{_OF_TOOLS}/impacket_*.pcap",
            *(f"{_OF_SMB}/{name}*.pcap" for name in ("guest", "refused", "null", "two_users")),
        ),
    ),
    Maker(
        "impacket (SMB 3.0 at most)",
        "PetitPotam, which calls by impacket (topotam/PetitPotam), in captures of corelight/PetitPotam",
        (),
        (("corelight-PetitPotam/*.pcapng", ("192.168.0.15",)),),
    ),
    Maker(
        "Samba 4.17",
        "smbclient, rpcclient, net, smbtorture and the Python bindings of Samba 4.17.12, recorded here",
        (
            "captures/*_samba[lp]*.pcap",
            f"{_OURS}/samba_*.pcap",
            f"{_OF_TOOLS}/samba_*.pcap",
            *(f"{_OF_SMB}/{name}*.pcap" for name in ("bound", "renewed_smb311", "not_bound")),
        ),
    ),
    Maker(
        "scapy 2.8",
        "SMB_Client and DCERPC_Client of scapy 2.8.0, recorded here",
        ("captures/*_scapycli_*.pcap", f"{_OURS}/scapy_*.pcap"),
    ),
    Maker("go-msrpc", "oiweiwei/go-msrpc, recorded here", (f"{_OURS}/gomsrpc_*.pcap",)),
    Maker(
        "smbprotocol 1.17",
        "smbprotocol 1.17.0 (jborean93/smbprotocol), recorded here",
        (f"{_OURS}/smbprotocol_*.pcap", f"{_OF_SMB}/multichannel_*.pcap"),
    ),
    Maker(
        "nmap 7.93",
        "the SMB scripts of nmap 7.93, recorded here",
        (f"{_OURS}/nmap_*.pcap", f"{_OF_TOOLS}/nmap_*.pcap"),
    ),
    Maker(
        "Windows 10, Server 2016 or later",
        "public captures whose name says Windows 10, or whose client states the version 10.0",
        (),
        (
            ("odedshimon-BruteShark/*Windows_10*", ("192.168.199.132", "192.168.199.133")),
            ("arkime-arkime/*wireshark-smb-on-windows10.pcap", ("192.168.199.132", "192.168.199.133")),
            ("corelight-PetitPotam/*.pcapng", ("192.168.0.80", "192.168.0.85")),
            ("OISF-suricata-verify/tests__dcerpc__dcerpc-smb-ctxid__input.pcap", ("192.168.56.102",)),
            ("OISF-suricata-verify/tests__dcerpc__dcerpc-ctxids__input.pcap", ("192.168.56.102",)),
            ("OISF-suricata-verify/tests__bug-5133__input.pcap", ("172.16.66.1",)),
            ("secdev-scapy/test__pcaps__dcerpc_privacy_ntlm.pcapng", ("192.168.0.101",)),
        ),
    ),
    Maker(
        "Windows 7 or Server 2008 R2",
        "public captures whose client states the version 6.1",
        (),
        (("cisco-mercury/unit_tests__pcaps__smb.pcap", ("192.168.1.124",)),),
    ),
    Maker(
        "Windows XP or Server 2003",
        "public captures whose client states the version 5.1 or 5.2",
        (),
        (
            ("ITI-ICS-Security-Tools/*Sample_File_MMS_and_GOOSE.pcap", ("172.16.0.101",)),
            ("ITI-ICS-Security-Tools/*ModbusTCP__mb2.pcap", ("141.81.0.182",)),
            ("ITI-ICS-Security-Tools/*ControlProtocolChangeAttempt.pcap", ("192.168.10.22",)),
            ("OISF-suricata-verify/*filecontainer-smb__filecontainer-smb.pcap", ("192.168.202.115",)),
            ("odedshimon-BruteShark/*MagicJack*", ("192.168.0.4",)),
        ),
    ),
)


class Recorded(Struct, frozen=True):
    """The marks of the connections of a program in one capture."""

    program: str
    path: Path
    connections: tuple[Marks, ...]


@cache
def marks_of(path: Path) -> tuple[tuple[str, Marks], ...]:
    """The client's address and the marks of every connection."""
    return tuple((one.client.ip, one.marks) for one in client_programs(analyze([path], pdus=False)))


@cache
def recorded(*, with_public: bool) -> tuple[Recorded, ...]:
    """All captures whose maker is known."""
    return tuple(_recorded(with_public=with_public))


def _recorded(*, with_public: bool) -> Iterator[Recorded]:
    for maker in MAKERS:
        for pattern in maker.own:
            for path in sorted(ROOT.glob(pattern)):
                yield Recorded(maker.name, path, tuple(_of_program(marks, path) for _, marks in marks_of(path)))
        for pattern, clients in maker.public if with_public else ():
            for path in sorted(CORPUS.glob(pattern)):
                yield Recorded(maker.name, path, tuple(marks for ip, marks in marks_of(path) if ip in clients))


def _of_program(marks: Marks, path: Path) -> Marks:
    """The marks that follow from the program alone."""
    if path.name.startswith(_TOOLS):
        return marks
    return {name: value for name, value in marks.items() if name not in BY_CALLS}


def table(captures: Iterable[Recorded], *, with_public: bool) -> tuple[Program, ...]:
    """The programs as these captures show them, those of public captures as they are known where these are not at hand."""
    captures = tuple(captures)
    known = {one.name: one for one in known_programs()} if not with_public else {}
    made = []
    for maker in MAKERS:
        if not maker.own and not with_public:
            made.append(known[maker.name])
            continue
        connections = [marks for one in captures if one.program == maker.name for marks in one.connections]
        made.append(learnt(maker.name, connections, (maker.about,)))
    return tuple(made)


def written(programs: Sequence[Program]) -> bytes:
    """The table as JSON that can be read in review."""
    return json.format(json.encode(programs), indent=2) + b"\n"


if __name__ == "__main__":
    if not CORPUS.name:
        raise SystemExit("PCQ_CORPUS names no folder: the programs of public captures cannot be learnt")
    TABLE.write_bytes(written(table(recorded(with_public=True), with_public=True)))

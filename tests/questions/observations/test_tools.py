"""What captures of tools show, in `tools`: each was recorded of the program that its name says.

impacket 0.13.1 called its own file server, with pipes that answer as a service control manager, a task scheduler and a registry do.
Its secretsdump gets empty hives there, so it finds no accounts in them. rpcclient and net of Samba 4.17 called smbd, or that server
to list sessions, and to log on as six accounts that it does not know. nmap 7.93 called smbd, which refuses its logon by NTLMv1 and
lets it in without a name.
"""

from pathlib import Path

import pytest

from analyzer import analyze
from analyzer.questions.observations.observation_making import Scene
from analyzer.questions.observations.observations import observations
from tests.questions.observations.test_observations import check

TOOLS = Path(__file__).parent / "tools"
RUN = "HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Run\\x"
LIBRARY = "HKLM\\SYSTEM\\CurrentControlSet\\Services\\lab\\Performance\\Library"
LSA = "HKLM\\SYSTEM\\CurrentControlSet\\Control\\Lsa"
TEMP = "\\\\10.99.0.1\\ADMIN$\\Temp\\"
# Kind, outcome, objects and attacks of each observation that is neither of a logon nor of other calls.
SHOWN = {
    "impacket_smbexec": [
        "service answered jjNlpTEP ATK03",
        "service-start answered jjNlpTEP ATK03",
        "service-delete answered jjNlpTEP ATK03",
        "file-open refused \\\\10.66.0.1\\C$\\__output_ThprVkhu",
    ],
    "impacket_services_create": ["service answered evil"],
    "impacket_reg_save": ["registry-save answered HKLM\\SAM ATK11"],
    "impacket_reg_add_run": [f"registry-write answered {RUN} ATK05"],
    "impacket_reg_add_library": [f"registry-write answered {LIBRARY} ATK02"],
    "nmap_smb_enum_processes": [
        "anonymous None",
        "refused-logon refused LAB\\games RIG\\guest",
        "losses unreadable malformed 1",
    ],
    "nmap_smb_enum_sessions": [
        "refused-logon refused LAB\\games RIG\\guest",
        "anonymous None",
        "session-list refused HKU",
        "session-list refused srvsvc.NetrSessionEnum",
    ],
    "impacket_atexec": [
        "task unreadable ITaskSchedulerService.SchRpcRegisterTask ATK04",
        "task-start unreadable ITaskSchedulerService.SchRpcRun ATK04",
        "task-delete unreadable ITaskSchedulerService.SchRpcDelete ATK04",
        f"file-read answered {TEMP}jNQqkton.tmp",
        f"file-change answered {TEMP}jNQqkton.tmp",
    ],
    "impacket_secretsdump": [
        "registry-save answered HKLM\\SAM ATK11",
        "registry-save answered HKLM\\SECURITY ATK11",
        "registry-write answered HKLM\\SAM",
        "registry-write answered HKLM\\SECURITY",
        f"registry-read answered {LSA}\\JD {LSA}\\Skew1 {LSA}\\GBG {LSA}\\Data",
        f"registry-read refused {LSA}",
        f"file-read answered {TEMP}NvPvNUnG.tmp {TEMP}YXhHfPIw.tmp",
        f"file-change answered {TEMP}NvPvNUnG.tmp {TEMP}YXhHfPIw.tmp",
    ],
    "samba_net_rpc_user_info": ["account-query answered games RID 513"],
    "samba_rpcclient_netsessenum": ["session-list answered srvsvc.NetrSessionEnum ATK09"],
    "samba_rpcclient_six_accounts": [
        "refused-logon refused LAB\\ann LAB\\bob LAB\\carl LAB\\dan LAB\\eve LAB\\fred ATK10"
    ],
    "samba_rpcclient": [
        "account-list answered samr.SamrEnumerateUsersInDomain",
        "account-query answered RID 1000",
        "account-query answered games",
        "share-list answered srvsvc.NetrShareEnumSticky",
        "session-list refused srvsvc.NetrSessionEnum",
    ],
}


@pytest.mark.parametrize("name", sorted(path.stem for path in TOOLS.glob("*.pcap")))
def test_a_capture_of_a_tool_shows_what_it_did(name: str) -> None:
    scene = Scene(analyze(TOOLS / f"{name}.pcap").analysis)
    found = observations(scene, name)
    check(scene, found)
    shown = [
        " ".join((one.kind, str(one.outcome), *one.objects, *one.attacks))
        for one in found
        if one.kind not in ("logon", "other-calls", "client-program")
    ]
    assert shown == SHOWN[name]
    assert len({one.who.client_ip for one in found if one.who is not None}) == 1
    programs = {program for one in found if one.kind == "client-program" for program in one.objects}
    assert [program.partition(" ")[0].casefold() for program in programs] == [name.partition("_")[0]]

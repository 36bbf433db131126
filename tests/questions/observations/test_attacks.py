"""What looks like an attack, and what does not: of each attack observations that do, and those that nearly do."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer import analyze
from analyzer.questions.observations.known_attacks import attacks_named, every_attack, note_attacks
from analyzer.questions.observations.observation_making import Draft, Scene
from analyzer.questions.observations.observations import observations
from analyzer.results.records.statistics import Who
from tests.build.calls import Calls, analysis_of
from tests.corpus import CORPUS
from tests.rules_document import ATTACKS, attacks_document

ADMIN, OTHER, DC = (
    Who("LAB\\admin", "10.0.0.2", "10.0.0.1"),
    Who("LAB\\b", "10.0.0.3", "10.0.0.1"),
    Who("DC$", "10.0.0.2", "10.0.0.1"),
)
NETLOGON = "12345678-1234-abcd-ef00-01234567cffb"
RUN = "HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Run"
PERFORMANCE = "HKLM\\SYSTEM\\CurrentControlSet\\Services\\x\\Performance"


def draft(
    kind: Any, *objects: str, who: Who | None = ADMIN, outcome: Any = "answered", at: int = 0, **more: Any
) -> Draft:
    times = {"first_time_ns": at, "last_time_ns": at}
    facts: dict[str, Any] = {"severity": "medium", "count": 1, "calls": (1,), **times, **more}
    return Draft(kind=kind, text="", command="", who=who, objects=objects, outcome=outcome, **facts)


def service(*kinds: str, **more: Any) -> list[Draft]:
    return [draft(kind, "x", **more) for kind in kinds]


Case = tuple[str, Sequence[Draft], list[str]]


def cases() -> Iterator[Case]:
    yield "a process list", [draft("process-list")], ["possible T1057 ATK01"]
    yield "a process list that was not given", [draft("attempt")], [""]
    library = draft("registry-write", f"{PERFORMANCE}\\Library")
    yield "a performance library", [library], ["possible T1112 ATK02"]
    library = draft("registry-write", f"{PERFORMANCE}\\Library", at=5)
    yield "a performance library before a query", [library, draft("counters", at=9)], ["likely T1112 ATK02", ""]
    library = draft("registry-write", f"{PERFORMANCE}\\Library", at=5)
    yield "a performance library after a query", [library, draft("counters", at=1)], ["possible T1112 ATK02", ""]
    yield "another value of such a key", [draft("registry-write", f"{PERFORMANCE}\\First Counter")], [""]
    psexec = "likely T1543.003 T1569.002 ATK03"
    yield "psexec", service("service", "service-start", "service-delete"), [psexec] * 3
    start = draft("service-start", "x", outcome="refused", reason="ERROR_SERVICE_REQUEST_TIMEOUT")
    yield "a program that is no service", [*service("service"), start], ["possible T1543.003 T1569.002 ATK03"] * 2
    yield "a service that is only created", service("service"), [""]
    yield "a service that is only started", service("service-start"), [""]
    unanswered = [draft("service", "x", outcome="asked"), draft("service-start", outcome="asked")]
    yield "a service of which no answer was captured", unanswered, ["possible T1543.003 T1569.002 ATK03"] * 2
    yield "a service that another starts", [*service("service"), *service("service-start", who=OTHER)], ["", ""]
    yield "another service that is started", [*service("service"), draft("service-start", "y")], ["", ""]
    yield "a service that was not created", service("service", "service-start", outcome="refused"), ["", ""]
    yield "a task", [draft("task", "ITaskSchedulerService.SchRpcRegisterTask")], ["possible T1053.005 ATK04"]
    yield "a task of at", [draft("task", "atsvc.NetrJobAdd")], ["possible T1053.002 ATK04"]
    yield "a command", service("task", "task-start", "task-delete"), ["likely T1053.005 ATK04"] * 3
    yield "a task that was refused", [draft("task", outcome="refused")], [""]
    yield "a run key", [draft("registry-write", f"{RUN}\\x")], ["likely T1547.001 ATK05"]
    yield (
        "a run key, not answered",
        [draft("registry-write", f"{RUN}Once\\x", outcome="asked")],
        ["possible T1547.001 ATK05"],
    )
    yield "a run key that was refused", [draft("registry-write", f"{RUN}\\x", outcome="refused")], [""]
    yield "a key that is called alike", [draft("registry-write", f"{RUN}time\\x")], [""]
    yield "replication of a person", [draft("replication")], ["likely T1003.006 ATK06"]
    yield "replication of a machine", [draft("replication", who=DC)], [""]
    yield "replication of nobody knows whom", [draft("replication", who=Who(None, "10.0.0.2", "10.0.0.1"))], [""]
    coerced = draft("coerced-access", outcome="refused", reason="ERROR_BAD_NETPATH")
    yield "a machine went to a path", [coerced], ["likely T1187 ATK08"]
    yield "a machine was asked to go to a path", [draft("coerced-access")], ["possible T1187 ATK08"]
    yield "sessions of SMB", [draft("session-list", "srvsvc.NetrSessionEnum")], ["possible T1049 ATK09"]
    yield "users logged on", [draft("session-list", "wkssvc.NetrWkstaUserEnum")], ["possible T1033 ATK09"]
    yield "sessions that were refused", [draft("session-list", outcome="refused")], [""]
    wrong = {"outcome": "refused", "reason": "STATUS_LOGON_FAILURE"}
    yield "five accounts", [draft("refused-logon", *"abcde", **wrong)], ["likely T1110.003 ATK10"]
    yield "four accounts", [draft("refused-logon", *"abcd", **wrong)], [""]
    yield "ten times one account", [draft("refused-logon", "a", **{**wrong, "count": 10})], ["possible T1110.001 ATK10"]
    yield "nine times one account", [draft("refused-logon", "a", **{**wrong, "count": 9})], [""]
    yield "without a name", [draft("refused-logon", "unknown user", **{**wrong, "count": 99})], [""]
    denied = {"outcome": "refused", "reason": "STATUS_ACCESS_DENIED", "count": 99}
    yield "access denied", [draft("refused-logon", *"abcdef", **denied)], [""]
    yield "SAM is saved", [draft("registry-save", "HKLM\\SAM")], ["likely T1003.002 ATK11"]
    yield "SYSTEM is saved", [draft("registry-save", "HKLM\\SYSTEM")], ["possible T1003.002 ATK11"]
    yield "a key below is saved", [draft("registry-save", "HKLM\\SYSTEM\\x")], [""]


CASES = {name: (drafts, said) for name, drafts, said in cases()}


@pytest.mark.parametrize("name", CASES)
def test_what_an_observation_looks_like(name: str) -> None:
    drafts, said = CASES[name]
    note_attacks(drafts, Scene(analysis_of()))
    assert [" ".join((one.confidence, *one.techniques, *one.attacks)) if one.attacks else "" for one in drafts] == said
    assert all(one.confidence == "certain" for one in drafts if not one.attacks)


def test_a_credential_is_looked_at_where_it_stands() -> None:
    """It is zero, behind what differs in length; one whose bytes are a cipher's is none."""
    for credential, padding, found in (
        (bytes(8), 0, True),
        (bytes(8), 2, True),
        (b"\1" * 8, 0, False),
        (b"\1" * 8, 2, False),
    ):
        make = Calls(NETLOGON)
        request = b"names" * 4 + credential + bytes(padding) + b"\xff\xff\x2f\x21"
        scene = Scene(analysis_of(make.exchange(26, request, b"x" * 8 + bytes(4))))
        (one,) = observations(scene, "made.pcap")
        assert (one.attacks, one.severity) == ((("ATK07",), "high") if found else ((), "info"))
        assert ("zeros" in str(one.why)) == found


def test_zeros_of_a_redacted_request_are_no_credential() -> None:
    analysis = analysis_of(Calls(NETLOGON).exchange(26, bytes(32), bytes(12)))
    redacted = replace(analysis, capture=replace(analysis.capture, redacted=True))
    for capture, attacks in ((analysis, ("ATK07",)), (redacted, ())):
        (one,) = observations(Scene(capture), "made.pcap")
        assert one.attacks == attacks


def test_every_attack_has_a_page_with_its_sources() -> None:
    codes = [one.code for one in every_attack()]
    assert codes == [f"ATK{number:02}" for number in range(1, len(codes) + 1)]
    for one in every_attack():
        for part in ("Looks for: ", "What else does the same: ", "How sure: ", "Silent: "):
            assert f"\n\n{part}" in one.page, one.code
        assert one.sources[0].startswith("https://attack.mitre.org/techniques/")
        assert all(technique.startswith("T1") for technique in one.techniques)
        assert "malicious" not in one.page
        assert attacks_named([one.code]) == attacks_named([one.name]) == [one]
    assert attacks_named(["PCQ101"]) == []
    assert ATTACKS.read_text(encoding="utf-8") == attacks_document(), "python -m tests.rules_document writes it anew"


# What public captures of tools look like, and one of domain controllers that replicate.
PUBLIC = {
    "OISF-suricata-verify/tests__smb2-07__20171220_smb_psexec_add_user.pcap": {"ATK03"},
    "OISF-suricata-verify/tests__filestore-filecontainer-smb__filecontainer-smb.pcap": {"ATK01", "ATK03"},
    "OISF-suricata-verify/tests__dcerpc__zerologon__input.pcap": {"ATK07"},
    "OISF-suricata-verify/tests__bug-5162__input.pcap": {"ATK03", "ATK06", "ATK07"},
    "OISF-suricata-verify/tests__dcerpc__dcerpc-dce-stub-data-04__input.pcap": {"ATK05"},
    "OISF-suricata-verify/tests__smb2-04__20171220_smb_at_schedule.pcap": {"ATK04"},
    "corelight-PetitPotam/testing__Traces__UnPatchedDCOpenFileRaw.pcapng": {"ATK08"},
    "corelight-PetitPotam/testing__Traces__PatchedDCAuthenticatedTryWithRpcEncryptFileSrv.pcapng": set(),
    "secdev-scapy/test__pcaps__dcerpc_msnrpc.pcapng": set(),
}


@pytest.mark.corpus
@pytest.mark.parametrize("name", PUBLIC)
def test_what_public_captures_of_tools_look_like(name: str) -> None:
    found = observations(Scene(analyze(CORPUS / name).analysis), name)
    assert {code for one in found for code in one.attacks} == PUBLIC[name]

"""What `audit` prints: text, records, SARIF, JUnit XML, the matrix; and the pages of the rules."""

import gzip
import json
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.capture.frame_offsets import frame_offsets
from analyzer.pipeline.run import analyze
from analyzer.questions.audit.audit_engine import Audit, Profile
from analyzer.questions.audit.findings_and_coverage import VERDICTS, Accepted, baseline_json, read_baseline
from analyzer.questions.audit.rule_registry import Rule, catalogue, every_rule, select_rules
from analyzer.questions.audit.rule_verdicts import Outcome
from analyzer.results.analysis import Analysis
from analyzer.screens.formats.junit import junit_xml
from analyzer.screens.formats.sarif import sarif_log
from analyzer.screens.views.audit import AuditView
from tests.build.calls import Calls, analysis_of, sealed
from tests.records import plains
from tests.rules_document import DOCUMENT, rules_document
from tests.sarif import complaints
from tests.secrets import CAPTURES

CODE, REQUIREMENT = "PCQ210", "PCQ-3.1.4.1.2-R15"


def pages(*codes: str) -> tuple[Rule, ...]:
    return select_rules(every_rule(), codes, ())


def broken() -> Analysis:
    """Two calls that ask for a kind of information that does not exist, and one that does not."""
    calls = Calls()
    return analysis_of(*(calls.registration(code, b"", status=0x57 if code > 10 else 0) for code in (11, 3, 12)))


def view(**options: object) -> AuditView:
    return AuditView(Audit(broken(), rules=pages(CODE), **options))


def test_every_requirement_is_covered_where_no_rules_are_selected() -> None:
    found = [record for record in plains(AuditView(Audit(broken())).records()) if record["record"] == "coverage"]
    assert [record["requirement"] for record in found] == list(catalogue())
    assert {record["verdict"] for record in found} <= set(VERDICTS)
    untestable = {record["requirement"] for record in found if record["verdict"] == "untestable"}
    assert untestable == {id for id, requirement in catalogue().items() if requirement.observable == "no"}


@pytest.mark.needs("npm", "node")
def test_sarif_is_valid_by_the_schema_of_the_standard(tmp_path: Path) -> None:
    log = tmp_path / "audit.sarif"
    path = CAPTURES / "pcq_smbd_scapy_impacket_smb311_norpcauth_allowed.pcap"
    keys = Keyring.load(CAPTURES / "pcq_smbd_scapy_impacket_smb311_norpcauth_allowed.secrets.json")
    made = AuditView(Audit(analyze([path], keys, pdus=True), profile=Profile.SPEC))
    log.write_text(json.dumps(sarif_log(made, every_rule(), frame_offsets, [])), encoding="utf-8")
    # Asked for are the address of the project's page and that of a repository, which a capture has not got; the network, which
    # tests have not got; messages by name, which code-scanning sites do not read; and the capture itself, whole or in pieces.
    known = ("SARIF2005", "SARIF2003", "SARIF2006", "SARIF2002", "SARIF2013", "SARIF2010", "SARIF2011")
    (none := tmp_path / "none.sarif").write_text('{"version": "2.1.0"}', encoding="utf-8")
    found = [line for line in complaints(log, none) if not any(code in line for code in known)]
    assert found
    assert all(line.startswith(str(none)) for line in found)


def nowhere(path: Path, numbers: Collection[int]) -> dict[int, int]:
    """Where frames of a capture stand that is not at hand."""
    return {}


def test_a_result_is_known_again_after_one_more_call() -> None:
    def fingerprints(*codes: int) -> list[str]:
        calls = Calls()
        made = analysis_of(*(calls.registration(code, b"", status=0x57) for code in codes))
        (run,) = sarif_log(AuditView(Audit(made, rules=pages(CODE))), pages(CODE), nowhere, [])["runs"]
        return [result["partialFingerprints"]["ruleRequirementField/v2"] for result in run["results"]]

    assert len(set(fingerprints(11, 12))) == 2
    assert fingerprints(3, 11, 12) == fingerprints(11, 12)
    assert set(fingerprints(11, 11, 12)) > set(fingerprints(11, 12))


@pytest.mark.parametrize("form", ["pcap", pytest.param("pcapng", marks=pytest.mark.needs("editcap"))])
def test_the_region_of_a_result_is_its_bytes_in_the_file(form: str, tmp_path: Path) -> None:
    path = CAPTURES / "pcq_smbd_scapy_impacket_smb311_norpcauth_allowed.pcap"
    if form == "pcapng":
        made = tmp_path / "made.pcapng"
        subprocess.run(["editcap", "-F", "pcapng", path, made], check=True)
        path = made
    keys = Keyring.load(CAPTURES / "pcq_smbd_scapy_impacket_smb311_norpcauth_allowed.secrets.json")
    view = AuditView(Audit(analyze([path], keys, pdus=True)))
    results = sarif_log(view, every_rule(), frame_offsets, [])["runs"][0]["results"]
    findings = list(Audit(view.analysis).findings())
    data = path.read_bytes()
    shown = 0
    for result, finding in zip(results, findings, strict=True):
        region = result["locations"][0]["physicalLocation"]["region"]
        start, length = region["byteOffset"], region["byteLength"]
        place = finding.place
        if place is None or not place.extents:
            assert (start, length) == (0, len(data))
        elif len(place.extents) == 1:
            assert data[start : start + length] == place.source.data[place.start : place.stop]
            shown += 1
    assert shown > 10


@pytest.mark.parametrize("is_known", [True, False])
def test_the_region_of_sealed_bytes_is_where_they_were_captured(is_known: bool) -> None:
    name = "pcq_smbd_scapy_impacket_smb311_ntlm_privacy"
    path = CAPTURES / f"{name}.pcap"
    analysis = analyze([path], Keyring.load(CAPTURES / f"{name}.secrets.json"), pdus=True)

    def locate(path: Path, numbers: Collection[int]) -> Mapping[int, int]:
        return frame_offsets(path, numbers) if is_known else {}

    results = sarif_log(AuditView(Audit(analysis)), every_rule(), locate, [])["runs"][0]["results"]
    findings = [one for one in Audit(analysis).findings() if one.place is not None and one.place.extents]
    assert any(one.place is not None and one.place.source.steps for one in findings)
    placed = [one for one in results if "extents" in one["properties"] and one["properties"]["extents"]]
    for result, finding in zip(placed, findings, strict=True):
        extents = finding.place.extents
        places = [result["locations"][0]["physicalLocation"]]
        places += [one["physicalLocation"] for one in result.get("relatedLocations", ())]
        offsets = frame_offsets(path, [extent.frame for extent in extents])
        exact = [(offsets[extent.frame] + extent.start, extent.length) for extent in extents[:11]]
        whole = [(0, path.stat().st_size)]
        found = [(one["region"]["byteOffset"], one["region"]["byteLength"]) for one in places]
        assert found == (exact if is_known else whole)


def test_frames_of_a_file_that_is_no_plain_capture_have_no_offsets(tmp_path: Path) -> None:
    path = tmp_path / "made.pcap.gz"
    path.write_bytes(gzip.compress(b"\xd4\xc3\xb2\xa1" + bytes(100)))
    assert frame_offsets(path, [1]) == {}
    with pytest.raises(FileNotFoundError):
        frame_offsets(tmp_path / "nowhere.pcap", [1])
    path.write_bytes(b"\xd4\xc3\xb2\xa1" + bytes(20) + bytes(8) + b"\2\0\0\0" + bytes(4) + b"xx" + bytes(3))
    assert frame_offsets(path, [1, 2]) == {1: 40}


def test_a_finding_is_reported_once_and_counts_for_all_it_breaks() -> None:
    # Without a NUL, the answer breaks what its RequestCode promises and what strings have to be.
    calls = Calls()
    analysis = analysis_of(calls.registration(3, b"a\0"))
    made = AuditView(Audit(analysis, rules=pages("PCQ331")))
    root = ElementTree.fromstring(junit_xml(made))
    failures = {case.get("name", "").split()[0]: case.find("failure") for case in root.iter("testcase")}
    reported = [name for name, failure in failures.items() if failure is not None and "PCQ331" in (failure.text or "")]
    assert reported == ["PCQ-3.1.4.1.2-R18", "PCQ-3.1.4.1.2-R33"]
    text = "\n".join(AuditView(Audit(analysis, rules=pages("PCQ331"))).lines(None))
    assert text.count("string-answer-unterminated") == 1
    assert "fail of PCQ-3.1.4.1.2-R33 (and of PCQ-3.1.4.1.2-R18)" in text


def test_what_a_baseline_accepts_is_no_failure_of_a_suite(tmp_path: Path) -> None:
    path = tmp_path / "accepted.json"
    path.write_bytes(baseline_json(Audit(broken(), rules=pages(CODE)).findings())[0])
    root = ElementTree.fromstring(junit_xml(view(baseline=read_baseline(path))))
    assert root.find("testsuite/testcase/failure") is None
    assert root.find("testsuite/testcase/system-out") is not None
    assert {suite.get("failures") for suite in root.iter("testsuite")} == {"0"}


def test_a_baseline_silences_what_it_accepts_and_counts_it(tmp_path: Path) -> None:
    path = tmp_path / "accepted.json"
    document, count = baseline_json(Audit(broken(), rules=pages(CODE)).findings())
    assert count == 2
    path.write_bytes(document)
    accepted = read_baseline(path)
    method = "PerflibV2QueryCounterSetRegistrationInfo"
    of_11, of_12 = (Accepted(CODE, REQUIREMENT, method, "request.RequestCode", seen) for seen in ("11", "12"))
    assert accepted == (of_11, of_12)
    shown = view(baseline=accepted)
    *coverage, summary = plains(shown.records())
    assert [record["record"] for record in coverage] == ["coverage"]
    assert (coverage[0]["failed"], coverage[0]["accepted"]) == (2, 2)
    assert (summary["accepted"], summary["unmatched"]) == (2, [])
    assert not shown.audit.found[Outcome.FAILED]


def test_an_encrypted_capture_is_an_error_of_its_own_in_junit() -> None:
    analysis = analysis_of(sealed(Calls().open_query()))
    shown = AuditView(Audit(analysis))
    root = ElementTree.fromstring(junit_xml(shown))
    (error,) = root.iterfind("testsuite/testcase/error")
    assert "1 call is encrypted" in (error.get("message") or "")
    assert next(shown.lines(None)).startswith("[bold red]nothing was decrypted")


# ------------------------------------------------------------------------------------------------ rules


def test_rules_have_codes_names_and_pages_of_their_own() -> None:
    rules = list(every_rule())
    assert len({rule.code for rule in rules}) == len(rules)
    assert len({rule.name for rule in rules}) == len(rules)
    for rule in every_rule():
        assert rule.title.endswith("."), rule.code
        for heading in ("Looks for:", "Why it matters:", "Specification:", "Flagged:", "Accepted:", "Silent:"):
            assert heading in rule.page, (rule.code, heading)
        assert rule.requirements, rule.code
        assert all([look.check, look.watch, look.at_end].count(None) == 2 for look in rule.looks), rule.code


def test_every_requirement_that_traffic_can_show_is_judged() -> None:
    judged = {requirement for rule in every_rule() for requirement in rule.requirements}
    assert judged == {id for id, requirement in catalogue().items() if requirement.observable != "no"}


def test_the_document_of_the_rules_is_what_the_rules_say() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == rules_document(), (
        "docs/rules.md guards what users read about the rules; write it anew with: python -m tests.rules_document"
    )

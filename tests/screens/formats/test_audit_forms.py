"""What `audit` prints: text, records, SARIF, JUnit XML, the matrix; and the pages of the rules."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.capture.offsets import frame_offsets
from analyzer.core.errors import InputError
from analyzer.pipeline.run import analyze
from analyzer.questions.audit.accepted_findings import Accepted, baseline_json, read_baseline
from analyzer.questions.audit.engine import Audit, Profile, select
from analyzer.questions.audit.findings import VERDICTS, CoverageVerdict
from analyzer.questions.audit.requirements import catalogue
from analyzer.questions.audit.rule import Rule, every_rule
from analyzer.questions.audit.verdicts import Actor, Outcome
from analyzer.results.analysis import Analysis
from analyzer.screens.formats.junit import junit_xml
from analyzer.screens.formats.sarif import sarif_log
from analyzer.screens.formats.tables import table_of
from analyzer.screens.views.audit import AuditView, MatrixView
from analyzer.screens.views.rule_pages import RuleList
from tests.build.calls import Calls, analysis_of, sealed
from tests.records import plains
from tests.rules_document import DOCUMENT, rules_document
from tests.sarif import complaints
from tests.secrets import CAPTURES

CODE, REQUIREMENT = "PCQ210", "PCQ-3.1.4.1.2-R15"


def pages(*codes: str) -> tuple[Rule, ...]:
    return select(every_rule(), codes, ())


def broken() -> Analysis:
    """Two calls that ask for a kind of information that does not exist, and one that does not."""
    calls = Calls()
    return analysis_of(*(calls.registration(code, b"", status=0x57 if code > 10 else 0) for code in (11, 3, 12)))


def view(**options: object) -> AuditView:
    return AuditView(Audit(broken(), rules=pages(CODE), **options))  # type: ignore[arg-type]


def test_the_text_says_what_was_broken_where_and_what_was_judged() -> None:
    lines = list(view().lines(None))
    text = "\n".join(lines)
    assert "PCQ210" in text
    assert "2 times" in text
    assert "#1 PerflibV2QueryCounterSetRegistrationInfo" in text
    assert "request RequestCode (bytes " in text
    assert "expected 1 to 10, seen 12" in text
    assert "2 errors; 1 requirements: 0 pass, 1 fail" in lines[-1]


def test_findings_come_before_coverage_and_name_their_bytes() -> None:
    found = list(plains(view().records()))
    assert [record["record"] for record in found] == ["finding", "finding", "coverage", "audit-summary"]
    finding = found[0]
    start, stop = finding["bytes"]
    assert stop - start == 4
    assert finding["requirement"] == [REQUIREMENT]
    assert finding["verdict"] == "fail"
    assert finding["field"] == "RequestCode"
    (extent,) = finding["extents"]
    assert extent["frame"] == finding["frames"][0]
    assert found[2]["occurrences"] == 3
    assert found[2]["verdict"] == "fail"


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
    assert [line for line in complaints(log) if not any(code in line for code in known)] == []
    log.write_text('{"version": "2.1.0"}', encoding="utf-8")
    assert complaints(log)


def nowhere(path: Path, numbers: Collection[int]) -> dict[int, int]:
    """Where frames of a capture stand that is not at hand."""
    return {}


def test_sarif_points_at_call_side_and_field() -> None:
    (run,) = sarif_log(view(), pages(CODE), nowhere, [])["runs"]
    first = run["results"][0]
    assert first["ruleId"] == CODE
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == CODE
    assert first["locations"][0]["logicalLocations"][0]["name"] == "request.RequestCode"
    assert first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "made.pcap"
    descriptor = run["tool"]["driver"]["rules"][first["ruleIndex"]]
    assert descriptor["helpUri"].startswith("https://")
    assert "**Why it matters:**" in descriptor["help"]["markdown"]
    assert (first["properties"]["actor"], first["properties"]["verdict"]) == ("client", "fail")


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
        assert finding.place is not None
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


def test_junit_counts_only_what_was_seen_as_passed() -> None:
    root = ElementTree.fromstring(junit_xml(AuditView(Audit(broken()))))
    cases = {case.get("name", "").split()[0]: case for case in root.iter("testcase")}
    assert set(cases) == set(catalogue())
    failure = cases[REQUIREMENT].find("failure")
    assert failure is not None
    assert failure.get("message") == "2 of 3 occurrences"
    assert cases["WP-DB-R01"].find("skipped") is not None
    for suite in root.iter("testsuite"):
        assert int(suite.get("tests", "")) == len(suite.findall("testcase"))
        assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure"))
        assert int(suite.get("skipped", "")) == len(suite.findall("testcase/skipped"))


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


def test_the_matrix_tells_what_was_never_exercised() -> None:
    coverages = []
    for analysis in (broken(), analysis_of()):
        audit = Audit(analysis, rules=pages(CODE))
        list(audit.findings())
        coverages.append(audit.coverage)
    matrix = MatrixView(("a.pcap", "b.pcap"), coverages)
    (record,) = plains(matrix.records())
    assert record["verdicts"] == {"a.pcap": "fail", "b.pcap": "not-exercised"}
    assert record["exercised"]
    text = "\n".join(matrix.lines(None))
    assert f"{REQUIREMENT}  x.  " in text
    assert table_of(matrix).columns == ["requirement", "section", "statement", "a.pcap", "b.pcap"]


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


def test_a_baseline_accepts_only_what_was_seen_then() -> None:
    method = "PerflibV2QueryCounterSetRegistrationInfo"
    entries = [Accepted(CODE, REQUIREMENT, method, "request.RequestCode", seen) for seen in ("11", "13")]
    shown = view(baseline=entries)
    records = list(plains(shown.records()))
    assert [record["seen"] for record in records if record["record"] == "finding"] == ["12"]
    stale = f"{CODE} {REQUIREMENT}, {method}, request.RequestCode: 13"
    assert (records[-1]["accepted"], records[-1]["unmatched"]) == (1, [stale])
    assert any(stale in line for line in view(baseline=entries).lines(None))
    anything = view(baseline=[Accepted(CODE, REQUIREMENT, method, "request.RequestCode", None)])
    assert [record["record"] for record in plains(anything.records())] == ["coverage", "audit-summary"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": 2, "accepted": [{}]}', '{"schema": 9, "accepted": []}', "[" * 100_000]
)
def test_what_is_no_baseline_is_said_in_a_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "accepted.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        read_baseline(path)


def test_rules_are_chosen_by_code_name_layer_section_and_level() -> None:
    for word in ("PCQ210", "PCQ21", "request-code-out-of-range", "stubs", "3.1.4.1.2", "3.1.4", REQUIREMENT, "MUST"):
        assert CODE in {rule.code for rule in pages(word)}, word
    assert CODE not in {rule.code for rule in select(every_rule(), (), (CODE,))}
    for chosen, ignored in ((["nothing-like-it"], []), ([], ["PCQ999"]), ([CODE, "PCQ999"], [])):
        with pytest.raises(InputError, match="there is no rule"):
            select(every_rule(), chosen, ignored)
    with pytest.raises(InputError, match="no rule is left"):
        select(every_rule(), [CODE], [CODE])


def test_one_side_can_be_judged_alone() -> None:
    whole, client, server = (view(actor=actor) for actor in (Actor.EITHER, Actor.CLIENT, Actor.SERVER))
    found = [record for record in plains(whole.records()) if record["record"] == "finding"]
    assert {record["actor"] for record in found} == {"client"}
    assert [record for record in plains(client.records()) if record["record"] == "finding"] == found
    assert [record["record"] for record in plains(server.records())] == ["audit-summary"]
    everything = Audit(broken(), actor=Actor.SERVER)
    assert [finding for finding in everything.findings() if finding.actor is Actor.CLIENT] == []
    bound = {coverage.requirement.actor for coverage in everything.coverage.values()}
    assert bound == {"server", "both"}


def test_an_encrypted_capture_is_an_error_of_its_own_in_junit() -> None:
    analysis = analysis_of(sealed(Calls().open_query()))
    shown = AuditView(Audit(analysis))
    root = ElementTree.fromstring(junit_xml(shown))
    (error,) = root.iterfind("testsuite/testcase/error")
    assert "1 call is encrypted" in (error.get("message") or "")
    assert next(shown.lines(None)).startswith("[bold red]nothing was decrypted")


@pytest.mark.parametrize(("failing", "expected"), [(("fail",), {"fail"}), (("fail", "warn"), {"fail", "warn"})])
def test_which_verdicts_are_failures_of_a_suite_is_said_by_the_user(
    failing: tuple[CoverageVerdict, ...], expected: set[str]
) -> None:
    calls = Calls()
    analysis = analysis_of(calls.registration(11, b""), calls.validate(b"", add=2))
    root = ElementTree.fromstring(junit_xml(AuditView(Audit(analysis)), failing))
    assert {failure.get("type") for failure in root.iter("failure")} == expected
    verdicts = {value.get("value") for value in root.iter("property") if value.get("name") == "verdict"}
    assert {"warn", "fail", "not-exercised", "untestable"} <= verdicts


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
        assert set(rule.requirements) <= set(catalogue()), rule.code
        assert rule.looks, rule.code
        assert all([look.check, look.watch, look.at_end].count(None) == 2 for look in rule.looks), rule.code
        assert rule.since == "0.1.0", rule.code


def test_every_requirement_that_traffic_can_show_is_judged() -> None:
    judged = {requirement for rule in every_rule() for requirement in rule.requirements}
    assert judged == {id for id, requirement in catalogue().items() if requirement.observable != "no"}


def test_a_page_is_explained_whole() -> None:
    text = "\n".join(RuleList(pages(CODE), whole=True).lines(None))
    assert "Why it matters" in text
    assert f"{REQUIREMENT} (MUST, client): RequestCode is 1..10." in text


def test_the_document_of_the_rules_is_what_the_rules_say() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == rules_document(), (
        "docs/rules.md guards what users read about the rules; write it anew with: python -m tests.rules_document"
    )

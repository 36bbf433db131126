"""Which captures a result says it was made from, in every form that results have, and how that is compared with files."""

import random
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.core.output.gate import Destination, write_document
from analyzer.core.output.json import line
from analyzer.core.output.output_digest import new_mark
from analyzer.pipeline import digest_verification as module
from analyzer.pipeline.case import write_case
from analyzer.pipeline.digest_verification import stated_by, verify
from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.audit.rule_registry import every_rule
from analyzer.results.analysis import EvidenceRecord, FileDigest, Input
from analyzer.screens.formats.junit import junit_xml
from analyzer.screens.formats.report_page import value_blocks, write_page
from analyzer.screens.formats.sarif import sarif_log
from analyzer.screens.formats.view_writer import write
from analyzer.screens.views.audit import AuditView
from analyzer.screens.views.report import Report
from analyzer.screens.views.sessions_and_hosts import Sessions
from tests.build.calls import Calls, analysis_of
from tests.commands.test_all_commands import CLEAR, run
from tests.written import Tables, held

TABLES = Tables()

CONTENTS = {"a.pcap": b"one", "b.pcap": b"three"}
DIGESTS = tuple(FileDigest(name, len(data), sha256(data).hexdigest()) for name, data in CONTENTS.items())
EVIDENCE = EvidenceRecord(
    tool="pcq-analyzer",
    version="1.2",
    command="sessions",
    options={"profile": "spec"},
    inputs=(
        *(Input(role="capture", name=one.name, size=one.size, sha256=one.sha256) for one in DIGESTS),
        Input(role="baseline", name="c.toml", size=3, sha256="ab" * 32),
    ),
    limits_reached=(),
    result=new_mark(),
)
ANALYSIS = analysis_of(Calls().open_query())


def made(form: str, path: Path, evidence: EvidenceRecord | None = EVIDENCE) -> Path:
    """A result of a form that says what it was made from."""
    view = AuditView(Audit(ANALYSIS))
    destination = Destination(path, mark=EVIDENCE.result, force=True)
    if form == "sarif":
        write_document(line(sarif_log(view, every_rule(), lambda name, numbers: {}, [], evidence)), destination)
    elif form == "junit":
        write_document(junit_xml(view, evidence=evidence), destination)
    elif form == "html":
        write_page(Report(audit=Audit(ANALYSIS)), value_blocks(ANALYSIS), destination, evidence)
    else:
        write(Sessions(ANALYSIS), form, destination, evidence=evidence)
    return path


FORMS = ("text", "jsonl", "json", "csv", "parquet", "sarif", "junit", "html")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_what_it_was_made_from(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(form, tmp_path / "result")
    assert stated_by(path)[0] == DIGESTS
    # An XML document is read piece by piece, as far as needed.
    for piece in (7, 64):
        monkeypatch.setattr(module, "_PIECE", piece)
        assert stated_by(path)[0] == DIGESTS


@pytest.mark.parametrize("form", FORMS)
def test_no_bit_of_a_result_can_be_another(form: str, tmp_path: Path) -> None:
    captures = files(tmp_path, **CONTENTS)
    path = made(form, tmp_path / "result")
    data = path.read_bytes()
    assert verify(path, captures).belongs
    rng = random.Random(form)
    for at in {0, len(data) - 1, *(rng.randrange(len(data)) for _ in range(200))}:
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
        try:
            found = verify(path, captures)
        except InputError:
            continue
        assert not found.belongs, at
    for other in (data[:-1], data + b"\n", data[: len(data) // 2] + data[len(data) // 2 + 1 :]):
        path.write_bytes(other)
        with suppress(InputError):
            assert not verify(path, captures).belongs


@pytest.mark.parametrize("form", ["text", "jsonl"])
def test_calls_that_are_printed_while_a_capture_is_read_state_it_last(form: str, tmp_path: Path) -> None:
    made = [CLEAR, "--names-from", "now", "--hash", "--format", form]
    for options in (["-o", tmp_path / "result"], []):
        printed = run("timeline", *made, *options).stdout
        if not options:
            (tmp_path / "result").write_text(printed, encoding="utf-8")
        assert verify(tmp_path / "result", [CLEAR]).belongs
    text = (tmp_path / "result").read_text("utf-8")
    (tmp_path / "result").write_text(text.replace("6", "7", 1), encoding="utf-8")
    assert not verify(tmp_path / "result", [CLEAR]).belongs


@pytest.mark.parametrize("form", FORMS)
def test_a_result_that_does_not_state_its_own_digest_is_refused(form: str, tmp_path: Path) -> None:
    path = made(form, tmp_path / "result", replace(EVIDENCE, result=None))
    with pytest.raises(InputError, match="does not state its own digest"):
        stated_by(path)


@pytest.mark.parametrize("form", [form for form in FORMS if form != "sarif"])
def test_a_result_that_does_not_say_so_is_refused(form: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not say which captures it was made from"):
        stated_by(made(form, tmp_path / "result", None))[0]


@pytest.mark.parametrize(
    "content",
    [
        *("", "text", "[\n]\n", "{}\n", "[]", "[\n", "# {}\n", "# {", "<?xml", '<?xml version="1.0"?>', "PAR1", "{"),
        *('{"record": "call"}\n', '{"record":"evidence"}\n', "[" * 100_000),
        '{"record":"evidence","inputs":[{"role":"capture","name":1,"size":"2","sha256":[]}]}\n',
    ],
)
def test_what_is_no_result_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "result").write_text(content)
    with pytest.raises(InputError, match="does not say which captures"):
        stated_by(tmp_path / "result")[0]
    with pytest.raises(InputError, match="lost cannot be read"):
        stated_by(tmp_path / "lost")[0]


def test_the_record_of_text_stands_at_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long text its end is read, wherever its beginning ends."""
    path = made("text", tmp_path / "result")
    text = path.read_bytes()
    for room in (1, 10, len(text) - 5, len(text), len(text) + 1):
        monkeypatch.setattr(module, "_HEAD_BYTES", room)
        assert stated_by(path)[0] == DIGESTS


def files(folder: Path, **contents: bytes) -> list[Path]:
    paths = []
    for name, data in contents.items():
        paths.append(folder / name)
        paths[-1].write_bytes(data)
    return paths


@TABLES.of(
    *({"x": "three", "y": "one"}, {"x": "one"}, {"x": "one", "y": "three", "z": "four"}, {"x": "one", "y": "one"}, {}),
)
def files_are_compared_by_what_is_in_them(**contents):
    with TemporaryDirectory() as folder:
        found = verify(
            made("jsonl", Path(folder) / "result"),
            files(Path(folder), **{name: text.encode() for name, text in contents.items()}),
        )
    names = {"strangers": found.strangers, "missing": found.missing, "matched": [theirs for _, theirs in found.matched]}
    return {"belongs": found.belongs} | {what: [Path(one.name).name for one in each] for what, each in names.items()}


def test_a_case_stands_for_its_captures(tmp_path: Path) -> None:
    with_digests, without = tmp_path / "with.pcq", tmp_path / "without.pcq"
    for path, digests in ((with_digests, DIGESTS), (without, ())):
        with path.open("wb") as out:
            write_case(replace(ANALYSIS, capture=ANALYSIS.capture), out, digests=digests)
    assert stated_by(with_digests)[0] == DIGESTS
    assert verify(made("csv", tmp_path / "result"), [with_digests]).belongs
    with pytest.raises(InputError, match="does not say which captures it was saved of"):
        stated_by(without)[0]


test_comparisons_are_as_they_were_read_through = held(__file__, TABLES)

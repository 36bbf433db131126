"""The descriptions themselves: complete in their references, and compiled into exactly what is committed."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from kaitaistruct import BytesIO, KaitaiStream

from analyzer.interfaces.buffers.compiled_parsers import parser
from analyzer.interfaces.buffers.ksy_descriptions import enum_names, spec_texts
from tests.build.buffers import Counter, Instance, PerfObject, identifier, instance_header, winperf

KSY = Path(__file__).parents[3] / "ksy"
GALLERY = KSY.parent / "upstream" / "kaitai"
# In MS-PCQ 2.2.4.2 there are 34 counter types; winperf.h has a few more.
NUM_PCQ_TYPES = 34
REVISION = ("revision ", "winperf.h (Windows SDK ", "Windows SDK ", "DCE 1.1 RPC (C706)")


def all_types(node: Any, path: str) -> Iterator[tuple[str, Any]]:
    yield path, node
    for name, inner in node.get("types", {}).items():
        yield from all_types(inner, f"{path}.{name}")


TYPES = {path: node for name, spec in spec_texts().items() for path, node in all_types(spec, name)}
SHARED = {"ms_dtyp", "ndr", "ms_pcq"}


def test_the_descriptions_at_run_time_are_those_in_the_folder() -> None:
    assert set(spec_texts()) == {path.stem for path in KSY.glob("*.ksy")}


@pytest.mark.parametrize("path", TYPES)
def test_a_type_says_what_it_is_and_which_section_says_so(path: str) -> None:
    node = TYPES[path]
    assert node["doc"].strip()
    assert any(mark in node["doc-ref"] for mark in REVISION)
    if "." in path:
        assert node["-orig-id"]
    if "revision" in node["doc-ref"]:
        assert "section" in node["doc-ref"]


@pytest.mark.parametrize("path", TYPES)
def test_a_field_has_the_spelling_of_its_specification(path: str) -> None:
    node = TYPES[path]
    fields = [(field["id"], field) for field in node.get("seq", ())] + list(node.get("instances", {}).items())
    assert fields or path in SHARED
    for name, field in fields:
        assert field.get("-orig-id"), name


@pytest.mark.parametrize("path", [*KSY.glob("*.ksy"), *KSY.glob("standalone/*.ksy")], ids=lambda path: path.stem)
def test_a_description_names_the_page_it_follows(path: Path) -> None:
    text = path.read_text("utf-8")
    assert re.search(r"^  xref:\n    ms\w+: https://learn\.microsoft\.com/", text, re.MULTILINE)
    for key in ("doc", "doc-ref"):
        assert re.search(rf"^{key}: .", text, re.MULTILINE), key
    assert re.search(rf"^  id: {path.stem}$", text, re.MULTILINE)


def test_every_name_is_there_as_text() -> None:
    named = {path: node for path, node in TYPES.items() if any(key == "-encoding" for key in keys_of(node))}
    for path, node in named.items():
        fields = [(field["id"], field) for field in node.get("seq", ())] + list(node.get("instances", {}).items())
        texts = {field["-text-of"] for _, field in fields if "-text-of" in field}
        for name, field in fields:
            if "-encoding" in field and name not in ("signature", "machine", "string"):
                assert name in texts, path
    header = parser("ms_pcq_instance_list", "plain")(KaitaiStream(BytesIO(instance_header("C: é", 7)))).instances[0]
    assert header.name_text == "C: é"
    one = identifier("383487a6-3676-4870-a4e7-d45b30c35629", name="*") + identifier(
        "383487a6-3676-4870-a4e7-d45b30c35629"
    )
    listed = parser("ms_pcq_identifier_list", "plain")(KaitaiStream(BytesIO(one))).identifiers
    assert [item.name_text for item in listed] == ["*", None]
    for order in ("little", "big"):
        made = winperf([PerfObject(2, (Counter(4, 0x10000, 4),), (Instance("näme", -1, (0, 0), (1,)),))], order)
        block = parser("winperf", "plain")(order == "big", KaitaiStream(BytesIO(made)))
        assert block.system_name_text == "SRV1"
        assert block.objects[0].body.instances[0].definition.name_text == "näme"


def keys_of(node: Any) -> Iterator[str]:
    for field in (*node.get("seq", ()), *node.get("instances", {}).values()):
        yield from field


def test_no_sentence_is_cut_off() -> None:
    for path, node in TYPES.items():
        texts = [node["doc"], *(field.get("doc", "") for field in node.get("seq", ()))]
        for table in node.get("enums", {}).values():
            texts += [entry.get("doc", "") for entry in table.values() if isinstance(entry, dict)]
        assert all(text.count("(") == text.count(")") for text in texts), path


def test_every_value_of_every_table_has_its_spelling() -> None:
    for path, node in TYPES.items():
        for name, table in node.get("enums", {}).items():
            plain = path.endswith("systemtime")  # [MS-DTYP] has no symbols for weekdays
            assert plain or all(entry["-orig-id"] for entry in table.values()), (path, name)


def test_the_value_tables_of_the_protocol_are_complete() -> None:
    types = TYPES["ms_pcq"]["enums"]["counter_type"].values()
    assert len([entry for entry in types if "winperf.h only" not in entry["doc"]]) == NUM_PCQ_TYPES
    assert set(enum_names("ms_pcq::attribute")) == {1, 2, 4, 8, 16}
    assert set(enum_names("ms_pcq::instance_type")) == {0, 2, 4, 6, 0xC, 0x16}
    assert set(enum_names("ms_pcq::aggregate_func")) == {0, 1, 2, 3, 4}
    assert set(enum_names("ms_pcq::request_code")) == set(range(1, 11))
    assert set(enum_names("ms_pcq::block_type")) == {0, 1, 2, 4, 6}
    assert set(enum_names("ms_pcq::detail_level")) == {100, 200, 300, 400}


def test_parsers_leave_nothing_under_bare_names() -> None:
    code = (
        "import sys, ms_dtyp as mine\n"
        "from analyzer.interfaces.buffers.compiled_parsers import parser\n"
        "from analyzer.interfaces.buffers.ksy_descriptions import spec_texts\n"
        "before = set(sys.modules)\n"
        "found = [parser(name, 'positions') for name in spec_texts()]\n"
        "found += [parser(name, 'plain') for name in spec_texts() if not name.endswith('_stubs')]\n"
        "assert len(set(found)) == len(found)\n"
        "assert sys.modules['ms_dtyp'] is mine\n"
        "assert not (set(sys.modules) - before) & set(spec_texts())\n"
    )
    with TemporaryDirectory() as folder:
        Path(folder, "ms_dtyp.py").write_text("", "utf-8")
        paths = {"PYTHONPATH": os.pathsep.join((str(KSY.parent), folder))}
        subprocess.run([sys.executable, "-c", code], env=os.environ | paths, check=True)


def test_the_stubs_of_every_method_are_described() -> None:
    registry = {*range(12), 13, 15, 16, 17, 20, 22, 26, 27, 29, *range(31, 36)}
    services = {0, 1, 2, 6, 11, 12, 15, 16, 17, 19, 23, 24, 27, 28, 29, 31, 44, 45, 60}
    specs = (("ms_pcq_stubs", set(range(8))), ("ms_rrp_stubs", registry), ("ms_scmr_stubs", services))
    for name, opnums in specs:
        for field in spec_texts()[name]["seq"]:
            assert {int(opnum) for opnum in field["type"]["cases"]} == opnums


def test_the_compiler_is_locked_and_comes_from_nowhere_in_particular() -> None:
    lock = (KSY / "package-lock.json").read_text("utf-8")
    assert '"kaitai-struct-compiler": "0.11.0"' in lock
    assert '"resolved"' not in lock


def test_without_node_one_sentence_is_stated() -> None:
    ran = subprocess.run(
        [sys.executable, KSY / "compile.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/nowhere"},
    )
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "node and npm are needed" in ran.stderr


@pytest.mark.parametrize("path", sorted(GALLERY.rglob("*.ksy")), ids=lambda path: path.stem)
def test_what_the_gallery_may_take_is_whole_there(path: Path) -> None:
    meta = path.read_text("utf-8").partition("\ndoc:")[0]
    assert f"\n  id: {path.stem}\n" in meta
    for wanted in ("title", "application", "license", "endian"):
        assert f"\n  {wanted}:" in meta
    for name in re.findall(r"^    - (\S+)$", meta, re.MULTILINE):
        assert (path.parent / f"{name}.ksy").is_file(), name

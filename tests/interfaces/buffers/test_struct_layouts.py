"""Layouts come from the descriptions in ksy/, and from nowhere else: no other module has `struct` formats of our buffers."""

import ast
from pathlib import Path

import pytest

from analyzer.interfaces.buffers import struct_layouts, winperf_structs
from tests.build.buffers import Block, Counter, Instance, PerfObject, identifier, perf_data, winperf

PACKAGE = Path(struct_layouts.__file__).parents[2]
# Packages that read performance data; those below carry it.
READERS = ("commands", "interfaces", "questions", "results", "screens/viewmodel")
# The layouts, and the stubs (NDR, not the buffers in them) that collectors send and get all day.
ALLOWED = {"interfaces/buffers/struct_layouts.py", "interfaces/buffers/stub_decoding.py"}
CALLS = {"Struct", "unpack", "unpack_from", "iter_unpack", "pack", "pack_into", "calcsize"}


def formats_in(path: Path) -> list[int]:
    """The lines on which a format of `struct` is written down or put together."""
    lines = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            written = isinstance(node.args[0], ast.JoinedStr | ast.BinOp) or (
                isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
            )
            if name in CALLS and written:
                lines.append(node.lineno)
    return lines


def test_formats_of_our_buffers_stand_in_one_place() -> None:
    files = [path for name in READERS for path in (PACKAGE / name).rglob("*.py") if "_generated" not in path.parts]
    assert {path.relative_to(PACKAGE).parts[0] for path in files} == {name.partition("/")[0] for name in READERS}
    found = {path.relative_to(PACKAGE).as_posix() for path in files if formats_in(path)}
    assert found == ALLOWED


# As [MS-PCQ] section 2.2.4 and winperf.h lay them out, written down once more.
FORMATS = {
    "DATA_HEADER": "<IIQQQHHHHHHHH",
    "DATA_NUMBERS": "<IIQQQ",
    "BLOCK": "<IIII",
    "BLOCK_TYPE_AND_SIZE": "<4xII",
    "BLOCK_SIZE": "<8xI",
    "COUNTER_DATA": "<II",
    "COUNTER_IDS": "<II",
    "INSTANCES_HEADER": "<II",
    "INSTANCE_HEADER": "<II",
    "INSTANCE_SIZE": "<I",
    "COUNTERSET_INFO": "<16sIIII",
    "COUNTER_INFO": "<IIQIiIIIIII",
    "STRING_TABLE": "<II",
    "STRING_HEADER": "<II",
    "IDENTIFIER": "<16sIIIIII",
    "WINPERF_HEADER": "<20xIIIi16x4xqqqII",
    "WINPERF_OBJECT": "<IIIIIIIIIiiI",
    "WINPERF_OBJECT_CLOCKS": "<48xqq",
    "WINPERF_DEFINITION": "<IIIIIiIIII",
    "WINPERF_INSTANCE": "<IIIiII",
    "WINPERF_LENGTH": "<I",
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_layout_is_that_of_its_specification(name: str) -> None:
    home = winperf_structs if name.startswith("WINPERF_") else struct_layouts
    assert getattr(home, name).format.replace("16x4x", "20x") == FORMATS[name].replace("16x4x", "20x")


def test_records_read_what_builders_wrote() -> None:
    data = perf_data([Block(1, values=((b"\7\0\0\0",),))], (5, 6, 7))
    assert struct_layouts.DATA_NUMBERS.unpack_from(data) == (len(data), 1, 5, 6, 7)
    assert (
        dict(zip(struct_layouts.CLOCK, struct_layouts.DATA_HEADER.unpack_from(data)[5:], strict=True))["milliseconds"]
        == 789
    )
    assert struct_layouts.BLOCK_TYPE_AND_SIZE.unpack_from(data, 48) == (1, 32)
    assert struct_layouts.IDENTIFIER.unpack(identifier("383487a6-3676-4870-a4e7-d45b30c35629", counter=3))[3] == 3
    one = PerfObject(238, (Counter(6, 0x10000, 4),), (Instance("a", 9, (1, 2), (7,)),))
    block = winperf([one], clocks=(11, 12, 13))
    total, header, count, default, *clocks, _, _ = winperf_structs.WINPERF_HEADER.unpack_from(block)
    assert (total, count, default, clocks) == (len(block), 1, -1, [11, 12, 13])
    assert winperf_structs.WINPERF_OBJECT.unpack_from(block, header)[3] == 238
    assert winperf_structs.WINPERF_OBJECT_CLOCKS.unpack_from(block, header) == (5000, 1000)
    assert winperf_structs.WINPERF_DEFINITION.unpack_from(block, header + winperf_structs.WINPERF_OBJECT_LENGTH)[1] == 6
    assert (winperf_structs.WINPERF_OBJECT_LENGTH, winperf_structs.WINPERF_HEADER_LENGTH) == (64, 88)


def test_a_field_that_is_not_there_is_refused() -> None:
    with pytest.raises(AssertionError):
        struct_layouts.record("ms_pcq_perf_data.block", "dwSize")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ((), "<IIII"),
        (("status",), "<I"),
        (("size",), "<8xI"),
        (("status", "reserved"), "<I8xI"),
        (("block_type", "size", "reserved"), "<4xIII"),
    ],
)
def test_a_record_reads_the_fields_that_are_named_or_all(wanted: tuple[str, ...], expected: str) -> None:
    assert struct_layouts.record("ms_pcq_perf_data.block", *wanted).format == expected


def test_names_and_places_of_fields() -> None:
    block = "ms_pcq_perf_data.block"
    assert struct_layouts.names(block) == ("status", "block_type", "size", "reserved")
    assert struct_layouts.spans(block, "reserved", "status") == ((12, 4), (0, 4))
    # Structures that follow each other count on.
    assert struct_layouts.names((block, "ms_pcq.instance_header"))[4:] == ("instance_id",)
    assert struct_layouts.u4s(b"\1\0\0\0\2\0\0\0\3\0\0\0", 4, 2) == (2, 3)

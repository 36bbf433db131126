"""The descriptions serve other languages: compiled to JavaScript, they read the vectors as the Python parsers do.

Each vector is read with the parameters that our readings find, and by its description without parameters.
"""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from kaitaistruct import BytesIO, KaitaiStream, KaitaiStruct

from analyzer.interfaces.buffers.buffer_trees import SPECS, plan_for
from analyzer.interfaces.buffers.compiled_parsers import PARSER_ERRORS, parser, type_of
from analyzer.interfaces.buffers.ksy_descriptions import spec_texts
from tests.interfaces.buffers.test_vectors import BAD, STUBS, VECTORS, data_of, kind_of

KSY = Path(__file__).parents[3] / "ksy"
STANDALONE = {path.stem for path in (KSY / "standalone").glob("*.ksy")}
pytestmark = pytest.mark.needs("npm", "node")
# Descriptions without parameters of kinds of buffers, and the field that has what the description with parameters has.
ALONE = {"ms_pcq_perf_data": ("perf_data", "data"), "ms_pcq_string_table": ("string_table", "table")}
ALONE |= {"winperf": ("winperf_block", "block"), "ms_pcq_guid_list": ("guid_list", "list")}
METHODS = {int(opnum): name for opnum, name in spec_texts()["ms_pcq_stubs"]["seq"][0]["type"]["cases"].items()}
# In these, something follows the ids of counters that no size counts, which Windows's layout does not know.
PADDED = {"data_type2_multi_counters_odd_padded"}


def described(name: str) -> tuple[str, tuple[Any, ...]]:
    """The description of a vector, and its parameters."""
    vector = VECTORS[name]
    if vector["kind"] == "stub":
        syntax, side = vector["transfer_syntax"] == "ndr64", vector["direction"] == "response"
        return "ms_pcq_stubs", (vector["opnum"], side, syntax, False, False)
    kind = kind_of(name)
    return SPECS[kind], plan_for(kind, data_of(name), None).arguments


def alone(name: str) -> tuple[str, str] | None:
    """The description without parameters of a vector, and the field that has what is described."""
    spec, arguments = described(name)
    if spec == "ms_pcq_stubs":
        method = METHODS[arguments[0]].removesuffix("_request")
        return None if arguments[2] else (f"perflib_v2_{method}_{VECTORS[name]['direction']}", "stub")
    return None if name in PADDED else ALONE.get(spec)


@cache
def read_in_javascript() -> dict[tuple[str, str], Any]:
    """What the JavaScript parsers make of every vector, by its name and the description used."""
    names = []
    buffers = []
    for name in VECTORS:
        spec, arguments = described(name)
        ways = [(spec, arguments)] + ([(f"standalone/{found[0]}", ())] if (found := alone(name)) else [])
        for way, given in ways:
            names.append((name, way))
            buffers.append({"spec": way, "arguments": given, "data": data_of(name).hex()})
    fetched = subprocess.run(
        [sys.executable, KSY / "compile.py", "--fetch"], capture_output=True, text=True, check=False
    )
    if fetched.returncode:
        pytest.skip("npm could not fetch the compiler: the .ksy files are not tried in JavaScript")
    ran = subprocess.run(
        ["node", KSY / "javascript.cjs"],
        input=json.dumps({"buffers": buffers}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return dict(zip(names, json.loads(ran.stdout), strict=True))


def tree(value: Any) -> Any:
    """What a parser holds, as `ksy/javascript.cjs` prints it; JavaScript has 53 bits for a whole number."""
    if isinstance(value, list):
        return [tree(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    if not isinstance(value, KaitaiStruct):
        return value if isinstance(value, str | bool) or value is None else float(int(value))
    node: Any = spec_texts()
    for step, part in enumerate(type_of(value).path.split(".")):
        node = node[part] if step == 0 else node["types"][part]
    names = [field["id"] for field in node.get("seq", ())] + list(node.get("instances", {}))
    return {name: tree(getattr(value, name, None)) for name in names}


def in_floats(value: Any) -> Any:
    if isinstance(value, list):
        return [in_floats(item) for item in value]
    if isinstance(value, dict):
        return {name: in_floats(item) for name, item in value.items()}
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def in_python(name: str) -> Any:
    spec, arguments = described(name)
    read = parser(spec, "positions")(*arguments, KaitaiStream(BytesIO(data_of(name))))
    try:
        read._read()
        return tree(read)
    except PARSER_ERRORS:
        return None


@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_reads_alike_in_javascript(name: str) -> None:
    expected = in_python(name)
    assert (expected is None) == (name in BAD)
    spec, _ = described(name)
    assert in_floats(read_in_javascript()[name, spec]) == expected
    if (found := alone(name)) is not None:
        read = read_in_javascript()[name, f"standalone/{found[0]}"]
        assert (read is None) == (expected is None)
        if read is not None:
            assert in_floats(read[found[1]]) == expected


def test_every_description_has_one_without_parameters() -> None:
    for name, spec in spec_texts().items():
        if "params" not in spec or name.endswith("_stubs"):
            continue
        assert ALONE[name][0] in STANDALONE
    for spec, prefix in (("ms_pcq_stubs", "perflib_v2"), ("ms_rrp_stubs", "winreg"), ("ms_scmr_stubs", "svcctl")):
        for field in spec_texts()[spec]["seq"]:
            assert {f"{prefix}_{name}" for name in field["type"]["cases"].values()} <= STANDALONE
    assert {f"perflib_v2_{METHODS[VECTORS[name]['opnum']]}" for name in STUBS} <= STANDALONE

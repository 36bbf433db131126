"""The kit for Windows: its script against functions of our own making, and what `calibrate` makes of the folder it writes."""

import ctypes
import importlib.util
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from struct import pack
from typing import Any
from uuid import UUID

import pytest

from analyzer.core.errors import InputError
from analyzer.screens.views.calibrate import Calibration
from tests.build.buffers import Block, Counter, Instance, PerfObject, identifier, perf_data, string_table, wide, winperf
from tests.build.calls import COUNTERSET
from tests.records import plains

SCRIPT = Path(__file__).resolve().parents[3] / "tools" / "windows" / "collect.py"
GUID = UUID(COUNTERSET).bytes_le
RAW, RATE = 0x10000, 0x10410400
HOST = "SECRETHOST"


WINE = SCRIPT.parent / "wine" / "under_wine.py"


def counter(number: int, kind: int) -> bytes:
    return pack("<IIQIiIIIIII", number, kind, 0, 100, 0, 0, 0, 0, 0, 0, 0)


def data(poll: int) -> bytes:
    """A single-instance counterset polled after so many seconds: a number, and one that grows by 5 a second."""
    values = ((7).to_bytes(4, "little"), (100 + 5 * poll).to_bytes(4, "little"))
    return perf_data([Block(2, ids=(1, 2), values=(values,))], (10_000_000 * (1 + poll), 10_000_000 * poll, 10_000_000))


class Dll:
    """Functions that fill buffers as Windows does, `has` of them."""

    def __init__(self, has: bool) -> None:
        self._has, self._polls, self._added = has, 0, []

    def __getattr__(self, name: str) -> Any:
        if not self._has and name.startswith("Perf"):
            raise AttributeError(name)
        found = type(self).__dict__.get(f"fake_{name.lower()}")
        function = Function(partial(found, self) if found is not None else self._zero)
        self.__dict__[name] = function
        return function

    @staticmethod
    def _zero(*_: object) -> int:
        return 0

    @staticmethod
    def _fill(buffer: Any, room: int, needed: Any, content: bytes, element: int = 1) -> int:
        needed._obj.value = len(content) // element
        if len(content) > room * element:
            return 8
        ctypes.memmove(buffer, content, len(content))
        return 0

    def fake_perfenumeratecounterset(self, _machine: object, buffer: Any, room: Any, needed: Any) -> int:
        return self._fill(buffer, room.value, needed, GUID, 16)

    def fake_perfquerycountersetregistrationinfo(
        self, _machine: object, _guid: bytes, code: Any, _language: Any, buffer: Any, room: Any, needed: Any
    ) -> int:
        contents = {
            1: GUID + pack("<4I", 0, 100, 2, 0) + counter(1, RAW) + counter(2, RATE),
            7: wide(f"provider of {HOST}"),
            8: GUID,
            9: wide("Set"),
            10: string_table([(1, "Number"), (2, "Rate")], from_start=True),
        }
        content = contents.get(code.value)
        return 1815 if content is None else self._fill(buffer, room.value, needed, content)

    def fake_perfenumeratecountersetinstances(
        self, _machine: object, _guid: bytes, _buffer: Any, _room: Any, _needed: Any
    ) -> int:
        return 0x1069

    def fake_perfquerycounterinfo(self, _handle: object, buffer: Any, room: Any, needed: Any) -> int:
        return self._fill(buffer, room.value, needed, identifier(COUNTERSET, counter=0xFFFFFFFF, instance=0xFFFFFFFF))

    def fake_perfquerycounterdata(self, _handle: object, buffer: Any, room: Any, needed: Any) -> int:
        status = self._fill(buffer, room.value, needed, data(self._polls))
        self._polls += status == 0
        return status

    def fake_regqueryvalueexw(
        self, _key: object, name: Any, _reserved: object, _kind: Any, buffer: Any, needed: Any
    ) -> int:
        if name.value != "Global":
            return 2
        content = winperf([PerfObject(2, (Counter(4, RAW, 4),), (Instance("a", 1, (0, 0), (1,)),))])
        needed._obj.value = len(content)
        ctypes.memmove(buffer, content, len(content))
        return 0

    def fake_pdhaddenglishcounterw(self, _query: object, path: Any, _user: object, counter: Any) -> int:
        self._added.append(path.value)
        counter._obj.value = len(self._added)
        return 0

    def fake_pdhgetformattedcountervalue(self, counter: Any, _form: Any, _kind: Any, found: Any) -> int:
        found._obj.double = 7.0 if self._added[counter.value - 1].endswith("Number") else 5.01
        return 0


class Function:
    """One function of a DLL; `restype` can be set."""

    def __init__(self, call: Any) -> None:
        self._call, self.restype = call, None

    def __call__(self, *arguments: object) -> int:
        result: int = self._call(*arguments)
        return result


def collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: Callable[[str], Any] | None = None) -> Path:
    """The folder that the script writes on a Windows of our own making."""
    module = _module(SCRIPT)
    libraries: dict[str, Dll] = {}
    monkeypatch.setattr(
        ctypes, "WinDLL", library or (lambda name: libraries.setdefault(name, Dll(has=True))), raising=False
    )
    monkeypatch.setattr(module.sys, "platform", "win32")
    monkeypatch.setattr(module.sys, "argv", ["collect.py", str(tmp_path / "out")])
    monkeypatch.setattr(module.platform, "node", lambda: HOST)
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    module.main()
    return tmp_path / "out"


def test_what_the_script_stores_is_decoded_compared_and_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = Calibration.read(collected(tmp_path, monkeypatch))
    records = list(plains(view.records()))
    summary = records[-1]
    assert (summary["damaged"], summary["compared"], summary["differ"]) == (0, 2, 0)
    shown = {record["path"]: record for record in records if record["record"] == "displayed"}
    assert shown["\\Set\\Number"]["value"] == 7.0
    assert (shown["\\Set\\Rate"]["value"], shown["\\Set\\Rate"]["verdict"]) == (5.0, "agrees")
    decided = summary["decided"]
    assert decided["AMB-01"] == ["offsets of strings count from the start of the block"]
    assert decided["AMB-02"] == ["a single-instance identifier is followed by nothing, Size 40"]
    assert decided["AMB-03"] == ["dwSize of a value of 4 bytes is 16"]
    assert decided["AMB-19"] == ["the size is counted in GUIDs (1 for 16 bytes, room for 1)"]
    assert set(decided) >= {"AMB-05", "AMB-16"}
    assert "2 displayed values compared, 0 differ" in list(view.lines(None))[-1]


def test_names_are_overwritten_in_buffers_and_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = collected(tmp_path, monkeypatch)
    for path in folder.iterdir():
        content = path.read_bytes()
        assert HOST.encode() not in content
        assert HOST.encode("utf-16-le") not in content
    assert any(b"x\0" * len(HOST) in path.read_bytes() for path in folder.glob("*.bin"))


def test_a_system_without_the_functions_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Wine answers: HKEY_PERFORMANCE_DATA, and not the functions of version 2."""
    view = Calibration.read(collected(tmp_path, monkeypatch, lambda name: Dll(has=False)))
    summary = list(plains(view.records()))[-1]
    assert {failure["call"] for failure in summary["failures"]} >= {"PerfEnumerateCounterSet", "PerfOpenQueryHandle"}
    assert (summary["buffers"], summary["damaged"], summary["compared"]) == (1, 0, 0)


def test_a_value_that_pdh_shows_otherwise_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = collected(tmp_path, monkeypatch)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest["displayed"][0]["value"] = 70.0
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    assert list(plains(Calibration.read(folder).records()))[-1]["differ"] == 1


@pytest.mark.parametrize(
    "text",
    [
        *("", "{}", "[]", '{"format": 9}', '{"format": 1, "buffers": [{}], "displayed": []}', "[" * 100_000),
        '{"format": 1, "buffers": [], "displayed": [{"counterset": "x"}]}',
        '{"format": 1, "buffers": [{"call": "x", "kind": "y", "status": 0, "file": null, "arguments": []}], "displayed": []}',
    ],
)
def test_what_is_no_calibration_is_said_in_a_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text, "utf-8")
    with pytest.raises(InputError):
        Calibration.read(tmp_path)


@pytest.mark.parametrize("file", ["endless", "../secret"])
def test_a_manifest_names_files_of_its_folder(file: str, tmp_path: Path) -> None:
    entry = {"call": "x", "kind": "guid", "status": 0, "file": file, "arguments": {}}
    (tmp_path / "endless").symlink_to("/dev/zero")
    (tmp_path / "manifest.json").write_text(json.dumps({"format": 1, "buffers": [entry], "displayed": []}), "utf-8")
    with pytest.raises(InputError, match="no manifest"):
        Calibration.read(tmp_path)


class Pretender:
    """caller.exe, had Wine no function at all; `made_up` answers for some, the others succeed and fill nothing."""

    def __init__(self) -> None:
        self.called: list[str] = []
        self.missing: set[str] = set()

    def has(self, dll: str, name: str) -> bool:
        return not name.startswith(("PerfEnumerate", "PerfQueryCounterSet", "PerfQueryCounterInfo"))

    def call(self, dll: str, name: str, arguments: list[Any]) -> int:
        self.called.append(name)
        return 0


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _with_prototypes(folder: Path, monkeypatch: pytest.MonkeyPatch, script: Any) -> Pretender:
    under_wine, pretender = _module(WINE), Pretender()
    monkeypatch.setattr(ctypes, "WinDLL", lambda name: under_wine.Dll(pretender, name), raising=False)
    monkeypatch.setattr(script.time, "sleep", lambda seconds: None)
    collector = script.Collector(folder, "\\\\SERVER", [])
    script.collect(collector, 12)
    return pretender


def test_every_call_of_the_script_is_as_the_sdk_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretender = _with_prototypes(tmp_path, monkeypatch, _module(SCRIPT))
    assert set(pretender.called) | pretender.missing == set(_module(WINE).PROTOTYPES)


def test_what_is_made_up_beside_wine_is_sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    under_wine, pretender = _module(WINE), Pretender()
    folder = collected(tmp_path, monkeypatch, lambda name: under_wine.Dll(pretender, name))
    stored = [line for line in plains(Calibration.read(folder).records()) if line["record"] == "stored-buffer"]
    made_up = [line for line in stored if line["call"] == "PerfQueryCounterSetRegistrationInfo"]
    assert len(made_up) == 9
    assert [line["problem"] for line in made_up] == [None] * 9


def test_a_call_with_a_wrong_type_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = _module(SCRIPT)
    monkeypatch.setattr(script, "c_wchar_p", lambda text: 5)
    with pytest.raises(SystemExit, match="is w, and n was given"):
        _with_prototypes(tmp_path, monkeypatch, script)


def test_the_predefined_key_is_extended_with_its_sign() -> None:
    """winreg.h: ((HKEY)(ULONG_PTR)((LONG)0x80000004))."""
    assert ctypes.c_void_p(_module(SCRIPT).HKEY_PERFORMANCE_DATA).value == 0xFFFFFFFF80000004


@pytest.mark.needs("tree_sitter", "tree_sitter_powershell", "tree_sitter_c_sharp")
def test_the_script_for_powershell_parses_and_calls_the_same_functions() -> None:
    import re

    import tree_sitter
    import tree_sitter_c_sharp
    import tree_sitter_powershell

    text = SCRIPT.with_suffix(".ps1").read_text(encoding="utf-8")
    inside = re.search(r"@'\n(.*?)\n'@", text, re.DOTALL)
    for language, source in ((tree_sitter_powershell, text), (tree_sitter_c_sharp, inside[1])):
        tree = tree_sitter.Parser(tree_sitter.Language(language.language())).parse(source.encode())
        assert not tree.root_node.has_error
    declared = dict(re.findall(r"static extern uint (\w+)\(\s*(.*?)\);", inside[1], re.DOTALL))
    prototypes = _module(WINE).PROTOTYPES
    assert set(declared) == set(prototypes)
    for name, parameters in declared.items():
        kinds = [_kind(one.strip()) for one in parameters.split(",")]
        assert all(kind in (wanted, "?") for kind, wanted in zip(kinds, prototypes[name], strict=True)), name


def _kind(parameter: str) -> str:
    """What a parameter in C# is in a prototype; `?` for a pointer that is always null."""
    if parameter.endswith(" reserved"):
        return "?"
    if parameter.startswith("string"):
        return "w"
    return "b" if "[]" in parameter or parameter.startswith(("out", "ref")) else "n"

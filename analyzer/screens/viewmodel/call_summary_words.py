"""Says what a call asked for and what it was answered, for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from analyzer.core.absence import Missing
from analyzer.core.caches import Kept
from analyzer.core.errors import DecodeError
from analyzer.core.printable_text import plural, shortened
from analyzer.interfaces.buffers.counter_type_names import counter_type_name
from analyzer.interfaces.buffers.perf_data_layout import PERF_DATA, Grid, PerfDataLayout
from analyzer.interfaces.buffers.winperf_layout import PERF_NO_INSTANCES, WINPERF, WinperfLayout
from analyzer.interfaces.call_contents.bound_answers import Binding, Bindings
from analyzer.interfaces.call_contents.call_field_maps import status_name
from analyzer.interfaces.call_contents.damaged_buffers import Damages, buffer_order, decoded_buffer
from analyzer.interfaces.pcq.perflib_samples import counterset_of, perflib_samples
from analyzer.interfaces.winperf.winperf_samples import winperf_samples
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call, Side
from analyzer.results.calls.query_state import QueryView
from analyzer.results.methods.perflib import ERROR_NOT_ENOUGH_MEMORY, NONE_ID, Opnum, RequestCode
from analyzer.results.methods.scmr import (
    CHANGING,
    CONTROLS,
    CREATING,
    DECODED,
    OPENING_MANAGER,
    QUERYING,
    SERVICE_NO_CHANGE,
    START_TYPES,
    STARTING,
    STATES,
    ScmrOpnum,
    service_type_words,
)
from analyzer.results.methods.winreg import ERROR_MORE_DATA, WinregOpnum
from analyzer.results.registry_and_service_facts import RegistryValue, registry_value
from analyzer.results.reported_names.counter_name_tables import NameTable, table_language, value_in_words
from analyzer.results.reported_names.counterset_catalog import Catalog
from analyzer.transport.rpc.rpc_names import fault_words

if TYPE_CHECKING:
    from analyzer.questions.audit.rule_registry import Requirement

# The words for a buffer, and its damage.
_Said = tuple[str, DecodeError | None]
_SHOWN_ITEMS = 6
_SHOWN_VALUE_NAME, _SHOWN_SETTING = 200, 200
_SHOWN_BYTES = 16
_MOST_PARENT = 40
# The sentence above displays of redacted traffic.
REDACTED = "redacted: names and addresses are pseudonyms"


def status_words(call: Call) -> str:
    """Says in words how a call ended: `ERROR_SUCCESS`, `fault nca_s_op_rng_error`, `no answer`, `sealed`."""
    if call.fault is not None:
        return fault_words(call.fault)
    if call.status is not None:
        return call.return_kind.words_of(call.status)
    if call.state == "request-only":
        return "no answer"
    if call.state != "complete":
        return call.state
    return "answered"


def handle_words(call: Call) -> str:
    """Returns the words of a call's summary for the handle that it works on: `q2` for the second query handle of the capture, `k1`
    for the first registry key."""
    label = call.handle
    return f"{label} " if label is not None else ""


def method_words(call: Call) -> str:
    """Names the method of a call, without what its interface's name already says."""
    opnum = call.opnum
    name = call.method or (f"opnum {opnum}" if opnum is not None else "unknown method")
    if call.is_perflib:
        return name.removeprefix("PerflibV2")
    interface = call.interface.name or call.interface.uuid
    return f"{interface}.{name}" if interface is not None else name


def request_words(call: Call, analysis: Analysis) -> str:
    """Describes the important parameters of a call's request."""
    if call.request is None:
        return "(request not captured)"
    if call.request.problem is not None:
        return _broken_words(call, call.request)
    if call.request.missing is Missing.NOT_CAPTURED:
        return f"({call.request.wire_length} bytes captured)"
    if isinstance(call.request.stub, Missing) or not call.request.params:
        why = call.request.stub.value if isinstance(call.request.stub, Missing) else ""
        return f"({call.request.wire_length} bytes{', ' + why if why else ''})"
    if call.is_perflib:
        return _perflib_request_words(call, analysis.catalogs.catalog_of(call.server))
    if call.is_winreg:
        return _winreg_request_words(call, analysis)
    if call.is_svcctl:
        return service_request_words(call)
    return f"({len(call.request.stub)} bytes)"


class KnownAnswers:
    """Keeps the words for answers that come again: the same bytes, or performance data of the same layout (`bindings`)."""

    # Longer buffers are not kept, but for their layouts.
    _LONGEST, _MOST_BYTES = 16 << 10, 4 << 20

    def __init__(self, analysis: Analysis) -> None:
        self.bindings = Bindings(analysis)
        self._decoded: Kept[_Said] = Kept(self._MOST_BYTES)

    def of_layout(self, call: Call, side: Side, make: Callable[[], str]) -> str | None:
        """Returns the words for undamaged performance data, made once for each layout; None for other buffers."""
        found: tuple[Any, Binding] | None = None
        if side.buffer_kind == "perf-data":
            found = self.bindings.perflib(call.server, call.query, side.buffer_data)
        elif side.buffer_kind == "winperf":
            found = self.bindings.winperf(call.server, side.buffer_data)
        return found[1].once("words", make) if found is not None else None

    def of_bytes(self, side: Side, make: Callable[[], _Said]) -> _Said:
        """Returns the words for an answer's buffer and its damage, made once for the same bytes."""
        data = side.buffer_data
        if len(data) > self._LONGEST:
            return make()
        return self._decoded.get((side.buffer_kind, buffer_order(side), data), make, lambda _: len(data) + 300)


def answer_words(
    call: Call, analysis: Analysis, damages: Damages | None = None, known: KnownAnswers | None = None
) -> str:
    """Says what the answer of a call holds, after its status. Notes damage of its buffer in `damages`; takes the words for an
    answer that came before from `known`."""
    damages = Damages() if damages is None else damages
    side = call.response
    if side is None or isinstance(side.stub, Missing):
        return f"{side.wire_length} bytes" if side is not None and side.stub is Missing.SEALED else ""
    if side.problem is not None:
        return _broken_words(call, side) if side.params else f"{len(side.stub)} bytes"
    if call.is_perflib:
        return _perflib_answer_words(call, analysis.catalogs.catalog_of(call.server), damages, known)
    if call.is_winreg:
        return _winreg_answer_words(call, analysis, damages, known)
    if call.is_svcctl and call.opnum in DECODED:
        return service_answer_words(call)
    return f"{len(side.stub)} bytes" if call.fault is None else ""


def _broken_words(call: Call, side: Side) -> str:
    """Describes a stub that was decoded in part: its parameters by their IDL names, without handles, which are shown elsewhere."""
    assert side.problem is not None
    shown = {name: value for name, value in side.params.items() if isinstance(value, int | str)}
    words = [
        f'{name} "{shortened(value)}"' if isinstance(value, str) else f"{name} {value}" for name, value in shown.items()
    ]
    left = side.problem.undecoded
    if not words or left is None:
        return f"({side.wire_length} bytes, not decoded)"
    if call.path is not None:
        words.insert(0, shortened(call.path, _SHOWN_VALUE_NAME))
    return f"{', '.join(words)} ({left} of {side.stub_length} bytes not decoded)"


def counterset_words(guid: str | None, catalog: Catalog) -> str:
    return (catalog.label(guid) or guid) if guid is not None else "?"


def _perflib_request_words(call: Call, catalog: Catalog) -> str:
    assert call.request is not None
    params, opnum = call.request.params, call.opnum
    if opnum == Opnum.ENUMERATE_COUNTER_SET:
        return f"{params['szMachine']}, room for {_number(params['dwInSize'], 'GUID')}"
    if opnum == Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO:
        code, lcid = params["RequestCode"], params["RequestLCID"]
        what = RequestCode.label(code)
        if code == RequestCode.COUNTER_STRUCT:
            entry = catalog.counter(call.counterset, lcid)
            what += f" of counter {lcid}" + (f" {entry.label}" if entry is not None and entry.label else "")
        elif lcid:
            what += f" in language {lcid:#06x}"
        return f"{counterset_words(call.counterset, catalog)}: {what}"
    if opnum == Opnum.ENUMERATE_COUNTER_SET_INSTANCES:
        return counterset_words(call.counterset, catalog)
    if opnum == Opnum.OPEN_QUERY_HANDLE:
        return str(params["szMachine"])
    if opnum == Opnum.VALIDATE_COUNTERS:
        verb = "add" if params["dwAdd"] else "remove"
        decoded = decoded_buffer(call.request)
        items = decoded.tree.get("identifiers", []) if decoded is not None else []
        return f"{verb} {_listed([_identifier_words(item, catalog) for item in items], 'counters')}"
    if opnum in (Opnum.QUERY_COUNTER_INFO, Opnum.QUERY_COUNTER_DATA):
        return f"room for {params['dwInSize']} bytes"
    return ""


def _identifier_words(item: dict[str, Any], catalog: Catalog) -> str:
    guid, counter_id = item.get("counterset_guid"), item.get("counter_id")
    if counter_id == NONE_ID:
        counter = "all counters"
    elif counter_id is None:
        counter = "(cut off)"
    else:
        entry = catalog.counter(guid, counter_id)
        counter = entry.label if entry is not None and entry.label else f"counter {counter_id}"
    name = item.get("name")
    return f"{counterset_words(guid, catalog)}" + (f"({name})" if name else "") + f"\\{counter}"


def _listed(items: list[str], noun: str) -> str:
    if not items:
        return f"no {noun}"
    more = len(items) - _SHOWN_ITEMS
    return ", ".join(items[:_SHOWN_ITEMS]) + (f" and {more} more" if more > 0 else "")


def _perflib_answer_words(call: Call, catalog: Catalog, damages: Damages, known: KnownAnswers | None) -> str:
    side = call.response
    assert side is not None
    params, opnum = side.params, call.opnum
    if call.status != 0 and "pdwRtnSize" in params:
        # With any other error the size is undefined (perflib.h, PerfQueryCounterData).
        if call.status != ERROR_NOT_ENOUGH_MEMORY:
            return ""
        unit = "GUID" if opnum == Opnum.ENUMERATE_COUNTER_SET else "byte"
        return f"{_number(params['pdwRtnSize'], unit)} needed" if params["pdwRtnSize"] else ""
    if side.buffer_span is None:
        return ""
    size = f"{params['pdwOutSize']} bytes: " if "pdwOutSize" in params and side.buffer_kind != "guids" else ""
    if side.buffer_kind is None:
        return _buffer_size(side)
    return size + _known_words(call, side, damages, known, lambda: _perflib_buffer_words(call, side, catalog))


def _perflib_buffer_words(call: Call, side: Side, catalog: Catalog) -> _Said:
    if side.buffer_kind == "perf-data" and (read := PERF_DATA.read(side.buffer_data)) is not None:
        return _parts_words(read.layout, call.query, catalog), None
    decoded = decoded_buffer(side)
    assert decoded is not None
    damage = f" (damaged: {decoded.problem})" if decoded.problem is not None else ""
    words = _buffer_words(side.buffer_kind, decoded.tree)
    if side.buffer_kind == "perf-data":
        values = [sample for sample in perflib_samples(call, catalog) if sample.data_size is not None]
        names = dict.fromkeys(sample.counterset_name or sample.counterset for sample in values)
        words += _values_words(len(values), names)
    return words + damage, decoded.problem.alone() if decoded.problem is not None else None


def _known_words(
    call: Call, side: Side, damages: Damages, known: KnownAnswers | None, make: Callable[[], _Said]
) -> str:
    """Describes the buffer of an answer, and notes its damage."""
    words = known.of_layout(call, side, lambda: make()[0]) if known is not None else None
    problem = None
    if words is None:
        # The words for these kinds depend on the request.
        depends = side.buffer_kind in ("perf-data", "winperf", "name-table")
        words, problem = make() if known is None or depends else known.of_bytes(side, make)
    damages.note(call.number, "response", side, problem)
    return words


def _buffer_size(side: Side) -> str:
    start, stop = side.buffer_span or (0, 0)
    return _number(stop - start, "byte")


def _parts_words(layout: PerfDataLayout, query: QueryView | None, catalog: Catalog) -> str:
    """Describes an undamaged perf-data answer by its layout: `3 blocks, 27 values of Memory`."""
    failed = sorted({status_name(status) for status in layout.statuses.tolist() if status})
    words = _number(len(layout.statuses), "block") + (f", some failed: {', '.join(failed)}" if failed else "")
    blocks: list[int] = []
    for part in layout.parts:
        if isinstance(part, Grid):
            blocks += [part.block] if len(part) else []
        else:
            blocks += part.block[part.data_size >= 0].tolist()
    sets = (counterset_of(query, block) for block in dict.fromkeys(blocks))
    names = dict.fromkeys(catalog.label(guid) or guid for guid in sets)
    return words + _values_words(int((layout.data_sizes >= 0).sum()), names)


def _values_words(count: int, countersets: Iterable[str | None]) -> str:
    """Describes the values of a perf-data answer: `, 27 values of Memory V2 model, Processor Information`. Names the countersets
    that the capture states."""
    if not count:
        return ""
    known = [name for name in countersets if name is not None]
    return f", {_number(count, 'value')}" + (f" of {_listed(known, 'countersets')}" if known else "")


def _buffer_words(kind: str | None, tree: dict[str, Any]) -> str:
    if kind == "guids":
        return _counted(tree.get("guids"), "counterset")
    if kind == "counterset-info":
        return _counted(tree.get("counters"), "counter")
    if kind == "counter-info":
        return _counter_info_words(tree.get("counter", {}))
    if kind == "string":
        return f'"{shortened(tree.get("string") or "")}"'
    if kind == "string-table":
        return _counted(tree.get("strings"), "string")
    if kind == "guid":
        return str(tree.get("guid"))
    if kind == "instances":
        names = [item.get("name") or str(item.get("instance_id")) for item in tree.get("instances", [])]
        return f"{_counted(names, 'instance')}: {_listed(names, 'instances')}" if names else "no instances"
    if kind == "identifiers":
        items = tree.get("identifiers", [])
        refused = [item for item in items if item.get("status")]
        words = _counted(items, "counter")
        if refused:
            names = sorted({status_name(item["status"]) for item in refused})
            words += f", {len(refused)} refused: {', '.join(names)}"
        return words
    if kind == "perf-data":
        blocks = tree.get("blocks", [])
        failed = sorted({status_name(block["status"]) for block in blocks if block.get("status")})
        return _counted(blocks, "block") + (f", some failed: {', '.join(failed)}" if failed else "")
    return ""


def _counter_info_words(info: dict[str, Any]) -> str:
    kind = info.get("counter_type")
    if kind is None:
        return f"counter {info.get('counter_id', '(cut off)')}"
    return f"counter {info['counter_id']}, {counter_type_name(kind) or f'type {kind:#010x}'}"


def _counted(items: Any, noun: str) -> str:
    return _number(len(items or ()), noun)


def _number(number: int, noun: str) -> str:
    return f"{number} {plural(number, noun)}"


def _winreg_request_words(call: Call, analysis: Analysis) -> str:
    words = _registry_request_words(call, analysis)
    path = shortened(call.path, _SHOWN_VALUE_NAME) if call.path is not None else ""
    return f"{path}: {words}" if path and words else path or words


def _registry_request_words(call: Call, analysis: Analysis) -> str:
    assert call.request is not None
    params, opnum = call.request.params, call.opnum
    if call.read is not None:
        names = analysis.name_tables.table_of(call.server)
        words = shortened(value_in_words(call.read.value_name, names, call.read.key), _SHOWN_VALUE_NAME)
        room = params.get("lpcbData")
        return words + (f", room for {_number(room, 'byte')}" if isinstance(room, int) else "")
    if opnum in (WinregOpnum.BASE_REG_QUERY_VALUE, WinregOpnum.BASE_REG_DELETE_VALUE):
        return f'value "{shortened(str(params.get("lpValueName") or ""), _SHOWN_VALUE_NAME)}"'
    if opnum in (WinregOpnum.BASE_REG_ENUM_VALUE, WinregOpnum.BASE_REG_ENUM_KEY):
        return f"index {params.get('dwIndex')}"
    if opnum == WinregOpnum.BASE_REG_SET_VALUE and (value := registry_value(call)) is not None:
        return f'value "{shortened(value.name or "", _SHOWN_VALUE_NAME)}" = {_value_words(value)}'
    if opnum in (WinregOpnum.BASE_REG_SAVE_KEY, WinregOpnum.BASE_REG_SAVE_KEY_EX, WinregOpnum.BASE_REG_LOAD_KEY):
        return f"file {shortened(str(params.get('lpFile') or ''), _SHOWN_VALUE_NAME)}"
    return ""


def _value_words(value: RegistryValue) -> str:
    """Describes a registry value: `REG_SZ "text"`, `REG_DWORD 2`, `REG_BINARY 16 bytes 01 02 ...`."""
    content = value.content()
    if content is None:
        return value.type_name or "no data"
    if isinstance(content, str):
        words = f'"{shortened(content)}"'
    elif isinstance(content, list):
        words = _listed([f'"{shortened(text)}"' for text in content], "texts")
    elif isinstance(content, int):
        words = f"{content} ({content:#x})" if content > 9 else str(content)
    else:
        shown = content[:_SHOWN_BYTES].hex(" ")
        words = f"{_number(len(content), 'byte')} {shown}{' ...' if len(content) > _SHOWN_BYTES else ''}".rstrip()
    return f"{value.type_name or 'value'} {words}"


def _winreg_answer_words(call: Call, analysis: Analysis, damages: Damages, known: KnownAnswers | None) -> str:
    side = call.response
    assert side is not None
    if call.status == ERROR_MORE_DATA:
        # Nobody knows the size of performance data before it was collected: lpcbData is undefined there (RegQueryValueEx).
        needed = side.params.get("lpcbData") if call.read is None else None
        return f"{_number(needed, 'byte')} needed" if isinstance(needed, int) and needed else ""
    if side.buffer_kind is None and call.key is None and call.status == 0:
        return _registry_answer_words(call, side)
    if side.buffer_span is None:
        return ""
    start, stop = side.buffer_span
    if side.buffer_kind is None:
        return f"{stop - start} bytes"
    said = _known_words(call, side, damages, known, lambda: _winreg_buffer_words(call, side, analysis))
    return f"{stop - start} bytes{said}"


def _winreg_buffer_words(call: Call, side: Side, analysis: Analysis) -> _Said:
    names = analysis.name_tables.table_of(call.server)
    if side.buffer_kind == "winperf" and (read := WINPERF.read(side.buffer_data)) is not None:
        return _layout_words(read.layout, names), None
    decoded, words = decoded_buffer(side), ""
    assert decoded is not None
    if side.buffer_kind == "name-table":
        table = table_language(call.read.value_name, call.read.key) if call.read is not None else None
        noun = "text" if table is not None and table[0] == "help" else "name"
        rows = [row for row in decoded.tree.get("entries", []) if row.get("index") and row.get("text") is not None]
        words = f": {_number(len(rows), noun)}"
    elif side.buffer_kind == "winperf":
        indices = [sample.object_index for sample in winperf_samples(call, names)]
        bodies = [item.get("body") or {} for item in decoded.tree.get("objects", ())]
        defined = [
            (body["object_name_title_index"], len(body.get("counters", ())))
            for body in bodies
            if body.get("num_instances", 0) < PERF_NO_INSTANCES
        ]
        words = _objects_words(len(bodies), len(indices), indices, defined, names)
    damage = f" (damaged: {decoded.problem})" if decoded.problem is not None else ""
    return words + damage, decoded.problem.alone() if decoded.problem is not None else None


def _layout_words(layout: WinperfLayout, names: NameTable) -> str:
    """Describes an undamaged PERF_DATA_BLOCK by its layout."""
    counts = [len(item.instances) * sum(one.size > 0 for one in item.definitions) for item in layout.objects]
    indices = [item.name_index for item, count in zip(layout.objects, counts, strict=True) if count]
    defined = [(item.name_index, len(item.definitions)) for item in layout.objects if item.is_metadata]
    return _objects_words(len(layout.objects), sum(counts), indices, defined, names)


def _objects_words(
    objects: int, values: int, indices: Iterable[int], defined: Sequence[tuple[int, int]], names: NameTable
) -> str:
    """Describes the objects of a winperf answer: `: 2 objects, 30 values of Processor`. `indices` are the objects that have values.

    `defined` are objects that carry only counter definitions (winperf.h, PERF_METADATA_*), each with the number of its counters.
    """
    words = f": {_number(objects, 'object')}, {_number(values, 'value')}"
    if titles := [_object_title(index, names) for index in dict.fromkeys(indices)]:
        words += f" of {_listed(list(dict.fromkeys(titles)), 'objects')}"
    if defined:
        counters = sum(count for _, count in defined)
        titles = [_object_title(index, names) for index, _ in defined]
        words += f"; the definitions of {_number(counters, 'counter')} of {_listed(titles, 'objects')}"
    return words


def _object_title(index: int, names: NameTable) -> str:
    name = names.name(index)
    return (name.text if name is not None else None) or f"object {index}"


def _registry_answer_words(call: Call, side: Side) -> str:
    """Describes the answer of a registry call about keys and values other than performance data."""
    params, opnum, value = side.params, call.opnum, registry_value(call)
    if opnum == WinregOpnum.BASE_REG_QUERY_VALUE and value is not None:
        size = params.get("lpcbData")
        if value.data is None and isinstance(size, int) and size:
            return f"{value.type_name or 'value'}, {_number(size, 'byte')}"
        return _value_words(value)
    if opnum == WinregOpnum.BASE_REG_ENUM_VALUE and value is not None:
        return f'"{shortened(value.name or "", _SHOWN_VALUE_NAME)}" = {_value_words(value)}'
    if opnum == WinregOpnum.BASE_REG_ENUM_KEY:
        return f'"{shortened(str(params.get("lpNameOut") or ""), _SHOWN_VALUE_NAME)}"'
    if opnum == WinregOpnum.BASE_REG_QUERY_INFO_KEY:
        return f"{_number(params['lpcSubKeys'], 'key')} and {_number(params['lpcValues'], 'value')} below"
    if opnum == WinregOpnum.BASE_REG_CREATE_KEY:
        return {1: "created", 2: "was there"}.get(params.get("lpdwDisposition") or 0, "")
    return ""


def section_words(requirement: Requirement) -> str:
    """Returns summary words for the document and section of a requirement: `MS-PCQ 2.2.4.1`, `winperf.h PERF_DATA_BLOCK`."""
    prefix, section = requirement.id.partition("-")[0], requirement.section
    if prefix == "PCQ":
        return f"MS-PCQ {section}"
    return f"{'winperf.h' if prefix == 'WP' else 'perflib.h'} {_STRUCTURES.get(section, section)}"


_STRUCTURES = {
    "DB": "PERF_DATA_BLOCK",
    "OT": "PERF_OBJECT_TYPE",
    "CD": "PERF_COUNTER_DEFINITION",
    "ID": "PERF_INSTANCE_DEFINITION",
    "CB": "PERF_COUNTER_BLOCK",
    "QCD": "PerfQueryCounterData",
}


def parent_words(pid: int | None, name: str | None) -> str:
    """Returns summary words for a process's parent: its id and name, as far as they are known."""
    words = "" if pid is None else str(pid)
    return words if name is None else f"{words} {shortened(name, _MOST_PARENT)}"


def service_request_words(call: Call) -> str:
    """Describes a request to the service control manager: the service, and what is asked for it."""
    params = call.request.params if call.request is not None else {}
    opnum = call.opnum
    if opnum in OPENING_MANAGER:
        return _text(params.get("lpMachineName"))
    name = f'"{_text(call.path)}"' if call.path is not None else ""
    words = [name] if name else []
    if opnum in CREATING or opnum in CHANGING:
        return f"{name} {', '.join(_service_words(params))}".strip()
    if opnum in STARTING and params.get("argv"):
        words.append("with " + ", ".join(f'"{_text(one)}"' for one in params["argv"]))
    if opnum == ScmrOpnum.CONTROL_SERVICE:
        control = params.get("dwControl")
        words.append(CONTROLS.get(control, f"control {control}") if isinstance(control, int) else "")
    return " ".join(words)


def service_answer_words(call: Call) -> str:
    """Describes an answer of the service control manager: the state of the service, or its configuration."""
    params = call.response.params if call.response is not None else {}
    status = params.get("lpServiceStatus")
    if isinstance(status, dict) and call.status == 0:
        state, code = status.get("dwCurrentState", -1), status.get("dwWin32ExitCode")
        return STATES.get(state, f"state {state}") + (f", exit code {code}" if code else "")
    config = params.get("lpServiceConfig")
    if call.opnum in QUERYING and isinstance(config, dict) and call.status == 0:
        return ", ".join(_service_words(config))
    return ""


def _service_words(params: dict[str, Any]) -> list[str]:
    """Words for the summary of a call about a service's configuration: what it runs, as whom and when, as far as it is stated."""
    found = []
    if display := params.get("lpDisplayName"):
        found.append(f'shown as "{_text(display)}"')
    if path := params.get("lpBinaryPathName"):
        found.append(f'runs "{_text(path)}"')
    if (kind := params.get("dwServiceType")) not in (None, SERVICE_NO_CHANGE):
        found.append(service_type_words(kind))
    if (start := params.get("dwStartType")) not in (None, SERVICE_NO_CHANGE):
        found.append(f"start {START_TYPES.get(start, start)}")
    if account := params.get("lpServiceStartName"):
        found.append(f"as {_text(account)}")
    return found


def _text(text: Any) -> str:
    """Shortens a text of a call to one line; `show` has the whole."""
    return shortened(str(text or ""), _SHOWN_SETTING)

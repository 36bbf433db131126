"""What a call asked and was told, in words for people."""

from __future__ import annotations

from typing import Any

from analyzer.core.absence import Missing
from analyzer.core.labels import label
from analyzer.core.win32 import win32_name
from analyzer.model.analysis import Analysis
from analyzer.model.records import decoded_buffer
from analyzer.pcq.catalog import Catalog
from analyzer.pcq.identity import NONE_ID, Opnum, RequestCode
from analyzer.pcq.layer import PerflibCall
from analyzer.rpc.call import Call
from analyzer.rpc.status import fault_name
from analyzer.winperf.identity import Opnum as WinregOpnum
from analyzer.winperf.layer import WinregCall
from analyzer.winperf.names import value_in_words

_SHOWN_ITEMS = 4
_SHOWN_TEXT = 60


def status_words(call: Call) -> str:
    """The outcome by name: `ERROR_SUCCESS`, `fault nca_s_op_rng_error`, `no answer`, `sealed`."""
    if call.exchange.fault is not None:
        return f"fault {fault_name(call.exchange.fault) or hex(call.exchange.fault)}"
    if call.status is not None:
        return status_name(call.status)
    if call.state == "request-only":
        return "no answer"
    if call.state != "complete":
        return call.state
    return "answered"


def status_name(status: int) -> str:
    return win32_name(status) or f"error {status}"


def asked(call: Call, analysis: Analysis) -> str:
    """The parameters of the request that matter."""
    if call.request is None:
        return "(request not captured)"
    if isinstance(call.request.stub, Missing) or not call.request.params:
        return f"{call.request.message.wire_length} bytes" + (" sealed" if call.state == "sealed" else "")
    if isinstance(call, PerflibCall):
        return _asked_of_perflib(call, analysis.catalogs.of(call.exchange.channel.server))
    if isinstance(call, WinregCall):
        return _asked_of_winreg(call, analysis)
    return f"{len(call.request.stub)} bytes"


def answered(call: Call, analysis: Analysis) -> str:
    """What the answer holds, after its status."""
    side = call.response
    if side is None or isinstance(side.stub, Missing):
        return f"{side.message.wire_length} bytes sealed" if side is not None and call.state == "sealed" else ""
    if isinstance(call, PerflibCall):
        return _answer_of_perflib(call, analysis.catalogs.of(call.exchange.channel.server))
    if isinstance(call, WinregCall):
        return _answer_of_winreg(call)
    return f"{len(side.stub)} bytes" if call.exchange.fault is None else ""


def counterset_words(guid: str | None, catalog: Catalog) -> str:
    return (catalog.label(guid) or guid) if guid is not None else "?"


def _asked_of_perflib(call: PerflibCall, catalog: Catalog) -> str:
    assert call.request is not None
    params, opnum = call.request.params, call.exchange.opnum
    if opnum == Opnum.ENUMERATE_COUNTER_SET:
        return f"{params['szMachine']}, room for {params['dwInSize']} GUIDs"
    if opnum == Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO:
        code, lcid = params["RequestCode"], params["RequestLCID"]
        what = label(RequestCode, code)
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


def _answer_of_perflib(call: PerflibCall, catalog: Catalog) -> str:
    side = call.response
    assert side is not None
    params, opnum = side.params, call.exchange.opnum
    unit = "GUIDs" if opnum == Opnum.ENUMERATE_COUNTER_SET else "bytes"
    if call.status != 0 and "pdwRtnSize" in params:
        return f"{params['pdwRtnSize']} {unit} needed" if params["pdwRtnSize"] else ""
    decoded = decoded_buffer(side)
    if decoded is None:
        return ""
    tree = decoded.tree
    size = f"{params['pdwOutSize']} {unit}: " if "pdwOutSize" in params and unit == "bytes" else ""
    damage = f" (damaged: {decoded.problem})" if decoded.problem is not None else ""
    return size + _buffer_words(side.buffer_kind, tree, catalog) + damage


def _buffer_words(kind: str | None, tree: dict[str, Any], catalog: Catalog) -> str:
    if kind == "guids":
        return _counted(tree.get("guids"), "counterset")
    if kind == "counterset-info":
        return _counted(tree.get("counters"), "counter")
    if kind == "counter-info":
        return f"counter {tree.get('counter', tree).get('counter_id')}"
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


def _counted(items: Any, noun: str) -> str:
    number = len(items or ())
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _asked_of_winreg(call: WinregCall, analysis: Analysis) -> str:
    assert call.request is not None
    params = call.request.params
    if call.read is not None:
        words = value_in_words(call.read.value_name, analysis.name_tables.of(call.exchange.channel.server))
        room = params.get("lpcbData")
        return words + (f", room for {room} bytes" if isinstance(room, int) else "")
    if call.exchange.opnum == WinregOpnum.BASE_REG_QUERY_VALUE:
        return f'value "{params.get("lpValueName")}"'
    return ""


def _answer_of_winreg(call: WinregCall) -> str:
    side = call.response
    assert side is not None
    if side.buffer is None:
        return ""
    decoded = decoded_buffer(side)
    words = f"{len(side.buffer)} bytes"
    if decoded is None:
        return words
    if side.buffer_kind == "name-table":
        words += f": {sum('text' in row for row in decoded.tree.get('entries', []))} names"
    elif side.buffer_kind == "winperf":
        words += f": {_counted(decoded.tree.get('objects'), 'object')}"
    if decoded.problem is not None:
        words += f" (damaged: {decoded.problem})"
    return words


def shortened(text: str) -> str:
    """One line of at most 60 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_TEXT else line[: _SHOWN_TEXT - 1] + "…"

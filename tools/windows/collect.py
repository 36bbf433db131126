"""Stores what Windows's own performance counter functions return, beside what PDH displays at the same moment.

Python 3.8 or later on Windows, and nothing else. Reads counters, changes nothing, sends nothing.

    python collect.py OUT [--machine \\\\SERVER] [--sets 12] [--redact WORD]...

OUT becomes a folder with `manifest.json` and one file for each buffer, which `pcq-analyzer calibrate OUT` reads. The name of the
computer and of the user, and every WORD, are overwritten by as many x in all buffers and texts, unless --keep-names is given.
"""

import argparse
import ctypes
import getpass
import json
import platform
import sys
import time
import uuid
from ctypes import byref, c_double, c_int32, c_uint32, c_void_p, c_wchar_p, create_string_buffer
from pathlib import Path

FORMAT = 1
SUCCESS, NOT_ENOUGH_MEMORY, MORE_DATA = 0, 8, 234
ANY = 0xFFFFFFFF
# A handle of 32 bits, which Windows extends with its sign (winreg.h).
HKEY_PERFORMANCE_DATA = 0x80000004 - (1 << 32)
PDH_FMT_DOUBLE, PDH_FMT_NOCAP100 = 0x200, 0x8000
# RequestCode and the layout of its answer ([MS-PCQ] section 3.1.4.1.2).
CODES = (
    (1, "counterset-info"),
    (3, "string"),
    (4, "string"),
    (5, "string-table"),
    (6, "string-table"),
    (7, "string"),
    (8, "guid"),
    (9, "string"),
    (10, "string-table"),
)
WINPERF = ("Global", "Costly", "2", "230", "238", "Counter 009")


class Collector:
    """The folder, and the functions."""

    def __init__(self, folder, machine, words):
        self.folder, self.machine = folder, machine
        self.words = sorted({word for word in words if word}, key=len, reverse=True)
        self.buffers, self.displayed, self.failures = [], [], []
        self.advapi = ctypes.WinDLL("advapi32")

    def function(self, name):
        """A function of advapi32, None where this Windows (or Wine) has it not."""
        try:
            found = getattr(self.advapi, name)
        except AttributeError:
            self.failures.append({"call": name, "why": "this system does not have the function"})
            return None
        found.restype = c_uint32
        return found

    def hidden(self, text):
        for word in self.words:
            at = text.lower().find(word.lower())
            while at >= 0:
                text = text[:at] + "x" * len(word) + text[at + len(word) :]
                at = text.lower().find(word.lower(), at + len(word))
        return text

    def hidden_bytes(self, data):
        """The same in UTF-16 at even and odd places; lengths stay."""
        for shift in (0, 1):
            whole = len(data) - shift - (len(data) - shift) % 2
            text = data[shift : shift + whole].decode("utf-16-le", "surrogatepass")
            shown = self.hidden(text)
            if shown != text:
                data = data[:shift] + shown.encode("utf-16-le", "surrogatepass") + data[shift + whole :]
        return data

    def keep(self, call, kind, status, data, **arguments):
        """Stores a buffer; its name."""
        name = None
        if data:
            name = f"{len(self.buffers) + 1:04}.bin"
            (self.folder / name).write_bytes(self.hidden_bytes(data))
        shown = {key: self.hidden(value) if isinstance(value, str) else value for key, value in arguments.items()}
        self.buffers.append(
            {"call": call, "kind": kind, "status": status, "file": name, "time": time.time(), "arguments": shown}
        )
        return name

    def sized(self, call, kind, function, *before, **arguments):
        """Calls a function that fills a buffer of bytes, with as much room as it asks for."""
        size = 0
        for _ in range(8):
            buffer, needed = create_string_buffer(max(size, 1)), c_uint32(0)
            status = function(*before, buffer if size else None, c_uint32(size), byref(needed))
            if status != NOT_ENOUGH_MEMORY or needed.value <= size:
                break
            size = needed.value
        data = buffer.raw[: min(needed.value, size)] if status == SUCCESS else b""
        return data, self.keep(call, kind, status, data, **arguments)

    # ------------------------------------------------------------------------------------------ version 2 consumers

    def guids(self):
        enumerate_sets = self.function("PerfEnumerateCounterSet")
        if enumerate_sets is None:
            return []
        room = 0
        for _ in range(8):
            found, needed = create_string_buffer(max(16 * room, 1)), c_uint32(0)
            status = enumerate_sets(self.machine, found if room else None, c_uint32(room), byref(needed))
            if status != NOT_ENOUGH_MEMORY or needed.value <= room:
                break
            room = needed.value
        data = found.raw[: 16 * min(needed.value, room)] if status == SUCCESS else b""
        self.keep("PerfEnumerateCounterSet", "guids", status, data, room=room, needed=needed.value)
        return [data[at : at + 16] for at in range(0, len(data), 16)]

    def describe(self, guid):
        """All that is registered of a counterset: its English name, the English names of its counters, and its InstanceType."""
        register = self.function("PerfQueryCounterSetRegistrationInfo")
        found = {}
        for code, kind in CODES if register is not None else ():
            language = 0 if code in (1, 7, 8, 9, 10) else 0x409
            data, _ = self.sized(
                "PerfQueryCounterSetRegistrationInfo",
                kind,
                register,
                self.machine,
                guid,
                c_uint32(code),
                c_uint32(language),
                counterset=str(uuid.UUID(bytes_le=guid)),
                code=code,
                language=language,
            )
            found[code] = data
        listing = self.function("PerfEnumerateCounterSetInstances")
        if listing is not None:
            self.sized(
                "PerfEnumerateCounterSetInstances",
                "instances",
                listing,
                self.machine,
                guid,
                counterset=str(uuid.UUID(bytes_le=guid)),
            )
        return found

    def query(self, chosen):
        """Two data answers of all counters of these countersets, and what PDH displays between them."""
        names = ("PerfOpenQueryHandle", "PerfAddCounters", "PerfQueryCounterInfo", "PerfQueryCounterData")
        opening, add, info, data_of = (self.function(name) for name in names)
        if None in (opening, add, info, data_of):
            return
        handle = c_void_p()
        status = opening(self.machine, byref(handle))
        self.keep("PerfOpenQueryHandle", "none", status, b"")
        if status != SUCCESS:
            return
        for guid, multiple in chosen:
            # _PERF_COUNTER_IDENTIFIER (2.2.4.6), every counter; "*" for every instance where there are instances.
            name = "*\0".encode("utf-16-le").ljust(8, b"\0") if multiple else b""
            block = guid + b"".join(number.to_bytes(4, "little") for number in (0, 40 + len(name), ANY, ANY, 0, 0))
            buffer = create_string_buffer(block + name, len(block + name))
            status = add(handle, buffer, c_uint32(len(block + name)))
            self.keep("PerfAddCounters", "identifiers", status, buffer.raw, counterset=str(uuid.UUID(bytes_le=guid)))
        self.sized("PerfQueryCounterInfo", "identifiers", info, handle)
        pdh = Pdh(self)
        paths = pdh.add(self.machine, self.paths)
        _, older = self.sized("PerfQueryCounterData", "perf-data", data_of, handle)
        pdh.collect()
        time.sleep(1)
        _, newer = self.sized("PerfQueryCounterData", "perf-data", data_of, handle)
        pdh.collect()
        for path, counter in paths:
            value, status = pdh.value(counter)
            self.displayed.append(dict(path, value=value, status=status, older=older, newer=newer))
        pdh.close()
        closing = self.function("PerfCloseQueryHandle")
        if closing is not None:
            closing(handle)

    # ------------------------------------------------------------------------------------------ HKEY_PERFORMANCE_DATA

    def registry(self):
        query = self.function("RegQueryValueExW")
        connect = self.function("RegConnectRegistryW")
        if query is None or connect is None:
            return
        key = c_void_p(HKEY_PERFORMANCE_DATA)
        if self.machine is not None:
            remote = c_void_p()
            status = connect(c_wchar_p(self.machine), key, byref(remote))
            self.keep("RegConnectRegistry", "none", status, b"")
            if status != SUCCESS:
                return
            key = remote
        for value in WINPERF:
            size = 1 << 16
            while True:
                buffer, needed, kind = create_string_buffer(size), c_uint32(size), c_uint32(0)
                status = query(key, c_wchar_p(value), None, byref(kind), buffer, byref(needed))
                if status != MORE_DATA or size >= 1 << 28:
                    break
                size *= 2
            data = buffer.raw[: needed.value] if status == SUCCESS else b""
            layout = "name-table" if value.startswith("Counter") else "winperf"
            self.keep("RegQueryValueEx", layout, status, data, value=value)
        self.advapi.RegCloseKey(key)


class Value(ctypes.Structure):
    """PDH_FMT_COUNTERVALUE with a double."""

    _fields_ = [("status", c_uint32), ("double", c_double)]


class Pdh:
    """What Performance Data Helper displays."""

    def __init__(self, collector):
        self.collector, self.query = collector, c_void_p()
        try:
            self.dll = ctypes.WinDLL("pdh")
            self.dll.PdhOpenQueryW.restype = c_int32
            self.is_open = self.dll.PdhOpenQueryW(None, c_void_p(0), byref(self.query)) == SUCCESS
        except (OSError, AttributeError):
            self.is_open = False
        if not self.is_open:
            collector.failures.append({"call": "PdhOpenQuery", "why": "no PDH"})

    def add(self, machine, paths):
        added = []
        for path in paths if self.is_open else ():
            counter = c_void_p()
            text = (machine or "") + path["path"]
            if self.dll.PdhAddEnglishCounterW(self.query, c_wchar_p(text), c_void_p(0), byref(counter)) == SUCCESS:
                added.append((path, counter))
        return added

    def collect(self):
        if self.is_open:
            self.dll.PdhCollectQueryData(self.query)

    def value(self, counter):
        found, kind = Value(), c_uint32(0)
        form = c_uint32(PDH_FMT_DOUBLE | PDH_FMT_NOCAP100)
        status = self.dll.PdhGetFormattedCounterValue(counter, form, byref(kind), byref(found))
        return (found.double if status == SUCCESS else None), status & 0xFFFFFFFF

    def close(self):
        if self.is_open:
            self.dll.PdhCloseQuery(self.query)


def text_of(data):
    """A UTF-16 string up to its NUL."""
    return data.decode("utf-16-le", "replace").partition("\0")[0]


def names_of(table):
    """Strings by counter id of an answer to RequestCode 10, offsets from the start of the block (perflib.h)."""
    found = {}
    count = int.from_bytes(table[4:8], "little")
    for at in range(8, 8 + 8 * count, 8):
        counter, offset = int.from_bytes(table[at : at + 4], "little"), int.from_bytes(table[at + 4 : at + 8], "little")
        if offset != ANY:
            found[counter] = text_of(table[offset:])
    return found


def collect(collector, most):
    chosen, collector.paths = [], []
    for guid in collector.guids()[:most]:
        found = collector.describe(guid)
        if len(found.get(1, b"")) < 32:
            continue
        multiple = int.from_bytes(found[1][28:32], "little") != 0
        chosen.append((guid, multiple))
        name, counters = text_of(found.get(9, b"")), names_of(found.get(10, b""))
        for counter, text in list(counters.items())[:8] if name else ():
            instance = "_Total" if multiple else ""
            path = f"\\{name}({instance})\\{text}" if multiple else f"\\{name}\\{text}"
            entry = {"path": path, "counterset": str(uuid.UUID(bytes_le=guid)), "counter_id": counter}
            collector.paths.append(dict(entry, instance=instance))
    collector.query(chosen)
    collector.registry()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", help="the folder to write, which must not exist")
    parser.add_argument("--machine", help="\\\\SERVER; this computer if not given")
    parser.add_argument("--sets", type=int, default=12, help="so many countersets (12)")
    parser.add_argument("--redact", action="append", default=[], metavar="WORD", help="overwrite this word everywhere")
    parser.add_argument("--keep-names", action="store_true", help="do not overwrite the names of computer and user")
    options = parser.parse_args()
    if sys.platform != "win32":
        parser.error("this runs on Windows")
    words = list(options.redact)
    if not options.keep_names:
        words += [platform.node(), getpass.getuser(), (options.machine or "").strip("\\")]
    folder = Path(options.out)
    folder.mkdir(parents=True)
    collector = Collector(folder, options.machine, words)
    collect(collector, options.sets)
    manifest = {
        "format": FORMAT,
        "system": platform.platform(),
        "machine": "remote" if options.machine else "local",
        "buffers": collector.buffers,
        "displayed": collector.displayed,
        "failures": collector.failures,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    kept = sum(entry["file"] is not None for entry in collector.buffers)
    calls, shown = len(collector.buffers), len(collector.displayed)
    sys.stdout.write(f"{calls} calls, {kept} buffers, {shown} displayed values in {folder}\n")


if __name__ == "__main__":
    main()

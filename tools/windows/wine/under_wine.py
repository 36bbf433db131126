"""Runs collect.py with the functions of Wine: its Python runs here, every call it makes of a DLL is made by caller.exe under Wine.

    python under_wine.py CALLER_EXE OUT [arguments of collect.py]

There is no Windows Python to be had as a Debian, PyPI or npm package, so the script itself cannot run under Wine. Its calls can:
names of functions, numbers of arguments and their types are those of the script, and a wrong one shows. Each call is held against
its prototype in the Windows SDK as well (perflib.h, pdh.h, winreg.h), for Wine lets pass what Windows may not; what Wine has not is
answered here, so that every line of the script runs.
"""

import ctypes
import os
import runpy
import subprocess
import sys
from pathlib import Path
from struct import pack, unpack

# What each function takes, by the pages of the Windows SDK: n a number or handle, b a buffer or null, w a wide string or
# null.
PROTOTYPES = {
    "PerfEnumerateCounterSet": "wbnb",
    "PerfEnumerateCounterSetInstances": "wbbnb",
    "PerfQueryCounterSetRegistrationInfo": "wbnnbnb",
    "PerfOpenQueryHandle": "wb",
    "PerfCloseQueryHandle": "n",
    "PerfAddCounters": "nbn",
    "PerfQueryCounterInfo": "nbnb",
    "PerfQueryCounterData": "nbnb",
    "RegConnectRegistryW": "wnb",
    "RegQueryValueExW": "nwbbbb",
    "RegCloseKey": "n",
    "PdhOpenQueryW": "wnb",
    "PdhAddEnglishCounterW": "nwnb",
    "PdhCollectQueryData": "n",
    "PdhGetFormattedCounterValue": "nnbb",
    "PdhCloseQuery": "n",
}


GUID = bytes.fromhex("a4d1b94c5e2f4c7b9d1e2f3a4b5c6d7e")
SYSTEM, UP_TIME = "System", "System Up Time"


def _text(text):
    return (text + "\0").encode("utf-16-le")


def made_up(name, given):
    """What functions answer that Wine has not: one counterset with one counter, which Wine's PDH knows."""
    if name == "PerfEnumerateCounterSet":
        return _filled(given[1], given[3], GUID, 16, given[2])
    if name == "PerfQueryCounterSetRegistrationInfo":
        record = pack("<IIQIiIIIIII", 674, 0x30240500, 0, 100, 0, 0, 0, 0, 0, 0, 0)
        names = pack("<IIII", 16 + len(_text(UP_TIME)), 1, 674, 16) + _text(UP_TIME)
        answers = {
            1: GUID + pack("<4I", 0, 100, 1, 0) + record,
            2: record,
            5: names,
            6: names,
            8: GUID,
            9: _text(SYSTEM),
            10: names,
        }
        return _filled(given[4], given[6], answers.get(given[2], _text("text")), 1, given[5])
    if name == "PerfEnumerateCounterSetInstances":
        return _filled(given[2], given[4], b"", 1, given[3])
    if name == "PerfQueryCounterInfo":
        return _filled(given[1], given[3], GUID + pack("<6I", 0, 40, 0xFFFFFFFF, 0xFFFFFFFF, 0, 0), 1, given[2])
    return None


def _filled(buffer, needed, data, element, room):
    """0 where the data fit into the buffer, else ERROR_NOT_ENOUGH_MEMORY; what is needed either way."""
    needed[:4] = pack("<I", len(data) // element)
    if len(data) > room * element:
        return 8
    if data:
        buffer[: len(data)] = data
    return 0


class Caller:
    """caller.exe under Wine. `missing` are the functions that Wine has not."""

    def __init__(self, program):
        environment = dict(os.environ, WINEDEBUG=os.environ.get("WINEDEBUG", "-all"))
        wine = os.environ.get("WINE", "wine")
        self._process = subprocess.Popen(
            [wine, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        self.called, self.missing = [], set()

    def has(self, dll, name):
        """Whether a DLL has a function."""
        self._send(dll.encode() + b"\0" + name.encode() + b"\0" + pack("<I", 0xFFFFFFFF))
        return bool(self._read(9)[0])

    def _send(self, request):
        self._process.stdin.write(pack("<I", len(request)) + request)
        self._process.stdin.flush()

    def call(self, dll, name, arguments):
        """The result, None where the DLL has no such function. `arguments` are numbers and bytearrays."""
        request = dll.encode() + b"\0" + name.encode() + b"\0" + pack("<I", len(arguments))
        for one in arguments:
            request += pack("<BQ", 0, one) if isinstance(one, int) else pack("<BI", 1, len(one)) + bytes(one)
        self._send(request)
        found, result = unpack("<BQ", self._read(9))
        for one in arguments:
            if isinstance(one, bytearray) and one:
                one[:] = self._read(len(one))
        self.called.append(name)
        return result if found else None

    def _read(self, length):
        data = self._process.stdout.read(length)
        if len(data) != length:
            sys.exit(f"caller.exe ended in {self.called[-1:] or 'its first call'}")
        return data

    def close(self):
        self._process.stdin.close()
        self._process.wait()


class Function:
    def __init__(self, caller, dll, name):
        self._caller, self._dll, self._name = caller, dll, name
        self.restype = ctypes.c_int

    def __call__(self, *arguments):
        kinds = PROTOTYPES[self._name]
        if len(arguments) != len(kinds):
            sys.exit(f"{self._name} takes {len(kinds)} arguments, not {len(arguments)}")
        given, back = [], []
        for place, (argument, kind) in enumerate(zip(arguments, kinds, strict=True)):
            value, target = self._marshalled(argument, kind, place + 1)
            given.append(value)
            if target is not None:
                back.append((value, target))
        if self._name in self._caller.missing:
            result = made_up(self._name, given)
        else:
            result = self._caller.call(self._dll, self._name, given)
        if result is None:
            sys.exit(f"{self._dll} has no {self._name}")
        for value, target in back:
            ctypes.memmove(target, bytes(value), len(value))
        return self.restype(result & 0xFFFFFFFF).value

    def _marshalled(self, argument, kind, place):
        """What goes to caller.exe, and where it is written back to."""
        where = f"argument {place} of {self._name}"
        if argument is None:
            if kind == "n":
                sys.exit(f"{where} is a number, not a null pointer")
            return 0, None
        if isinstance(argument, (ctypes.c_wchar_p, str)):
            text = argument if isinstance(argument, str) else argument.value
            self._expect(kind, "w", where)
            return bytearray((text + "\0").encode("utf-16-le")), None
        if isinstance(argument, bytes):
            self._expect(kind, "b", where)
            return bytearray(argument), None
        if isinstance(argument, ctypes.Array):
            self._expect(kind, "b", where)
            return bytearray(argument), ctypes.addressof(argument)
        if type(argument).__name__ == "CArgObject":
            self._expect(kind, "b", where)
            return bytearray(argument._obj), ctypes.addressof(argument._obj)
        self._expect(kind, "n", where)
        value = argument if isinstance(argument, int) else argument.value or 0
        return value & 0xFFFFFFFFFFFFFFFF, None

    @staticmethod
    def _expect(kind, given, where):
        if kind != given:
            sys.exit(f"{where} is {kind}, and {given} was given")


class Dll:
    """What ctypes.WinDLL is on Windows."""

    def __init__(self, caller, name):
        self._caller, self._name = caller, name

    def __getattr__(self, name):
        if name not in PROTOTYPES:
            raise SystemExit(f"{name} has no prototype here")
        if not self._caller.has(self._name, name):
            self._caller.missing.add(name)
        function = Function(self._caller, self._name, name)
        setattr(self, name, function)
        return function


def main():
    caller = Caller(sys.argv[1])
    script = Path(__file__).resolve().parent.parent / "collect.py"
    ctypes.WinDLL = lambda name: Dll(caller, name)
    sys.platform = "win32"
    sys.argv = [str(script), *sys.argv[2:]]
    runpy.run_path(str(script), run_name="__main__")
    caller.close()
    sys.stdout.write(f"Wine answered {len(caller.called)} calls of {', '.join(sorted(set(caller.called)))}\n")
    sys.stdout.write(f"made up, for Wine has not: {', '.join(sorted(caller.missing)) or 'nothing'}\n")


if __name__ == "__main__":
    main()

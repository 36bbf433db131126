"""`python -m rig.compare probe.pcapng --secrets keys.json`: where a server that was probed answers otherwise than the model.

The same script is sent to the model, on this machine. Calls are put side by side by what was asked: method, RequestCode, language,
level, syntax, kind of room, kind of handle. Of the answers the outcome is compared, and of each field whether it is zero, all ones,
another number, or text. No name, address, GUID or counter value is printed, so a result may be passed on.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from analyzer.probe.dcerpc_client import Credentials
from analyzer.probe.probe_run import Pace, Target, run_probe
from analyzer.probe.probe_script import Options
from rig.check import Commands, Record
from tests.probe.server import DOMAIN, OTHER, PASSWORD, USER, Server
from tests.truth import PCQ

Key = tuple[str, ...]
_ALL = 0xFFFFFFFF


def shapes(calls: Sequence[Record]) -> dict[Key, dict[str, set[str]]]:
    """By what was asked: outcomes under "outcome", and of each field of the answers what kinds of values it had."""
    found: dict[Key, dict[str, set[str]]] = {}
    for call in calls:
        if call["record"] != "call" or call["interface"]["uuid"] != PCQ or call["state"] != "complete":
            continue
        fields = found.setdefault(_asked(call), {})
        fields.setdefault("outcome", set()).add(_outcome(call))
        answer = call["response"] or {}
        for name, kind in (*_kinds(answer.get("params") or {}, ""), *_kinds(answer.get("buffer") or {}, "lpData")):
            fields.setdefault(f"{name}, {_outcome(call)}", set()).add(kind)
    return found


def _outcome(call: Record) -> str:
    if call["fault"] is not None:
        return f"fault {call['fault']:#x} {call['fault_name'] or ''}".strip()
    return str(call["status_name"] or f"status {call['status']:#x}")


def _asked(call: Record) -> Key:
    """What was asked, without what is the server's own."""
    params = (call["request"] or {}).get("params") or {}
    handle = (params.get("hQuery") or params.get("phQuery") or {}).get("uuid")
    whose = "" if handle is None else "handle of the server" if call["handle"] else "another handle"
    room = params.get("dwInSize")
    size = "" if room is None else "no room" if room == 0 else "beyond any range" if room >= _ALL else "some room"
    words = [f"{name} {params[name]}" for name in ("RequestCode", "RequestLCID", "dwAdd") if name in params]
    # A language may be a counter's number.
    words = [word for word in words if params.get("RequestCode") != 2 or not word.startswith("RequestLCID")]
    return (str(call["method"] or f"opnum {call['opnum']}"), *words, size, whose, call["auth"]["level"], call["syntax"])


def _kinds(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Each field below a value, and the kind of it. A SYSTEMTIME is one field: a zero millisecond is chance."""
    if isinstance(value, dict) and "milliseconds" in value:
        yield path, "a time" if any(value.values()) else "zero"
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _kinds(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for inner in value:
            yield from _kinds(inner, f"{path}[]")
    else:
        yield path, _kind(value)


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return "text" if value else "empty text"
    if value is None:
        return "absent"
    return {0: "zero", _ALL: "all ones", -1: "all ones"}.get(value, "a number")


def compared(model: Sequence[Record], server: Sequence[Record]) -> Iterator[str]:
    """Where the server differs, a line each: what was asked, the field, what the model had there and what the server had."""
    ours, theirs = shapes(model), shapes(server)
    for key, fields in theirs.items():
        if key not in ours:
            continue
        words = ", ".join(word for word in key if word)
        for name in sorted({*fields, *ours[key]}):
            had, has = ours[key].get(name), fields.get(name)
            # A field of an outcome that one of them never had is told of by that outcome.
            if had is None or has is None or has <= had:
                continue
            yield f"{words}: {name}: {' or '.join(sorted(had))} in the model, also {' and '.join(sorted(has - had))} here"
    both = len(set(ours) & set(theirs))
    yield f"{both} of {len(ours)} kinds of calls were compared"


def of_model(folder: Path) -> list[Record]:
    """The calls of the script, as the model answers them."""
    server = Server()
    try:
        who, other = Credentials(USER, DOMAIN, PASSWORD), Credentials(OTHER, DOMAIN, PASSWORD)
        target = Target("127.0.0.1", server.port, is_pipe=False)
        done = run_probe(target, who, Options(polls=3, interval=0, other=other), Pace(1e6, 5.0), "own")
    finally:
        server.close()
    capture, keys = folder / "model.pcapng", folder / "model.json"
    capture.write_bytes(done.capture)
    keys.write_bytes(done.keys)
    return Commands(capture, keys).records("timeline")


def main(words: Sequence[str] | None = None) -> int:
    """Prints the differences; 10 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m rig.compare", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("capture", type=Path)
    parser.add_argument("--secrets", type=Path, required=True)
    chosen = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="rig") as folder:
        model = of_model(Path(folder))
    lines = list(compared(model, Commands(chosen.capture, chosen.secrets).records("timeline")))
    sys.stdout.write("\n".join(lines) + "\n")
    return 10 if len(lines) > 1 else 0


if __name__ == "__main__":
    sys.exit(main())

"""Compiles ksy/*.ksy into analyzer/interfaces/buffers/_generated with kaitai-struct-compiler 0.11.0.

`python ksy/compile.py` writes three things there: `positions/` (parsers that record where each field was read), `plain/` (parsers
of buffers without positions) and `specs.json` (the descriptions themselves, for names and meanings at run time). It also writes,
into `standalone/`, a description without parameters of each stub, and into ../upstream/kaitai, what the gallery of Kaitai Struct
may take, in its folders and under its names. Of captures/*.ksy, the capture files of Windows, it writes the
descriptions into analyzer/capture/_generated and the parsers, which only tests use, into tests/build/_generated. `--check` writes
nothing, compiles again and reports what differs. The first run fetches the compiler: `npm ci` in this folder.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "analyzer" / "interfaces" / "buffers" / "_generated"
CAPTURES = HERE.parent / "analyzer" / "capture" / "_generated"
PARSERS = HERE.parent / "tests" / "build" / "_generated"
STANDALONE = HERE / "standalone"
GALLERY = HERE.parent / "upstream" / "kaitai"
PACKAGES = {
    "buffers": {
        "__init__.py": "What ksy/compile.py writes; see ksy/.",
        "plain/__init__.py": "Parsers of buffers compiled from ksy/.",
        "positions/__init__.py": "Parsers compiled from ksy/, which record where each field was read.",
    },
    "parsers": {"__init__.py": "Parsers of capture files compiled from ksy/captures/."},
}


# What stubs without parameters are called, of which interface.
STUBS = {
    "ms_pcq_stubs": ("perflib_v2", "[MS-PCQ]"),
    "ms_rrp_stubs": ("winreg", "[MS-RRP]"),
    "ms_scmr_stubs": ("svcctl", "[MS-SCMR]"),
}
STUB = """\
# Written by ksy/compile.py.
meta:
  id: {id}
  title: "{document} {method}, {side}: a stub in little-endian NDR 2.0, without parameters"
  xref:
    msopenspecs: {xref}
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
  imports:
    - ../{spec}
doc: The stub of opnum {opnum}, without authentication padding and verification trailer.
doc-ref: {doc_ref}
seq:
  - id: stub
    -orig-id: {method}
    type: {spec}({arguments})
"""


# What the gallery may take: its file, ours, and what is stated there besides (CONTRIBUTING.md of kaitai_struct_formats).
OF_GALLERY = {
    "log/windows_etl.ksy": (
        "captures/etl.ksy",
        "  application: Event Tracing for Windows (netsh trace, pktmon, logman)\n  file-extension: etl\n",
    ),
    "network/windows_etl_packets.ksy": (
        "captures/etl_packets.ksy",
        "  application: netsh trace and pktmon of Windows\n",
    ),
    **{
        f"network/{name}.ksy": (f"{name}.ksy", "  application: PerflibV2 of Windows\n")
        for name in (
            *("ms_dtyp", "ms_pcq", "ms_pcq_counter_info", "ms_pcq_counterset_info", "ms_pcq_identifier_list"),
            *("ms_pcq_instance_list", "ms_pcq_perf_data", "ms_pcq_string", "ms_pcq_string_table"),
        )
    },
    "network/winperf.ksy": ("winperf.ksy", "  application: HKEY_PERFORMANCE_DATA of Windows\n"),
}


class CompileError(Exception):
    """One sentence for whoever ran the script."""


def fetch() -> str:
    """Fetches the compiler and the runtime for JavaScript where they are missing; where node is."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise CompileError(
            "node and npm are needed to compile the .ksy files, and were not found (Debian: apt install npm)."
        )
    wanted = json.loads((HERE / "package.json").read_text("utf-8"))["devDependencies"]
    with (HERE / "package-lock.json").open("rb") as lock:
        # Tests that run side by side fetch once.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all((HERE / "node_modules" / name).is_dir() for name in wanted):
            fetched = subprocess.run(
                [npm, "ci", "--no-audit", "--no-fund"], cwd=HERE, capture_output=True, text=True, check=False
            )
            if fetched.returncode:
                error = fetched.stderr.strip()
                raise CompileError(f"the compiler could not be fetched: npm ci in {HERE} failed.\n{error}")
    return node


def compiled() -> dict[str, dict[str, str]]:
    """Every generated file by its path below the folder it goes to: `buffers`, `captures` and `parsers`."""
    node = fetch()
    ran = subprocess.run([node, str(HERE / "compile.cjs")], cwd=HERE, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise CompileError(ran.stderr.strip() or "the compiler failed without a message.")
    folders: dict[str, dict[str, str]] = json.loads(ran.stdout)
    for folder, packages in PACKAGES.items():
        folders[folder].update((name, f'"""{text}"""\n') for name, text in packages.items())
    return folders


def standalone(specs: dict[str, Any]) -> dict[str, str]:
    """A description without parameters of each stub, by its file's name below `standalone/`."""
    made = {}
    for spec, (prefix, document) in STUBS.items():
        node = specs[spec]
        # Behind opnum and direction come the syntax, the byte order, and for PerflibV2 whether there is a referent.
        others = ["false"] * (len(node["params"]) - 2)
        for field in node["seq"]:
            for opnum, name in field["type"]["cases"].items():
                arguments = [opnum, "true" if field["id"] == "response" else "false", *others]
                made[f"{prefix}_{name}.ksy"] = STUB.format(
                    id=f"{prefix}_{name}",
                    document=document,
                    method=node["types"][name]["-orig-id"],
                    side=field["id"],
                    xref=node["meta"]["xref"]["msopenspecs"],
                    spec=spec,
                    opnum=opnum,
                    doc_ref=node["types"][name]["doc-ref"],
                    arguments=", ".join(arguments),
                )
    return made


def gallery() -> dict[str, str]:
    """The files for the gallery by their places in it. The id of a description is the name of its file there."""
    made = {}
    for place, (source, stated) in OF_GALLERY.items():
        text = (HERE / source).read_text("utf-8")
        head, mark, rest = text.partition("  xref:\n")
        ours, theirs = Path(source).stem, Path(place).stem
        made[place] = head.replace(f"  id: {ours}\n", f"  id: {theirs}\n") + stated + mark + rest
    return made


def differences(folder: Path, files: dict[str, str], present: set[str]) -> list[str]:
    """How the `present` files of a folder differ from what should be there, nothing where they do not."""
    found = []
    for name, text in sorted(files.items()):
        path = folder / name
        if not path.is_file():
            found.append(f"{name} is missing")
        elif path.read_bytes() != text.encode():
            found.append(f"{name} differs")
    found.extend(f"{name} has no source" for name in sorted(present - files.keys()))
    return [f"{folder.relative_to(HERE.parent).as_posix()}/{line}" for line in found]


def generated(folder: Path) -> set[str]:
    """The files in a folder of what is generated."""
    return {
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"
    }


def stubs() -> set[str]:
    """The descriptions of stubs without parameters."""
    return {path.name for prefix, _ in STUBS.values() for path in STANDALONE.glob(f"{prefix}_*.ksy")}


def main() -> int:
    parser = argparse.ArgumentParser(description="Compile the .ksy files into the package.")
    parser.add_argument("--check", action="store_true", help="write nothing; compare with what is committed")
    parser.add_argument("--fetch", action="store_true", help="fetch the compiler, where it is missing, and no more")
    options = parser.parse_args()
    try:
        if options.fetch:
            fetch()
            return 0
        files = compiled()
    except CompileError as error:
        print(f"ksy/compile.py: {error}", file=sys.stderr)  # noqa: T201
        return 2
    alone = standalone(json.loads(files["buffers"]["specs.json"]))
    folders = {TARGET: files["buffers"], CAPTURES: files["captures"], PARSERS: files["parsers"]}
    if options.check:
        found = differences(STANDALONE, alone, stubs())
        found += differences(GALLERY, gallery(), {path for path in generated(GALLERY) if path.endswith(".ksy")})
        for folder, made in folders.items():
            found += differences(folder, made, generated(folder))
        for line in found:
            print(f"{line}; run python ksy/compile.py", file=sys.stderr)  # noqa: T201
        return 1 if found else 0
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    for name in stubs() - alone.keys():
        (STANDALONE / name).unlink()
    for folder, made in (*folders.items(), (STANDALONE, alone), (GALLERY, gallery())):
        for name, text in made.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())

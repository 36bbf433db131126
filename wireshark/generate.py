"""Writes the dissectors for Wireshark, in Lua and in C, from the descriptions in ksy/ and from runtime.lua and runtime.c.

`python -m wireshark.generate` writes, `--check` compares with what is committed. What is in the descriptions comes from them alone:
fields with the specification's spelling, types, value tables, conditions and expressions. The two parts that are written by hand
read values, show them and find the calls.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from wireshark import in_c, in_lua

HERE = Path(__file__).resolve().parent
TARGETS: dict[Path, Callable[[], str]] = {
    HERE / "pcq.lua": lambda: in_lua.Generator().run(HERE / "runtime.lua"),
    HERE.parent / "upstream/wireshark/epan/dissectors/packet-dcerpc-pcq.c": lambda: in_c.source(HERE / "runtime.c"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the dissectors for Wireshark from the descriptions in ksy/.")
    parser.add_argument("--check", action="store_true", help="write nothing; compare with what is committed")
    options = parser.parse_args()
    different = []
    for target, make in TARGETS.items():
        made = make()
        if not options.check:
            target.write_text(made, "utf-8")
        elif not target.is_file() or target.read_text("utf-8") != made:
            different.append(target.relative_to(HERE.parent).as_posix())
    if different:
        print(f"{', '.join(different)}: not as written; run python -m wireshark.generate", file=sys.stderr)  # noqa: T201
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())

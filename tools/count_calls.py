"""How many functions of ours one sealed answer goes through, package by package.

    python -m tools.count_calls [--list]

A capture is read up to the frame before an answer and up to the answer, with a tracer that counts each function that begins: the
difference is what one more answer takes. With `--list`, every function is named. Generators count once, however often they go on.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING

from tools.packages import package_of

if TYPE_CHECKING:
    from analyzer.results.analysis import Analysis

ROOT = Path(__file__).resolve().parent.parent
CAPTURE = ROOT / "captures" / "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap"
# The frame that carries the answer of the third of three polls alike: 3,432 bytes of stub, sealed by NTLM.
ANSWER = 550

Counts = Mapping[tuple[str, str], int]


def read_up_to(frame: int) -> None:
    """From the file to packed calls, in order."""
    _analysis(frame)


def parquet_up_to(frame: int) -> None:
    """From the file to a table of samples."""
    from analyzer.screens.formats.table_writer import tables_of, write_pieces
    from analyzer.screens.views.samples import Samples

    write_pieces(tables_of(Samples(_analysis(frame))), io.BytesIO())


def calls_of_answer(job: Callable[[int], None]) -> Counts:
    """How often each function begins for the answer, by file and name."""
    with_it, without = _counted(job, ANSWER), _counted(job, ANSWER - 1)
    return {key: more for key, count in with_it.items() if (more := count - without[key]) > 0}


def _analysis(frame: int) -> Analysis:
    from analyzer.auth.keyring import Keyring
    from analyzer.capture.capture_reader import ReadBound
    from analyzer.pipeline.run import analyze

    keyring = Keyring.load(CAPTURE.with_suffix(".secrets.json"))
    return analyze([CAPTURE], keyring, pdus=False, bound=ReadBound(frame))


def _counted(job: Callable[[int], None], frame: int) -> Counter[tuple[str, str]]:
    job(frame)  # loads modules and fills caches
    return begun(lambda: job(frame))


def begun(work: Callable[[], object]) -> Counter[tuple[str, str]]:
    """How often each function of ours begins, by file and name."""
    package = f"{ROOT / 'analyzer'}/"
    found: dict[CodeType, int] = {}
    foreign: set[CodeType] = set()

    def count(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code in foreign:
            return
        if code not in found:
            if not code.co_filename.startswith(package):
                foreign.add(code)
                return
            found[code] = 0
        found[code] += not _goes_on(frame)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    counts = Counter[tuple[str, str]]()
    for code, number in found.items():
        counts[code.co_filename.removeprefix(package), code.co_qualname] += number
    return counts


def _goes_on(frame: FrameType) -> bool:
    """Whether a generator goes on after a `yield` or `await`: the argument of its RESUME instruction states so."""
    return frame.f_code.co_code[frame.f_lasti + 1] & 3 != 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name every function")
    options = parser.parse_args()
    for title, job in (("to the packed call", read_up_to), ("to a row group of Parquet", parquet_up_to)):
        counts = calls_of_answer(job)
        packages: Counter[str] = Counter()
        for (file, _), number in counts.items():
            packages[package_of(Path("analyzer", file))] += number
        shares = ", ".join(f"{package} {number}" for package, number in packages.most_common())
        sys.stdout.write(f"{title}: {sum(counts.values())} calls of {len(counts)} functions ({shares})\n")
        for (file, name), number in sorted(counts.items()) if options.list else ():
            sys.stdout.write(f"    {number:3} {file} {name}\n")


if __name__ == "__main__":
    main()

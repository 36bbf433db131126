"""Rules about the header of a PERF_DATA_BLOCK: signature, lengths and clocks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from analyzer.core.times import NS_PER_S, SYSTEMTIME_RANGES, filetime_ns, systemtime_culprit, systemtime_moment
from analyzer.questions.audit.call_evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule_registry import Level, Watch, of_calls, rule
from analyzer.questions.audit.rule_verdicts import Judgement, Severity, failed, inconclusive, judge, passed, warned
from analyzer.questions.audit.winperf_walk import (
    CUT_OFF,
    HEADER_LENGTH,
    MAX_FREQUENCY,
    NO_OBJECTS,
    READS,
    WinperfBlock,
    header_of,
    of_blocks,
)
from analyzer.results.methods.winreg import SIGNATURES

SIGNATURE, BYTE_ORDER, VERSION = "WP-DB-R01", "WP-DB-R02", "WP-DB-R03"


@rule("PCQ801", Level.WINPERF, Severity.ERROR, "winperf-header-is-foreign")
@of_blocks((SIGNATURE, BYTE_ORDER, VERSION))
def winperf_header_unknown(call: CallEvidence, block: WinperfBlock) -> Iterator[Judgement]:
    """A block of performance data does not begin like one.

    Looks for: a signature other than the characters `PERF`, a byte order other than 1 (little) or 0 (big), and another Version
    or Revision than 1 (a Revision of 0 is old, and allowed).

    Why it matters: this is how a reader knows the block, and in which order to read every number in it.

    Specification: winperf.h reference, PERF_DATA_BLOCK: Signature holds the UTF-16 characters PERF, LittleEndian is TRUE or
    FALSE, Version and Revision are those of the structure.

    Flagged: LittleEndian 2; a warning for Version 2.

    Accepted: LittleEndian 0, which other systems than Windows may send.

    Silent: where the answer is sealed, was not captured, or is no block; inconclusive for what lies behind damage.
    """
    signature, fields = call.reply.data[:8], block.fields
    is_kept, message = signature in SIGNATURES, "the block does not begin with its signature"
    yield judge(is_kept, call, "lpData.signature", message, SIGNATURES[0].hex(" "), signature.hex(" "), of=SIGNATURE)
    if not is_kept or "revision" not in fields:
        yield inconclusive(CUT_OFF, call, BYTE_ORDER, VERSION)
        return
    order, message = fields["little_endian"], "the byte order is neither little nor big"
    yield judge(order in (0, 1), call, "lpData.little_endian", message, "1 or 0", order, of=BYTE_ORDER)
    version, revision = fields["version"], fields["revision"]
    path, message = "lpData.version" if version != 1 else "lpData.revision", "the version of the block is not known"
    is_kept, seen = version == 1 and revision in (0, 1), f"{version}.{revision}"
    yield judge(is_kept, call, path, message, "1.1 or 1.0", seen, of=VERSION, say=warned)


TOTAL, HEADER, COUNT = "WP-DB-R04", "WP-DB-R05", "WP-DB-R06"
NAME, LAYOUT, DEFAULT = "WP-DB-R11", "WP-DB-R12", "WP-DB-R07"
_TOTAL_AT, _FEWER = "lpData.total_byte_length", "the answer has fewer bytes than TotalByteLength says"


@rule("PCQ805", Level.WINPERF, Severity.ERROR)
@of_blocks((TOTAL, HEADER, COUNT, NAME, LAYOUT, DEFAULT))
def winperf_lengths_disagree(call: CallEvidence, block: WinperfBlock) -> Iterator[Judgement]:
    """The lengths of a block of performance data do not lead from its header over its objects to its end.

    Looks for:

    - A TotalByteLength that is not where the last object ends, or beyond the bytes received.
    - A HeaderLength below the 88 bytes of the header, or outside the block.
    - Another number of objects than NumObjectTypes says.
    - A system name outside the header.
    - Clocks where they would be without the padding behind SystemTime.

    Why it matters: readers go from structure to structure by these lengths. One that trusts a wrong one reads values of nothing.

    Specification: winperf.h reference, PERF_DATA_BLOCK:

    - TotalByteLength is the size of the whole structure, objects included.
    - HeaderLength is the offset of the first object.
    - NumObjectTypes is the number of objects.
    - SystemNameOffset and SystemNameLength are the place of the name.

    Flagged: TotalByteLength 2672 where the objects end at byte 2784 (smbd leaves out the header).

    Accepted: bytes behind TotalByteLength; the buffer of a registry value may be larger.

    Silent: where the answer is sealed, was not captured, or is no block. The rule is inconclusive for what lies behind damage.
    Where TotalByteLength goes beyond the answer, it is inconclusive for a HeaderLength and objects that may lie there.
    """
    if "header_length" not in block.fields:
        yield inconclusive(CUT_OFF, call)
        return
    header, total = block.fields["header_length"], block.fields["total_byte_length"]
    fits, is_cut = HEADER_LENGTH <= header <= block.size, total > block.size
    if is_cut and header > block.size:
        # Only TotalByteLength is wrong for certain: what it counts beyond the answer may have been meant.
        yield inconclusive(_FEWER, call, HEADER)
    else:
        expected = f"at least {HEADER_LENGTH}, and inside the block"
        if block.header_length is not None:
            expected = f"{block.header_length}, where the objects begin"
        is_kept, message = fits and block.header_length is None, "HeaderLength does not lead to the first object"
        seen = f"{header} in a block of {block.size} bytes"
        yield judge(is_kept, call, "lpData.header_length", message, expected, seen, of=HEADER)
    if not fits or "system_name_offset" not in block.fields:
        if is_cut:
            yield _beyond(call, block)
        yield inconclusive(CUT_OFF, call, *(() if is_cut else (TOTAL,)), COUNT, NAME, LAYOUT, DEFAULT)
        return
    yield passed(DEFAULT)
    yield _system_name(call, block)
    yield _clocks_place(call, block)
    if block.header_length is None:
        yield from _objects(call, block)
    else:
        yield inconclusive(NO_OBJECTS, call, TOTAL, COUNT)


def _beyond(call: CallEvidence, block: WinperfBlock) -> Judgement:
    message, expected = "TotalByteLength says more than was received", f"at most {block.size}"
    return failed(call, _TOTAL_AT, message, expected, block.fields["total_byte_length"], of=TOTAL)


def _system_name(call: CallEvidence, block: WinperfBlock) -> Judgement:
    start, length = block.fields["system_name_offset"], block.fields["system_name_length"]
    stop = block.header_length or block.fields["header_length"]
    is_kept = length == 0 or (start >= HEADER_LENGTH and start + length <= stop and length % 2 == 0)
    message = "the system name does not lie in the header, or has an odd length"
    expected, seen = f"bytes {HEADER_LENGTH} to {stop}", f"bytes {start} to {start + length}"
    return judge(is_kept, call, "lpData.system_name_offset", message, expected, seen, of=NAME)


def _clocks_place(call: CallEvidence, block: WinperfBlock) -> Judgement:
    """A header without the 4 bytes of padding behind SystemTime has its clocks, and all that follows, 4 bytes earlier."""
    unpadded = int.from_bytes(call.reply.data[60:68], "little" if block.fields["little_endian"] else "big")
    is_kept = 0 < block.fields["perf_freq"] < MAX_FREQUENCY or not 0 < unpadded < MAX_FREQUENCY
    message = "the clocks stand where they would be without padding behind SystemTime"
    expected, seen = "PerfTime at byte 56", "PerfTime at byte 52"
    return judge(is_kept, call, "lpData.perf_time", message, expected, seen, of=LAYOUT)


def _objects(call: CallEvidence, block: WinperfBlock) -> Iterator[Judgement]:
    total, number = block.fields["total_byte_length"], block.fields["num_object_types"]
    # Of one that would begin where the bytes end, nothing was read.
    objects = [item for item in block.objects if "total_byte_length" in item.fields]
    end = block.fields["header_length"] + sum(item.fields["total_byte_length"] for item in objects)
    if total > block.size:
        yield _beyond(call, block)
    else:
        yield judge(
            total == end, call, _TOTAL_AT, "TotalByteLength is not where the last object ends", end, total, of=TOTAL
        )
    is_kept = len(objects) == number and end <= block.size
    if not is_kept and total > block.size:
        yield inconclusive(_FEWER, call, COUNT)
    else:
        message, seen = "there are not as many objects as NumObjectTypes says", f"{len(objects)} in {block.size} bytes"
        yield judge(is_kept, call, "lpData.num_object_types", message, number, seen, of=COUNT)


SYSTEM, COUNTER, FILETIME, WHICH = "WP-DB-R08", "WP-DB-R09", "WP-DB-R10", "WP-DB-R13"
_FIRST, _LAST = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) * NS_PER_S for year in (1980, 2200))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# [MS-DTYP] section 2.3.13: a SYSTEMTIME begins with 1601.
_FIRST_YEAR = 1601


@rule("PCQ810", Level.WINPERF, Severity.ERROR)
@of_calls((SYSTEM, COUNTER, FILETIME, WHICH), READS)
class WinperfClockImplausible(Watch[CallEvidence]):
    """The clocks of a block of performance data cannot be right.

    Looks for:

    - A SystemTime that is no date, or more than a second from PerfTime100nSec (a warning).
    - A PerfTime100nSec before 1980 or after 2200.
    - A PerfFreq of zero.
    - A PerfTime below that of a block the server sent before, at the same frequency.

    Why it matters: rates are differences of values over differences of these clocks.

    Specification: winperf.h reference, PERF_DATA_BLOCK: SystemTime is the time of the measurement in UTC, PerfTime the value of
    the performance counter, PerfFreq its frequency. PerfTime100nSec is the system time in 100 ns. Types with the object-timer
    bit take the clock of their object instead.

    Flagged: PerfFreq 0; PerfTime 987654321, then 900000000.

    Accepted: the same PerfTime twice; another frequency with a PerfTime that begins anew (the machine was started again).

    Silent: where the answer is sealed, was not captured, or is no block; inconclusive for what lies behind damage. A lower PerfTime
    is not judged if the call was sent before the other was answered, or if frames are in another order than their bytes.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._last: dict[str, tuple[int, int, int]] = {}
        self._evidence = evidence

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        fields = header_of(call)
        if fields is None:
            return
        if "perf_time_100ns" not in fields:
            yield inconclusive(CUT_OFF, call, SYSTEM, COUNTER, FILETIME)
            return
        yield passed(WHICH)
        yield from _dates(call, fields)
        ticks, frequency = fields["perf_time"], fields["perf_freq"]
        before = self._last.get(call.server)
        self._last[call.server] = ticks, frequency, call.number
        if frequency <= 0:
            message = "the performance counter has no frequency"
            yield failed(call, "lpData.perf_freq", message, "above 0", frequency, of=COUNTER)
        elif before is not None and before[1] == frequency and ticks < before[0]:
            if not self._is_order_certain(before[2], call):
                yield inconclusive("which of two blocks the server made first is not certain", call, COUNTER)
                return
            message = "the performance counter went back"
            yield failed(call, "lpData.perf_time", message, f"at least {before[0]}", ticks, of=COUNTER)
        else:
            yield passed(COUNTER)

    def _is_order_certain(self, number: int, call: CallEvidence) -> bool:
        """Whether a rule may compare the clocks of two winperf headers: the server answered the earlier call before this one was
        sent, by frames whose order nothing contradicts."""
        before = self._evidence.call(number).response
        assert before is not None
        return before.side.first_time_ns <= call.time_ns and self._evidence.is_in_order(number, call)


def _dates(call: CallEvidence, fields: dict[str, Any]) -> Iterator[Judgement]:
    time_ns, system = filetime_ns(fields["perf_time_100ns"]), fields["system_time"]
    is_plausible, message = _FIRST <= time_ns < _LAST, "PerfTime100nSec is no date that can be meant"
    path, seen = "lpData.perf_time_100ns", fields["perf_time_100ns"]
    yield judge(is_plausible, call, path, message, "1980 to 2200", seen, of=FILETIME)
    meant = _EPOCH + timedelta(microseconds=time_ns // 1000) if is_plausible else None
    culprit = systemtime_culprit([system[name] for name in SYSTEMTIME_RANGES], meant)
    path = f"lpData.system_time.{culprit}" if culprit is not None else "lpData.system_time"
    shown = "{year}-{month}-{day} {hour}:{minute}:{second}.{milliseconds}".format(**system)
    moment = systemtime_moment(**{name: value for name, value in system.items() if name != "day_of_week"})
    if moment is None or moment.year < _FIRST_YEAR:
        yield failed(call, path, "SystemTime is no date", "a SYSTEMTIME", shown, of=SYSTEM)
        return
    apart = abs((moment - _EPOCH) // timedelta(microseconds=1) * 1000 - time_ns)
    message, seen = "SystemTime and PerfTime100nSec are more than a second apart", f"{apart / NS_PER_S:.3f} s"
    yield judge(apart <= NS_PER_S, call, path, message, "at most 1 s", seen, of=SYSTEM, say=warned)

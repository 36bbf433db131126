"""Every field of well-formed messages, broken in each way the catalogue forbids: the responsible rule speaks, no unrelated one.

`TABLES` describe each field in which ways it can be broken, which rule has to say so, and which others may, because what they
judge is broken by it too: a counterset registered under another id makes a later answer name a counter that is not registered.
`UNSEEN` lists the fields that can hold anything, or whose breaking no traffic shows, with the reason. A field that is in neither
fails the test: whoever adds to the full_conversation has to say what may not be done to it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.interfaces.buffers import Field
from analyzer.questions.audit.call_evidence import Evidence, SideEvidence
from analyzer.questions.audit.engine import Audit
from analyzer.questions.audit.findings import Finding
from analyzer.transport.rpc.exchange import Exchange
from tests.build.calls import analysis_of, with_stub
from tests.questions.audit import examples
from tests.questions.audit.conversation import full_conversation, registry

Change = Callable[[bytes], bytes]


def to(value: int) -> Change:
    return lambda raw: (value % (1 << 8 * len(raw))).to_bytes(len(raw), "little")


def by(difference: int) -> Change:
    return lambda raw: to(int.from_bytes(raw, "little") + difference)(raw)


def text(value: str) -> Change:
    """The beginning, in UTF-16; what follows stays."""
    return lambda raw: value.encode("utf-16-le", "surrogatepass").ljust(len(raw), b"\0")[: len(raw)]


def endless(raw: bytes) -> bytes:
    """Without a NUL."""
    return b"x\0" * (len(raw) // 2)


def flipped(raw: bytes) -> bytes:
    return bytes(byte ^ 0x5A for byte in raw)


@dataclass(frozen=True)
class Broken:
    """Ways to break a field: `caught_by` has to speak (one of them, where it depends on what stands beside), `also` may.

    `where` narrows them to some paths.
    """

    ways: tuple[Change, ...]
    caught_by: str
    also: str = ""
    where: str = ""


def broken(*ways: Change, by_rule: str, also: str = "", where: str = "") -> Broken:
    return Broken(ways, by_rule, also, where)


NO_WIN32 = 0xC0000034
# What follows from counters or handles that are not what they were stated to be.
LISTS = "PCQ435 PCQ445 PCQ546 PCQ720"

STUBS: dict[str, tuple[Broken, ...]] = {
    r"[0123]\.request\.machine\.string\.max_count": (
        broken(by(-1), by_rule="PCQ201", also="PCQ122"),
        broken(by(1), by_rule="PCQ208"),
    ),
    r"[0123]\.request\.machine\.string\.offset": (broken(to(1), by_rule="PCQ201", also="PCQ122"),),
    r"[0123]\.request\.machine\.string\.actual_count": (
        # Everything behind it is then read from two bytes before.
        broken(by(-1), by_rule="PCQ208", also="PCQ123 PCQ204 PCQ210 PCQ215 PCQ701 PCQ702"),
        broken(by(1), by_rule="PCQ201", also="PCQ122"),
    ),
    r"[0123]\.request\.machine\.string\.data": (broken(endless, by_rule="PCQ208"),),
    r"[01256]\.request\.in_size": (
        broken(to(NO_WIN32), by_rule="PCQ215", also="PCQ123 PCQ204"),
        broken(by(-8), by_rule="PCQ204"),
    ),
    r"7\.request\.in_size": (
        broken(to(NO_WIN32), by_rule="PCQ215", also="PCQ122 PCQ123 PCQ204"),
        broken(by(8), by(-8), by_rule="PCQ204", also="PCQ122"),
    ),
    r"[01256]\.response\.out_size": (broken(by(8), by(-1), by_rule="PCQ206", also="PCQ204"),),
    r"[01256]\.response\.rtn_size": (broken(by(8), by(-1), by_rule="PCQ206"),),
    r"[01256]\.response\.lp_data\.max_count": (broken(by(8), by(-1), by_rule="PCQ204"),),
    r"[01256]\.response\.lp_data\.offset": (broken(to(8), by_rule="PCQ204"),),
    r"[01256]\.response\.lp_data\.actual_count": (
        broken(by(8), by_rule="PCQ204", also="PCQ202"),
        broken(by(-1), by_rule="PCQ204", also="PCQ202 PCQ220 PCQ301 PCQ341 PCQ402 PCQ501 PCQ506"),
    ),
    r"7\.request\.lp_data\.max_count": (broken(by(8), by_rule="PCQ201", also="PCQ122 PCQ204"),),
    r"7\.response\.lp_data\.max_count": (broken(by(8), by_rule="PCQ204", also="PCQ202"),),
    r"\d\.response\.status": (
        broken(to(NO_WIN32), by_rule="PCQ220", also=f"PCQ562 PCQ710 PCQ712 PCQ713 PCQ716 PCQ717 {LISTS}"),
    ),
    r"\d\.(request|response)\.query_handle\.attributes": (broken(to(1), by_rule="PCQ203", also="PCQ711"),),
    r"[567]\.request\.query_handle\.uuid": (
        broken(flipped, by_rule="PCQ712|PCQ713", also=f"PCQ714 PCQ717 PCQ545 {LISTS}"),
    ),
    r"4\.request\.query_handle\.uuid": (broken(flipped, by_rule="PCQ712|PCQ713", also="PCQ716 PCQ717"),),
    r"3\.response\.query_handle\.uuid": (broken(flipped, by_rule="PCQ712|PCQ713", also="PCQ716 PCQ717"),),
    r"4\.response\.query_handle\.uuid": (broken(flipped, by_rule="PCQ711"),),
    r"1\.request\.counterset_guid": (broken(flipped, by_rule="PCQ702", also="PCQ303 PCQ339 PCQ718"),),
    r"2\.request\.counterset_guid": (broken(flipped, by_rule="PCQ702", also="PCQ303 PCQ704"),),
    r"1\.request\.request_code": (broken(to(0), to(11), by_rule="PCQ210", also="PCQ701"),),
    r"1\.request\.request_lcid": (broken(to(0x407), by_rule="PCQ337", where="^request_lcid$"),),
    r"7\.request\.add": (
        broken(to(2), by_rule="PCQ217"),
        broken(to(0), by_rule="PCQ435", also=f"PCQ217 {LISTS}"),
    ),
}

IDENTIFIERS: dict[str, tuple[Broken, ...]] = {
    r"7\.request\.lpData\.identifiers\.counterset_guid": (broken(flipped, by_rule="PCQ430", also=LISTS),),
    r"7\.request\.lpData\.identifiers\.status": (broken(to(5), by_rule="PCQ420"),),
    r"7\.request\.lpData\.identifiers\.size": (
        broken(to(0), to(39), by_rule="PCQ401", also="PCQ705"),
        broken(to(1 << 31), by(8), by(-8), by_rule="PCQ401", also="PCQ410 PCQ705"),
        broken(by(1), by_rule="PCQ401", also="PCQ405 PCQ415"),
    ),
    r"7\.request\.lpData\.identifiers\.counter_id": (
        broken(to(99), by_rule="PCQ435", also="PCQ430"),
        broken(to(2), by_rule="PCQ430", also="PCQ435"),
    ),
    r"7\.request\.lpData\.identifiers\.instance_id": (broken(to(99), by_rule="PCQ430", also="PCQ440"),),
    r"7\.request\.lpData\.identifiers\.index": (broken(to(3), by_rule="PCQ420"),),
    r"7\.request\.lpData\.identifiers\.reserved": (broken(to(1), by_rule="PCQ420", also="PCQ430"),),
    r"7\.request\.lpData\.identifiers\.name": (
        broken(text("z"), by_rule="PCQ430", also="PCQ412 PCQ435"),
        broken(text("\ud800"), by_rule="PCQ405", also="PCQ412 PCQ430 PCQ435"),
    ),
    r"7\.response\.lpData\.identifiers\.counterset_guid": (broken(flipped, by_rule="PCQ430", also=LISTS),),
    r"7\.response\.lpData\.identifiers\.status": (
        broken(to(NO_WIN32), to(5), by_rule="PCQ425", also=LISTS),
        broken(to(0x106A), to(0x1068), by_rule="PCQ435", also=LISTS),
        # A wildcard may be the same counter as what it covers, and not every counterset has instances.
        broken(to(0xB7), to(3), by_rule="PCQ435|PCQ445", also=LISTS),
    ),
    r"7\.response\.lpData\.identifiers\.size": (
        broken(to(0), to(39), to(1 << 31), by(8), by(-8), by_rule="PCQ402"),
        broken(by(1), by_rule="PCQ402", also="PCQ405 PCQ415"),
    ),
    r"7\.response\.lpData\.identifiers\.counter_id": (broken(to(99), to(2), by_rule="PCQ430", also=LISTS),),
    r"7\.response\.lpData\.identifiers\.instance_id": (broken(to(99), by_rule="PCQ430", also=LISTS),),
    r"7\.response\.lpData\.identifiers\.reserved": (broken(to(1), by_rule="PCQ430"),),
    r"7\.response\.lpData\.identifiers\.name": (
        broken(text("z"), by_rule="PCQ430", also=f"PCQ412 {LISTS}"),
        broken(text("\ud800"), by_rule="PCQ405", also=f"PCQ412 PCQ430 {LISTS}"),
    ),
    r"5\.response\.lpData\.identifiers\.counterset_guid": (broken(flipped, by_rule="PCQ445", also=f"PCQ545 {LISTS}"),),
    r"5\.response\.lpData\.identifiers\.status": (broken(to(NO_WIN32), by_rule="PCQ425"),),
    r"5\.response\.lpData\.identifiers\.size": (
        broken(to(0), to(39), to(1 << 31), by(8), by(-8), by_rule="PCQ402", also="PCQ410 PCQ416"),
        broken(by(1), by_rule="PCQ402", also="PCQ405 PCQ415 PCQ416"),
    ),
    r"5\.response\.lpData\.identifiers\.counter_id": (
        broken(to(99), by_rule="PCQ445", also=f"PCQ545 {LISTS}"),
        broken(to(2), by_rule="PCQ445", also=f"PCQ545 PCQ601 {LISTS}"),
    ),
    r"5\.response\.lpData\.identifiers\.index": (
        broken(to(1), by_rule="PCQ450", where=r"identifiers\[0\]"),
        broken(to(99), by_rule="PCQ450"),
    ),
    r"5\.response\.lpData\.identifiers\.name": (
        broken(text("z"), by_rule="PCQ445", also=f"PCQ412 PCQ545 {LISTS}"),
        broken(text("\ud800"), by_rule="PCQ405", also=f"PCQ412 PCQ545 {LISTS}"),
        broken(endless, by_rule="PCQ410|PCQ445", also=f"PCQ412 PCQ416 PCQ545 {LISTS}"),
    ),
    r"5\.response\.lpData\.identifiers\.name_padding": (broken(flipped, by_rule="PCQ416"),),
}

BLOCK, VALUE = r"6\.response\.lpData\.blocks", r"6\.response\.lpData\.blocks\.body\.(instances\.instances\.)?data"
MULTI_INSTANCES = r"blocks\[2\]"
DATA: dict[str, tuple[Broken, ...]] = {
    r"6\.response\.lpData\.total_size": (
        broken(by(8), by(-8), to(0), by_rule="PCQ501"),
        broken(by(4), by_rule="PCQ501", also="PCQ530"),
    ),
    r"6\.response\.lpData\.num_blocks": (broken(by(1), by(-1), to(0), to(1 << 31), by_rule="PCQ501"),),
    r"6\.response\.lpData\.perf_time_stamp": (
        broken(to(0), by_rule="PCQ520", also="PCQ522"),
        broken(by(1 << 40), by_rule="PCQ522", also="PCQ520"),
    ),
    r"6\.response\.lpData\.perf_time_100ns": (broken(to(0), to(1 << 63), by_rule="PCQ521", also="PCQ522"),),
    r"6\.response\.lpData\.perf_freq": (broken(to(0), by(1), by_rule="PCQ520"),),
    r"6\.response\.lpData\.system_time\.year": (broken(to(0), by(1), by_rule="PCQ521"),),
    r"6\.response\.lpData\.system_time\.month": (broken(to(0), to(13), by(1), by_rule="PCQ521"),),
    r"6\.response\.lpData\.system_time\.day_of_week": (broken(by(1), to(7), by_rule="PCQ521"),),
    r"6\.response\.lpData\.system_time\.day": (broken(to(0), to(32), by_rule="PCQ521"),),
    r"6\.response\.lpData\.system_time\.hour": (broken(to(24), by(1), by_rule="PCQ521"),),
    r"6\.response\.lpData\.system_time\.minute": (broken(to(60), by(1), by_rule="PCQ521"),),
    r"6\.response\.lpData\.system_time\.second": (broken(to(60), by(-3), by_rule="PCQ521"),),
    r"6\.response\.lpData\.system_time\.milliseconds": (broken(to(1000), by_rule="PCQ521"),),
    rf"{BLOCK}\.status": (
        broken(to(NO_WIN32), to(0x12345), by_rule="PCQ540"),
        broken(to(0), by_rule="PCQ507", where=r"blocks\[4\]"),
    ),
    rf"{BLOCK}\.block_type": (
        broken(to(3), to(5), to(7), to(1 << 31), by_rule="PCQ505"),
        broken(to(0), by_rule="PCQ507", where=r"blocks\[[0-3]\]"),
        broken(to(1), by_rule="PCQ510", where=r"blocks\[[1-4]\]"),
        broken(to(2), by_rule="PCQ510", where=r"blocks\[[034]\]"),
        # The header of instances can be taken for one of counter ids that counts them wrongly.
        broken(to(2), by_rule="PCQ513", where=r"blocks\[2\]"),
        broken(to(4), by_rule="PCQ510", where=r"blocks\[[0134]\]"),
        broken(to(6), by_rule="PCQ510", where=r"blocks\[[0124]\]"),
    ),
    rf"{BLOCK}\.size": (broken(to(0), to(15), by(8), by(-8), by(4), to(1 << 31), by_rule="PCQ506"),),
    rf"{BLOCK}\.reserved": (broken(to(1), by_rule="PCQ515"),),
    rf"{VALUE}\.data_size": (
        broken(to(0), by(1), by_rule="PCQ601|PCQ511"),
        broken(to(1000), by_rule="PCQ511"),
    ),
    rf"{VALUE}\.value": (broken(to(0), by_rule="PCQ605", where=r"blocks\[[13]\]\..*data\[3\]"),),
    rf"{VALUE}\.size": (broken(to(0), by(8), by(-8), by(-4), by_rule="PCQ511"),),
    rf"{BLOCK}\.body\.counters\.size": (broken(to(0), by(8), by(-8), by(1), by_rule="PCQ513"),),
    rf"{BLOCK}\.body\.counters\.num_counters": (broken(by(1), by(-1), to(1 << 31), by_rule="PCQ513"),),
    rf"{BLOCK}\.body\.counters\.counter_ids": (
        broken(to(99), by_rule="PCQ602"),
        broken(by(1), by_rule="PCQ602", also="PCQ601"),
    ),
    rf"{BLOCK}\.body\.instances\.total_size": (broken(to(0), by(8), by(-8), by_rule="PCQ512"),),
    rf"{BLOCK}\.body\.instances\.num_instances": (broken(by(1), by(-1), to(1 << 31), by_rule="PCQ512"),),
    rf"{BLOCK}\.body\.instances\.instances\.header\.size": (broken(to(0), by(8), by(-8), by(4), by_rule="PCQ512"),),
    rf"{BLOCK}\.body\.instances\.instances\.header\.name": (broken(text("z"), by_rule="PCQ550"),),
    rf"{BLOCK}\.body\.instances\.instances\.header\.name_padding": (
        broken(flipped, by_rule="PCQ516", where=MULTI_INSTANCES),
    ),
}

RECORD = r"1\.response\.lpData\.(counters|counter)"
METADATA: dict[str, tuple[Broken, ...]] = {
    r"0\.response\.lpData\.guids": (broken(flipped, by_rule="PCQ702", also="PCQ435"),),
    r"1\.response\.lpData\.counterset_guid": (broken(flipped, by_rule="PCQ303"),),
    r"1\.response\.lpData\.counterset_type": (broken(to(1), by_rule="PCQ305"),),
    r"1\.response\.lpData\.detail_level": (broken(to(0), to(300), by_rule="PCQ307"),),
    r"1\.response\.lpData\.num_counters": (
        broken(by(1), to(1 << 31), by_rule="PCQ301|PCQ333", also="PCQ390 PCQ391"),
        broken(by(-1), by_rule="PCQ301|PCQ333", also="PCQ321 PCQ333 PCQ602"),
    ),
    r"1\.response\.lpData\.instance_type": (
        broken(to(1), to(0x10), by_rule="PCQ309"),
        broken(to(0), by_rule="PCQ311", also="PCQ412 PCQ545 PCQ704", where="^lpData.instance_type$"),
    ),
    rf"{RECORD}\.counter_id": (
        # One of them is described by its own record as well.
        broken(to(99), by_rule="PCQ602|PCQ329|PCQ333", also="PCQ321 PCQ333 PCQ435 PCQ703"),
        broken(to(2), by_rule="PCQ313", also="PCQ333 PCQ435 PCQ602", where=r"counters\[0\]"),
    ),
    rf"{RECORD}\.counter_type": (
        broken(to(0x12000), to(NO_WIN32), by_rule="PCQ315", also="PCQ321"),
        broken(to(0x40030402), by_rule="PCQ321", where=r"counters\[3\]"),
    ),
    rf"{RECORD}\.attributes": (broken(to(0x20), to(0x12), to(0x18), by_rule="PCQ317"),),
    rf"{RECORD}\.detail_level": (broken(to(0), to(300), by_rule="PCQ307"),),
    rf"{RECORD}\.default_scale": (broken(to(11), to(-11), by_rule="PCQ319"),),
    rf"{RECORD}\.base_counter_id": (broken(to(99), to(3), to(1), by_rule="PCQ321", where=r"counters\[2\]"),),
    rf"{RECORD}\.aggregate_func": (broken(to(5), by_rule="PCQ327"),),
    rf"{RECORD}\.reserved": (broken(to(1), by_rule="PCQ305"),),
    r"1\.response\.lpData\.string": (broken(endless, by_rule="PCQ331"),),
    r"1\.response\.lpData\.total_size": (broken(by(8), by(-8), to(0), by_rule="PCQ333"),),
    r"1\.response\.lpData\.strings\.counter_id": (broken(to(99), by_rule="PCQ333"),),
    r"1\.response\.lpData\.strings\.ofs_string": (broken(to(1 << 30), by_rule="PCQ333", also="PCQ390"),),
    r"2\.response\.lpData\.instances\.size": (
        broken(to(0), by(8), by(-8), by_rule="PCQ341"),
        broken(by(4), by_rule="PCQ341", also="PCQ530"),
    ),
}

OBJECT = r"17\.response\.lpData\.objects\.body"
WINPERF: dict[str, tuple[Broken, ...]] = {
    r"17\.response\.lpData\.signature": (broken(text("PERX"), by_rule="PCQ801"),),
    r"17\.response\.lpData\.little_endian": (
        broken(to(2), by_rule="PCQ801"),
        broken(to(0), by_rule="PCQ801", also="PCQ805 PCQ810"),
    ),
    r"17\.response\.lpData\.(version|revision)": (broken(to(7), by_rule="PCQ801"),),
    r"17\.response\.lpData\.total_byte_length": (broken(by(8), by(-8), to(1 << 31), by_rule="PCQ805"),),
    r"17\.response\.lpData\.header_length": (
        broken(by(8), by(-8), to(0), to(1 << 31), by_rule="PCQ805", also="PCQ820"),
    ),
    r"17\.response\.lpData\.num_object_types": (broken(by(1), to(0), to(1 << 31), by_rule="PCQ805"),),
    r"17\.response\.lpData\.system_time\.month": (broken(to(0), to(13), by_rule="PCQ810"),),
    r"17\.response\.lpData\.system_time\.day": (broken(to(0), to(32), by_rule="PCQ810"),),
    r"17\.response\.lpData\.system_time\.hour": (broken(to(24), by_rule="PCQ810"),),
    r"17\.response\.lpData\.system_time\.minute": (broken(to(60), by_rule="PCQ810"),),
    r"17\.response\.lpData\.system_time\.second": (broken(to(61), by_rule="PCQ810"),),
    r"17\.response\.lpData\.system_time\.milliseconds": (broken(to(1000), by_rule="PCQ810"),),
    r"17\.response\.lpData\.system_time\.year": (broken(by(1), by_rule="PCQ810"),),
    r"17\.response\.lpData\.perf_time": (broken(by(1), by_rule="PCQ810"),),
    r"17\.response\.lpData\.perf_freq": (broken(to(0), by_rule="PCQ810"),),
    r"17\.response\.lpData\.perf_time_100ns": (broken(to(0), by_rule="PCQ810"),),
    r"17\.response\.lpData\.system_name_(length|offset)": (broken(to(1 << 31), by_rule="PCQ805"),),
    r"17\.response\.lpData\.objects\.total_byte_length": (
        broken(to(0), by(8), by(-8), by_rule="PCQ805", also="PCQ820"),
    ),
    rf"{OBJECT}\.definition_length": (broken(to(0), by(8), by(-8), to(1 << 31), by_rule="PCQ820", also="PCQ840"),),
    rf"{OBJECT}\.header_length": (broken(to(0), by(8), by(-8), to(1 << 31), by_rule="PCQ820", also="PCQ830"),),
    rf"{OBJECT}\.detail_level": (broken(to(150), by_rule="PCQ820"),),
    rf"{OBJECT}\.num_counters": (broken(by(1), to(1 << 31), by_rule="PCQ820", also="PCQ830"),),
    rf"{OBJECT}\.num_instances": (broken(by(1), by(-1), to(0), to(9), to(-3), by_rule="PCQ820"),),
    rf"{OBJECT}\.counters\.byte_length": (broken(to(0), by(-1), by(8), by_rule="PCQ830", also="PCQ820"),),
    rf"{OBJECT}\.counters\.default_scale": (broken(to(11), to(-11), by_rule="PCQ830"),),
    rf"{OBJECT}\.counters\.counter_type": (
        broken(to(0x10100), by_rule="PCQ830", where=r"counters\[[01]\]"),
        broken(to(0x10000), by_rule="PCQ830", where=r"counters\[2\]"),
    ),
    rf"{OBJECT}\.counters\.counter_size": (
        broken(to(0), by(4), by_rule="PCQ830"),
        broken(to(1 << 31), by_rule="PCQ830", also="PCQ820 PCQ850"),
    ),
    rf"{OBJECT}\.counters\.counter_offset": (broken(to(0), to(1 << 31), by_rule="PCQ830", also="PCQ820 PCQ850"),),
    rf"{OBJECT}\.instances\.byte_length": (
        broken(to(0), by(-8), to(1 << 31), by_rule="PCQ840", also="PCQ820"),
        broken(by(8), by_rule="PCQ820", also="PCQ830 PCQ840 PCQ850"),
    ),
    rf"{OBJECT}\.instances\.definition\.parent_object_title_index": (broken(to(999), by_rule="PCQ840"),),
    rf"{OBJECT}\.instances\.definition\.unique_id": (broken(to(2), by_rule="PCQ840", where=r"instances\[0\]"),),
    rf"{OBJECT}\.instances\.definition\.name_offset": (broken(to(1 << 31), by_rule="PCQ840", also="PCQ820"),),
    rf"{OBJECT}\.instances\.definition\.name_length": (
        broken(by(-1), by_rule="PCQ840"),
        broken(to(1 << 31), by_rule="PCQ840", also="PCQ820"),
    ),
    rf"{OBJECT}\.instances\.definition\.name": (broken(endless, by_rule="PCQ840"),),
    rf"{OBJECT}\.instances\.counter_block\.byte_length": (
        broken(to(0), by(-8), by_rule="PCQ850", also="PCQ820 PCQ830"),
        broken(to(1 << 31), by_rule="PCQ850", also="PCQ820"),
    ),
}
TABLES = {**STUBS, **IDENTIFIERS, **DATA, **METADATA, **WINPERF}

UNSEEN = {
    r"\d+\.(request|response)\.(.*\.)?align_\w+": "bytes that align have no meaning",
    r"\d+\.(request|response)\.lp_data\.data": "broken field by field, as lpData",
    rf"{RECORD}\.(perf_time_id|perf_freq_id|multi_id)": "the type of the counter needs none, and the field then means nothing",
    r"1\.response\.lpData\.strings\.string": "any text is a name",
    r"1\.response\.lpData\.rest": "the padding after strings is stated to be indeterminate",
    r"1\.response\.lpData\.guid": "any GUID can be a provider's",
    r"2\.response\.lpData\.instances\.instance_id": "any number can be an instance's",
    r"2\.response\.lpData\.instances\.name": "any text can be an instance's; two alike are broken in the tests of that rule",
    r"2\.response\.lpData\.instances\.name_padding": "this padding is stated to be indeterminate",
    r"7\.(request|response)\.lpData\.identifiers\.name_padding": "nothing is stated of the padding in ValidateCounters",
    r"7\.response\.lpData\.identifiers\.index": "nothing is stated of Index in what ValidateCounters returns",
    r"5\.response\.lpData\.identifiers\.reserved": "only clients have to set it to 0",
    r"5\.response\.lpData\.identifiers\.instance_id": "a server may state which instance 0xFFFFFFFF (any) came to be",
    rf"{VALUE}\.value": "any number can be the value of a counter that is not a base",
    rf"{VALUE}\.padding": "nothing is stated of the padding after values",
    rf"{BLOCK}\.body\.instances\.instances\.header\.instance_id": "any number can be an instance's",
    r"17\.response\.lpData\.default_object": "reserved for consumers, who may find anything there",
    r"17\.response\.lpData\.system_time\.day_of_week": "winperf.h asks for valid ranges, and the weekday follows from the date",
    r"17\.response\.lpData\.(system_name|header_rest)": "any text is a name, and nothing is stated of what follows it",
    rf"{OBJECT}\.(object_(name|help)_title(_index)?|default_counter)": "titles are numbers of other tables",
    rf"{OBJECT}\.(code_page|perf_time|perf_freq)": "any code page can be installed; clocks serve where a type asks for them",
    rf"{OBJECT}\.counters\.(counter_(name|help)_title(_index)?|detail_level)": "titles as above; nothing is required of the level",
    rf"{OBJECT}\.instances\.definition\.(parent_object_instance|rest)": "any number can be a parent's; padding is free",
    rf"{OBJECT}\.instances\.counter_block\.body\.(raw|values)": "any number can be a counter's",
}


# ------------------------------------------------------------------------------------------------- the machinery


@dataclass(frozen=True)
class Leaf:
    """A field of one message: which event and side, its key without numbers, its path, and its bytes in the stub."""

    event: int
    side: str
    key: str
    path: str
    start: int
    stop: int


@dataclass(frozen=True)
class Conversation:
    events: tuple[Event, ...]
    leaves: tuple[Leaf, ...]


@cache
def conversations() -> tuple[Conversation, ...]:
    return tuple(Conversation(tuple(events), tuple(_leaves(events))) for events in (full_conversation(), registry()))


def _leaves(events: list[Event]) -> Iterator[Leaf]:
    by_id = {event.call_id: number for number, event in enumerate(events) if isinstance(event, Exchange)}
    for call in Evidence(analysis_of(*events)).calls():
        number = by_id[call.decoded.call_id]
        for side in (call.request, call.response):
            assert side is not None
            for path, start, stop in _fields(side):
                key = f"{call.opnum}.{side.name}." + re.sub(r"\[\d+\]", "", path)
                yield Leaf(number, side.name, key, path, start, stop)


def _fields(side: SideEvidence) -> Iterator[tuple[str, int, int]]:
    root = side.stub_fields
    assert root is not None
    yield from _ends(root, "", 0)
    if side.side.buffer is not None and side.side.buffer_kind is not None:
        assert side.layout is not None
        yield from _ends(side.buffer_fields, "lpData.", side.layout.data_start)


def _ends(field: Field, path: str, base: int) -> Iterator[tuple[str, int, int]]:
    for child in field.children:
        if child.children:
            yield from _ends(child, f"{path}{child.name}.", base)
        else:
            yield f"{path}{child.name}", base + child.start, base + child.stop


def _found(events: tuple[Event, ...]) -> list[Finding]:
    return list(Audit(analysis_of(*events)).findings())


def _reported(events: tuple[Event, ...]) -> set[str]:
    return {finding.rule.code for finding in _found(events)}


def _mutated(conversation: Conversation, leaf: Leaf, change: Change) -> tuple[Event, ...] | None:
    """The conversation with one field changed; None where the change changes nothing."""
    event = conversation.events[leaf.event]
    assert isinstance(event, Exchange)
    message = event.request if leaf.side == "request" else event.response
    assert message is not None
    stub = bytes(message.stub.data)
    raw = stub[leaf.start : leaf.stop]
    changed = change(raw)
    assert len(changed) == len(raw)
    if changed == raw:
        return None
    stub = stub[: leaf.start] + changed + stub[leaf.stop :]
    moved = replace(event, **{leaf.side: with_stub(message, message.stub.replaced(stub, "mutated"))})
    return (*conversation.events[: leaf.event], moved, *conversation.events[leaf.event + 1 :])


def _chosen(leaves: list[Leaf], where: str) -> list[Leaf]:
    """Of the leaves of one kind: those of the call that has most of them, one for each place in its outermost list, no more than
    five of these. Of buffers only the first: `sweeps` changes each of their words."""
    fitting = [leaf for leaf in leaves if re.search(where or ".", leaf.path)]
    calls = Counter(leaf.event for leaf in fitting)
    # The second of several answers: clocks are judged between two.
    most = [event for event, number in calls.items() if number == max(calls.values())]
    event = most[min(1, len(most) - 1)] if fitting and fitting[0].key.startswith("6.") else most[0] if most else -1
    chosen: dict[str, Leaf] = {}
    for leaf in fitting:
        if leaf.event == event:
            place = re.search(r"\[\d+\]", leaf.path)
            chosen.setdefault(place[0] if place else "", leaf)
    return list(chosen.values())[: 1 if ".lpData." in fitting[0].key else 5] if fitting else []


def _grouped() -> Iterator[tuple[str, Conversation, list[Leaf]]]:
    for conversation in conversations():
        by_key: dict[str, list[Leaf]] = {}
        for leaf in conversation.leaves:
            by_key.setdefault(leaf.key, []).append(leaf)
        for key, leaves in by_key.items():
            if conversation is conversations()[1] and not key.startswith("17.response.lpData"):
                continue  # [MS-RRP] itself is not audited.
            yield key, conversation, leaves


def _first(patterns: Iterable[str], key: str) -> str | None:
    return next((pattern for pattern in patterns if re.fullmatch(pattern, key)), None)


def test_nothing_is_said_of_the_conversations_as_they_are() -> None:
    assert [_reported(conversation.events) for conversation in conversations()] == [set(), set()]


def test_every_field_is_broken_or_listed() -> None:
    unknown = [key for key, _, _ in _grouped() if _first((*TABLES, *UNSEEN), key) is None]
    assert not unknown, f"say in TABLES or UNSEEN what may not be done to: {unknown}"


@pytest.mark.parametrize("pattern", TABLES)
def test_the_responsible_rule_speaks_and_no_other(pattern: str) -> None:
    wrong = []
    made = 0
    for key, conversation, leaves in _grouped():
        if not re.fullmatch(pattern, key):
            continue
        for position, way in enumerate(TABLES[pattern]):
            responsible, related = set(way.caught_by.split("|")), set(way.also.split())
            for leaf, (number, change) in product(_chosen(leaves, way.where), enumerate(way.ways)):
                events = _mutated(conversation, leaf, change)
                if events is None:
                    continue
                made += 1
                found = _found(events)
                reported = {finding.rule.code for finding in found}
                # What is said of words of buffers is in `sweeps`.
                if "lpData" not in key:
                    blamed = [finding for finding in found if finding.rule.code in responsible]
                    examples.check(blamed, name=f"{leaf.key} {leaf.path} {position}.{number}")
                if not reported & responsible or reported - responsible - related:
                    wrong.append(f"{leaf.path}, way {number} of {way.caught_by}: reported by {sorted(reported)}")
    assert made, "no field of the conversations is broken by this"
    assert not wrong, "\n".join(wrong)


# What is behind a cut was read before it: these rules see what is left of it.
CUT = "PCQ122 PCQ204 PCQ206 PCQ217 PCQ220 PCQ401 PCQ402 PCQ430 PCQ705 PCQ710 PCQ712 PCQ713 PCQ716 PCQ717"


@pytest.mark.parametrize("change", [-4, 8], ids=["cut", "longer"])
def test_a_stub_of_another_length_is_reported(change: int) -> None:
    wrong = []
    conversation = conversations()[0]
    for number, event in enumerate(conversation.events):
        if not isinstance(event, Exchange):
            continue
        for side, code in (("request", "PCQ201"), ("response", "PCQ202")):
            message = event.request if side == "request" else event.response
            assert message is not None
            stub = bytes(message.stub.data)
            stub = stub[:change] if change < 0 else stub + bytes(change)
            moved = replace(event, **{side: with_stub(message, message.stub.replaced(stub, "mutated"))})
            reported = _reported((*conversation.events[:number], moved, *conversation.events[number + 1 :]))
            if code not in reported or reported - {code, *CUT.split(), *LISTS.split()}:
                wrong.append(f"{side} of opnum {event.opnum}, call {event.call_id}: {sorted(reported)}")
    assert not wrong, "\n".join(wrong)

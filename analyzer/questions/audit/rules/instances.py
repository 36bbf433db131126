"""Rules about instances: how lists and blocks of them are laid out, and whether they fit what their counterset is registered as."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from analyzer.interfaces.buffers.windows_text import utf16_length
from analyzer.questions.audit.buffer_checks import ASKED, DATA, judgements, of_data
from analyzer.questions.audit.call_evidence import AskedEvidence, CallEvidence, Evidence
from analyzer.questions.audit.data_answers import Block, DataAnswer, FlawKind
from analyzer.questions.audit.identifier_lists import IdentifierBlock, readable_identifiers
from analyzer.questions.audit.rule_registry import Level, Reads, Watch, of_calls, of_requests, rule
from analyzer.questions.audit.rule_verdicts import (
    At,
    Confidence,
    Deviation,
    Judgement,
    Severity,
    Violation,
    failed,
    inconclusive,
    judge,
    passed,
    warned,
)
from analyzer.questions.audit.server_statements import NO_REGISTRATION, InstanceList, has_instances, instance_type_of
from analyzer.questions.audit.values_with_counters import NO_LIST, counter_of
from analyzer.results.methods.perflib import COUNTERSET, INSTANCES, NONE_ID, Opnum, RequestCode

LISTED = Reads((Opnum.ENUMERATE_COUNTER_SET_INSTANCES,), ("response.lpData",), success=True)
LISTED_DAMAGED = Reads((Opnum.ENUMERATE_COUNTER_SET_INSTANCES,), ("response.lpData",), success=True, damaged=True)
ADDING = Reads((Opnum.VALIDATE_COUNTERS,), ("request", "request.lpData"))

SINGLE, MULTIPLE, CLIENT = "PCQ-2.2.4.1-R08", "PCQ-2.2.4.1-R09", "PCQ-2.2.4.1-R14"
# By InstanceType: the requirement about aggregation.
_AGGREGATES = {0x4: "PCQ-2.2.4.1-R10", 0x6: "PCQ-2.2.4.1-R11", 0xC: "PCQ-2.2.4.1-R12"}
_SINGLE = 0x0


@rule("PCQ311", Level.SEQUENCES, Severity.ERROR)
@of_calls(
    {
        Opnum.ENUMERATE_COUNTER_SET_INSTANCES: (SINGLE, MULTIPLE),
        Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: tuple(_AGGREGATES.values()),
    },
    Reads((Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO, Opnum.ENUMERATE_COUNTER_SET_INSTANCES), ("request", "response")),
)
def instance_type_contradicted(call: CallEvidence) -> Iterator[Judgement]:
    """A counterset, or a client's use of it, contradicts its declared instance type.

    Looks for:

    - More than one instance listed for a single-instance counterset.
    - Instances without names in a counterset with many instances.
    - Countersets that are aggregates, without any counter that has an aggregate function.
    - Identifiers without an instance name for a counterset with many instances.

    Why it matters: the instance type decides how identifiers are made, how answers are laid out, and what the client aggregates.

    Specification: [MS-PCQ] section 2.2.4.1, InstanceType. A client handles single and many differently. The values are:

    - 0: a single instance.
    - 2: many instances.
    - 4: a global aggregate over all instances.
    - 6: an aggregate over the instances that the client picks.
    - 0xC: a global aggregate that includes the values of instances that are gone.

    Flagged: InstanceType 0, and two instances in the answer of EnumerateCounterSetInstances.

    Accepted: an identifier with a name for a single-instance counterset: the text and perflib.h disagree about it.

    Silent: where the registration of the counterset is not in the capture.
    """
    if call.status == 0 and call.opnum == Opnum.ENUMERATE_COUNTER_SET_INSTANCES:
        yield from _instances_of_type(call)
    elif call.status == 0 and call.asked.get("RequestCode") == RequestCode.COUNTERSET_STRUCT:
        tree = call.reply.tree
        requirement, counters = _AGGREGATES.get(tree.get("instance_type", _SINGLE)), tree.get("counters", ())
        if requirement is not None and counters:
            is_kept = any(1 <= counter.get("aggregate_func", 0) <= 4 for counter in counters)
            message = "an aggregate counterset has no counter with an aggregate function"
            path, expected, sure = "lpData.instance_type", "AggregateFunc 1 to 4 in some counter", Confidence.MEDIUM
            yield judge(is_kept, call, path, message, expected, "0 in all", of=requirement, confidence=sure)


def _instances_of_type(call: CallEvidence) -> Iterator[Judgement]:
    kind = instance_type_of(call, call.asked.get("CounterSetGuid", ""))
    instances = call.reply.tree.get("instances", ())
    if call.reply.buffer is not None and call.reply.buffer.problem is not None:
        yield inconclusive("the buffer of the response is damaged", call)
    elif kind is None:
        yield inconclusive(NO_REGISTRATION, call)
    elif kind == _SINGLE:
        path, message = "lpData.instances[1]", "a single-instance counterset has several instances"
        yield judge(len(instances) <= 1, call, path, message, "at most 1", len(instances), of=SINGLE)
    else:
        for number, instance in enumerate(instances):
            path, message = f"lpData.instances[{number}]", "an instance of a counterset with many has no name"
            yield judge(bool(instance.get("name")), call, path, message, "a name", "none", of=MULTIPLE)


@instance_type_contradicted.also
@of_requests(CLIENT, ASKED)
def _asked_by_type(call: AskedEvidence) -> Iterator[Judgement]:
    for number, identifier in enumerate(call.sent.tree.get("identifiers", ())):
        kind = instance_type_of(call, identifier.get("counterset_guid", ""))
        if kind is None:
            yield inconclusive(NO_REGISTRATION, call)
        else:
            is_kept = kind == _SINGLE or bool(identifier.get("name"))
            message = "an identifier for a counterset with many instances has no instance name"
            yield judge(is_kept, call, f"lpData.identifiers[{number}]", message, "a name, or *", "none")


INSTANCE_NOT_FOUND, INVALID_REGINFO = 0x1069, 0x1073
NONE_ACTIVE, REGINFO = "PCQ-3.1.4.1.3-R11", "PCQ-3.1.4.1.3-R12"


@rule("PCQ704", Level.SEQUENCES, Severity.ERROR, "instances-against-registration")
@of_calls((NONE_ACTIVE, REGINFO), Reads((Opnum.ENUMERATE_COUNTER_SET_INSTANCES,), ("request", "response")))
def instances_contradict_registration(call: CallEvidence) -> Iterator[Judgement]:
    """A list of instances is empty without saying so, or longer than its counterset may be.

    Looks for:

    - EnumerateCounterSetInstances that succeeds with no instance (a warning).
    - ERROR_WMI_INSTANCE_NOT_FOUND (0x1069) along with data (a warning).
    - Success with several instances of a counterset that is registered as single-instance.

    Why it matters: that there is nothing to read has its own error code. Several instances of a set that has one mean that provider
    and registration are of different versions, and the server should not pass that on.

    Specification: [MS-PCQ] section 3.1.4.1.3: ERROR_WMI_INSTANCE_NOT_FOUND is for countersets without active instances.
    ERROR_WMI_INVALID_REGINFO (0x1073) is for a provider that reports other than was registered, such as several instances of a
    single-instance counterset.

    Flagged: return value 0 and no data; return value 0 and two instances of a counterset whose InstanceType is 0.

    Accepted: 0x1069 without data; 0x1073 at any time; one instance, with or without a name, of a single-instance counterset.

    Silent: where the registration of the counterset is not in the capture (on the number of instances), or the answer is sealed.
    """
    size = len(call.reply.data)
    if call.status == INSTANCE_NOT_FOUND:
        message = "data came along with the error that there are no instances"
        yield judge(not size, call, "pdwOutSize", message, "0", size, of=NONE_ACTIVE, say=warned)
    elif call.status == INVALID_REGINFO:
        yield passed(REGINFO)
    elif call.status == 0 and not size:
        message = "the server listed no instances and called that success"
        expected = "ERROR_WMI_INSTANCE_NOT_FOUND (0x1069)"
        yield warned(call, "pdwOutSize", message, expected, "0 bytes", of=NONE_ACTIVE)
    elif call.status == 0:
        kind = instance_type_of(call, call.asked["CounterSetGuid"])
        if call.reply.buffer is not None and call.reply.buffer.problem is not None:
            yield inconclusive("the buffer of the response is damaged", call, REGINFO)
        elif kind is None:
            yield inconclusive(NO_REGISTRATION, call, REGINFO)
        elif (instances := len(call.reply.tree.get("instances", ()))) > 1 and kind == _SINGLE:
            message = "the server listed several instances of a single-instance counterset"
            expected = "one, or ERROR_WMI_INVALID_REGINFO (0x1073)"
            yield failed(call, "lpData.instances[1]", message, expected, instances, of=REGINFO)


HEADER, CHAIN, SIZE, PADDING = "PCQ-2.2.4.5-R01", "PCQ-3.1.4.1.3-R16", "PCQ-3.1.4.1.3-R17", "PCQ-3.1.4.1.3-R18"
_HEADER, _LEAST = 8, 10


@rule("PCQ341", Level.BUFFERS, Severity.ERROR)
@of_calls((HEADER, CHAIN, SIZE, PADDING), LISTED_DAMAGED)
def instance_list_malformed(call: CallEvidence) -> Iterator[Judgement]:
    """A list of instances is not the chain of headers and names that its sizes say.

    Looks for: answers of EnumerateCounterSetInstances with a Size below 10, one that leads out of the answer, is no multiple of
    8, or leaves 8 bytes or more behind the name; names without a NUL.

    Why it matters: each instance is found by the Size of the one before.

    Specification: [MS-PCQ] section 2.2.4.5: Size is the size of the header and of the name. Section 3.1.4.1.3: the list is an
    array of headers at multiples of 8, each with a NUL-terminated name. The padding behind a name may have any content.

    Flagged: Size 20; a name of 3 characters in a Size of 24.

    Accepted: any bytes of padding; a GUID's worth of instances with empty names.

    Silent: where the answer is sealed, was not captured, or failed.
    """
    data, at = call.reply.data, 0
    while at < len(data):
        size, most = int.from_bytes(data[at : at + 4], "little"), len(data) - at
        if most < _HEADER or not _LEAST <= size <= most:
            where = At("response", "lpData", (at, min(at + 4, len(data))))
            message = "an instance does not lead to the next, or out of the answer"
            yield failed(call, where, message, f"{_LEAST} to {most}", size, of=(CHAIN, HEADER))
            return
        yield from _instance(call, data[at + _HEADER : at + size], at, size)
        at += size


def _instance(call: CallEvidence, room: bytes, start: int, size: int) -> Iterator[Judgement]:
    end, where = utf16_length(room) + 2, At("response", "lpData", (start, start + 4))
    if end > len(room):
        name = At("response", "lpData", (start + _HEADER, start + size))
        message = "the name of an instance has no NUL within its Size"
        yield failed(call, name, message, "a NUL", room[-2:].hex(" "), of=(HEADER, CHAIN))
        return
    yield passed(HEADER, CHAIN)
    if end < len(room):
        yield passed(PADDING)
    if size % 8:
        yield failed(call, where, "the Size of an instance is no multiple of 8", "a multiple of 8", size, of=SIZE)
    else:
        message = "the Size of an instance has more room than its name and padding need"
        wanted = _HEADER + end + -(_HEADER + end) % 8
        yield judge(len(room) - end < 8, call, where, message, wanted, size, of=SIZE)


INSTANCES_SIZE, INSTANCES_NUMBER, INSTANCE_HEADER = "PCQ-2.2.4.10-R01", "PCQ-2.2.4.10-R02", "PL-QCD-R09"
# The number of instances, and the form of each, by the type of the block.
OF_INSTANCES = {
    INSTANCES: ("PCQ-3.1.4.1.6-R21", "PCQ-3.1.4.1.6-R20"),
    COUNTERSET: ("PCQ-3.1.4.1.6-R28", "PCQ-3.1.4.1.6-R24"),
}


@rule("PCQ512", Level.BUFFERS, Severity.ERROR)
@of_data((INSTANCES_SIZE, INSTANCES_NUMBER, INSTANCE_HEADER, *OF_INSTANCES[INSTANCES], *OF_INSTANCES[COUNTERSET]))
def instances_miscounted(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """The instances in a block are not as many, or not as large, as their headers say.

    Looks for: blocks of dwType 4 and 6 with one of these flaws:

    - dwInstances is not the number of instances that follow.
    - dwTotalSize does not end with the last instance.
    - The Size of an instance header does not lead to the instance's values, or is no multiple of 8.

    Why it matters: an instance that is there and not counted is not shown, one that is counted and not there is made of other
    bytes.

    Specification: [MS-PCQ] section 2.2.4.10: dwTotalSize covers this header and all instance data, dwInstances is the number of
    instances. Section 3.1.4.1.6 demands that the number of instance blocks is the same, for types 4 and 6. Section 2.2.4.5:
    Size covers the instance header and its name. perflib.h pads it to a multiple of 8 and counts the padding.

    Flagged: dwInstances 3 with two instances; a dwTotalSize that leaves out the 8 bytes of its own header.

    Accepted: dwInstances 0 and dwTotalSize 8.

    Silent: where the answer is sealed or was not captured; in blocks that cannot be read at all.
    """
    for kind, (number, form) in OF_INSTANCES.items():
        blocks = [block for block in answer.of_type(kind) if block.instances_at is not None]
        types, instances = (kind,), sum(len(block.rows) for block in blocks)
        violations = answer.flaws_of(FlawKind.INSTANCES_SIZE, block_types=types)
        message = "the total size of the instances does not end with the last of them"
        yield from judgements(call, len(blocks), violations, message, of=INSTANCES_SIZE)
        violations = answer.flaws_of(FlawKind.INSTANCE_COUNT, block_types=types)
        message = "another number of instances follows than was reported"
        yield from judgements(call, len(blocks), violations, message, of=(INSTANCES_NUMBER, number))
        violations = answer.flaws_of(FlawKind.INSTANCE_SIZE, block_types=types)
        unpadded = answer.flaws_of(FlawKind.INSTANCE_UNPADDED, block_types=types)
        message, of = "the size of an instance does not lead to its values", (INSTANCE_HEADER, form)
        yield from judgements(call, instances - len(unpadded), violations, message, of=of)
        yield from judgements(call, 0, unpadded, "the size of an instance leaves out its padding", of=INSTANCE_HEADER)


_NOTE_3 = Deviation("[MS-PCQ] behaviour note <3>", "Windows does not see to it that instances are distinct")


@rule("PCQ343", Level.VALUES, Severity.WARNING)
@of_calls("PCQ-2.2.4.5-R02", LISTED)
def instances_not_distinct(call: CallEvidence) -> Iterator[Judgement]:
    """Two active instances of a counterset have the same name and the same id.

    Looks for: answers of EnumerateCounterSetInstances in which a name occurs twice with one InstanceId.

    Why it matters: a client cannot ask for one of them, nor distinguish their values.

    Specification: [MS-PCQ] section 2.2.4.5: two active instances should not share both; behaviour note <3>: Windows does not see
    to it.

    Flagged: `svchost` with id 7, twice.

    Accepted: `svchost` twice with different ids.

    Silent: where the answer is sealed, was not captured, or failed.
    """
    seen: set[tuple[str, int]] = set()
    instances = call.reply.tree.get("instances", ())
    for number, instance in enumerate(instances if len(instances) > 1 else ()):
        name, instance_id = instance["name"], instance["instance_id"]
        is_kept = (name.casefold(), instance_id) not in seen
        message = "two instances have the same name and the same id"
        path, wanted, shown = f"lpData.instances[{number}]", "another name or id", f"{name} ({instance_id})"
        yield judge(is_kept, call, path, message, wanted, shown, say=warned, deviation=_NOTE_3)
        seen.add((name.casefold(), instance_id))


@rule("PCQ440", Level.SEQUENCES, Severity.WARNING)
@of_requests("PCQ-2.2.4.6-R08", ADDING, of_each=True)
def instance_id_never_listed(call: AskedEvidence) -> Iterator[Judgement]:
    """A client asks for an instance id that the server did not list.

    Looks for: identifiers that add a counter of a counterset with instances, with an InstanceId other than 0xFFFFFFFF (any) that no
    EnumerateCounterSetInstances in the capture listed for it.

    Why it matters: the id filters. One that does not exist gives a query without values, and nobody says why.

    Specification: [MS-PCQ] section 2.2.4.6: InstanceId is the identifier of the instance; perflib.h: 0xFFFFFFFF leaves the name
    alone to choose.

    Flagged: as a warning, InstanceId 7, where the instances listed have the ids 0 to 3.

    Accepted: 0xFFFFFFFF; any id for a counterset without instances.

    Silent: where the instances of the counterset were not listed, or its registration is not in the capture.
    """
    if not call.asked["dwAdd"]:
        return
    violations: list[Violation] = []
    looked_at = 0
    for block in call.sent.identifiers.blocks:
        if block.instance_id != NONE_ID and has_instances(call, block.counterset) is not False:
            listed = call.knowledge.instance_ids(call.server, block.counterset)
            if listed is None:
                yield inconclusive("the instances of the counterset were not listed in the capture", call)
                continue
            if block.instance_id not in listed:
                violations.append(block.wrong("instance_id", "an id that was listed", block.instance_id))
        looked_at += 1
    message = "a client asks for an instance id that the server did not list"
    yield from judgements(call, looked_at, violations, message, warn=True, confidence=Confidence.MEDIUM)


OVER_ALL = (4, 0xC)


@rule("PCQ455", Level.SEQUENCES, Severity.WARNING)
@of_requests("PCQ-2.2.4.2-R74", ADDING, about="handle")
class AggregateOfSomeInstances(Watch[AskedEvidence]):
    """A client aggregates over some instances only where it is to be all.

    Looks for: counters of countersets of type 4 (global aggregate) and 0xC (global aggregate history) that a client added for
    single instances. The rule checks whether the client asked for all instances that the server listed, whatever the server
    answered to it.

    Why it matters: the sum, average, minimum or maximum such a counterset is about is one over all instances.

    Specification: [MS-PCQ] section 2.2.4.2, AggregateFunc: only for multiple-instance aggregates (type 6) does the client
    choose the instances; otherwise it must aggregate over every instance. What it then computes does not show in traffic.

    Flagged: as a warning, "a" and "b" added, where "a", "b" and "c" were listed.

    Accepted: the instance name "*"; every listed instance by name.

    Silent: where the registration of the counterset, or a list of its instances, is not in the capture.
    """

    def __init__(self, evidence: Evidence) -> None:
        # By handle, counterset and counter: the first identifier that added it, and the names added.
        self._added: dict[tuple[int, str, int], tuple[AskedEvidence, IdentifierBlock, set[str]]] = {}

    def feed(self, call: AskedEvidence) -> Iterator[Judgement]:
        if call.handle is not None and call.asked.get("dwAdd"):
            for block in readable_identifiers(call.request):
                if instance_type_of(call, block.counterset) in OVER_ALL:
                    key = call.handle, block.counterset, block.counter_id
                    _, _, names = self._added.setdefault(key, (call, block, set()))
                    names.add((block.name or "").casefold())
        return iter(())

    def finish(self) -> Iterator[Judgement]:
        for call, block, names in self._added.values():
            if "*" in names or names == {""}:
                yield passed()
                continue
            listed = call.knowledge.instances_about(call.server, block.counterset, call.time_ns)
            if listed is None:
                yield inconclusive(NO_LIST, call)
                continue
            left_out, at = sorted(listed.folded - names), At("request", f"{block.path}.name", block.room_span)
            message = "a counter that is to be aggregated over all instances was added for some of them"
            seen, sure = f"not {', '.join(left_out[:5])}", Confidence.MEDIUM
            yield judge(not left_out, call, at, message, "all instances", seen, say=warned, confidence=sure)


@rule("PCQ550", Level.SEQUENCES, Severity.WARNING, "instances-unlike-those-listed")
@of_calls("PCQ-3.1.4.1.6-R29", DATA, of_each=True)
def instances_not_those_listed(call: CallEvidence) -> Iterator[Judgement]:
    """The instances in a data answer are not those the server lists.

    Looks for: blocks that answer the instance name "*". The rule compares such a block with the answer of
    EnumerateCounterSetInstances for the same counterset that is nearest in time, within a minute. It reports either of these:

    - Less than half of the names are in both.
    - An instance of the same name has another id.

    Why it matters: a client offers its user the instances it was listed. If the data are of others, one of the two is wrong.

    Specification: [MS-PCQ] section 3.1.4.1.6: a wildcard gets the values of all active instances; section 3.1.4.1.3: these are what
    EnumerateCounterSetInstances lists, each with its id. Instances come and go, so that other names are no more than a note of low
    confidence, and another id a warning.

    Flagged: instances "a" and "b" in the data, "c" and "d" in the list; instance "a" with the id 1 in the list and 7 in the data.

    Accepted: "a", "b" and "d" against "a", "b" and "c".

    Silent: where nothing was listed within a minute, or the capture does not state what the block answers.
    """
    answer = call.reply.answer
    for block in answer.of_type(INSTANCES, COUNTERSET):
        if not block.is_whole or block.instances_at is None:
            continue
        known = counter_of(call, block)
        if known is None:
            yield inconclusive("which counter the block is of is not in the capture", call)
        elif known.instance == "*":
            listed = call.knowledge.instances_about(call.server, known.counterset, call.time_ns)
            if listed is None:
                yield inconclusive(NO_LIST, call)
            else:
                yield from _compared(call, answer.data, block, listed)


def _compared(call: CallEvidence, data: bytes, block: Block, listed: InstanceList) -> Iterator[Judgement]:
    names = {name.casefold() for name in block.names(data)}
    both = names | listed.folded
    are_others = bool(both) and 2 * len(names & listed.folded) < len(both)
    if are_others:
        at = At("response", f"{block.path}.body.instances", (block.instances_at or 0, block.stop))
        message = "the instances in the data are not those the server lists"
        expected = f"those call {listed.call} listed: {_shown(listed.folded)}"
        yield warned(call, at, message, expected, _shown(names), note=True, confidence=Confidence.LOW)
    other = _renumbered(data, block, listed)
    message = "an instance in the data has another id than in the server's list"
    yield from judgements(call, 0, other, message, warn=True, confidence=Confidence.MEDIUM)
    if not are_others and not other:
        yield passed()


def _renumbered(data: bytes, block: Block, listed: InstanceList) -> list[Violation]:
    """Renumbered instances of a counterset: those whose name the list has once, with another id."""
    counts = Counter(name.casefold() for name in listed.names)
    ids = {name.casefold(): number for name, number in zip(listed.names, listed.ids, strict=True)}
    violations = []
    for number, (row, name) in enumerate(zip(block.rows, block.names(data), strict=False)):
        folded = name.casefold()
        if counts[folded] == 1 and ids[folded] != row.instance_id:
            path = f"{block.path}.body.instances.instances[{number}].header.instance_id"
            expected, span = f"{ids[folded]}, as call {listed.call} listed", (row.name_at - 4, row.name_at)
            violations.append(Violation(path, span, expected, f"{row.instance_id}"))
    return violations


def _shown(names: frozenset[str] | set[str]) -> str:
    shown = ", ".join(repr(name) for name in sorted(names)[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown or "none"

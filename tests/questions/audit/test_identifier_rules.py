"""Rules about counter identifiers: each field by itself, and what lists and answers say against what was added to the handle."""

from collections.abc import Iterator
from struct import pack_into

import pytest

from analyzer.questions.audit.audit_engine import Profile
from analyzer.questions.audit.identifier_lists import read_identifiers
from tests.build.buffers import Block, identifier, perf_data
from tests.build.calls import COUNTERSET, HANDLE, OTHER_COUNTERSET, Calls, sealed
from tests.questions.audit.conversation import ALL, u4
from tests.questions.audit.judging import Case, by_name, found_by, holds, judged
from tests.questions.audit.registered import countersets, enumerated, instances

CODES = ("PCQ401", "PCQ402", "PCQ405", "PCQ410", "PCQ412", "PCQ415", "PCQ416", "PCQ420", "PCQ425", "PCQ430")
MULTIPLE, SINGLE = COUNTERSET, OTHER_COUNTERSET
REGISTERED = {MULTIPLE: (2, {1: 0x10000, 2: 0x10000}), SINGLE: (0, {1: 0x10000})}
# The name takes 6 bytes with its NUL, so 2 of padding follow.
NAMED = identifier(MULTIPLE, name="ab")
TWO = NAMED + identifier(MULTIPLE, counter=2, name="ab")


def with_(data, at, value):
    changed = bytearray(data)
    pack_into("<I", changed, at, value)
    return bytes(changed)


def info(data):
    return Calls().counter_info(data)


def asked(data, answered=None, **options):
    return Calls().validate(data, answered, **options)


def known(*events):
    return [*countersets(REGISTERED), *events]


# ------------------------------------------------------------------------------------------- each by itself

UNEVEN = with_(identifier(MULTIPLE, name="ab")[:47], 20, 47)
HALF_A_PAIR = identifier(MULTIPLE)[:20] + u4(48) + bytes(16) + b"\0\xd8a\0\0\0\0\0"
ENDLESS = with_(identifier(MULTIPLE) + "abcd".encode("utf-16-le"), 20, 48)
ODD = with_(NAMED[:46], 20, 46)
PRESET = with_(NAMED, 16, 0x777)
# The rules that speak of what was listed or asked. What other sizes lead to, `sweeps` has.
SAID = {
    "nothing wrong": ([info(TWO), asked(TWO), asked(TWO, with_(TWO, 16, 0x106A))], set()),
    "a buffer below one identifier": ([asked(bytes(20), b"", status=0x57)], {"PCQ401"}),
    **{
        f"no name in a set with instances, {made.__name__}": ([made(identifier(MULTIPLE))], {"PCQ410"})
        for made in (info, asked)
    },
    "a size beyond the end in a list": ([info(with_(TWO, 48 + 20, 56))], {"PCQ402"}),
    "a name without a NUL": ([info(ENDLESS)], {"PCQ410"}),
    "no name in a set without instances": ([asked(identifier(SINGLE))], set()),
    "a size off 8": ([info(ODD)], {"PCQ415"}),
    "padding in a request": ([asked(NAMED[:46] + b"\x41\0")], set()),
}


@pytest.mark.parametrize("what", SAID)
def test_the_rule_about_what_is_wrong_speaks_and_no_other(what):
    events, expected = SAID[what]
    assert {one.rule.code for one in found_by(CODES, *known(*events))} == expected


def sound(code):
    both = NAMED + identifier(SINGLE, name="" if code != "PCQ412" else None)
    return known(info(both), asked(both))


def of_fields() -> Iterator[Case]:
    for code in CODES:
        yield code, "sound identifiers", "pass", sound(code)
    # Of two readings of a name where there are no instances at most one is kept.
    rows = ((None, ("not-exercised", "pass")), ("", ("pass", "not-exercised")), ("a", ("pass", "not-exercised")))
    for name, verdicts in rows:
        for code, verdict in zip(("PCQ410", "PCQ412"), verdicts, strict=True):
            made = known(asked(identifier(SINGLE, name=name)))
            yield code, f"the name {name!r} in a set without instances", verdict, made
    yield "PCQ405", "half a character", "fail", known(info(UNEVEN))
    yield "PCQ405", "half a pair", "warn", [info(HALF_A_PAIR)]
    yield "PCQ405", "a pair", "pass", [info(identifier(MULTIPLE, name="\U0001f4a9"))]
    yield "PCQ410", "no name of a set without instances in a list", "not-exercised", known(info(identifier(SINGLE)))
    yield "PCQ410", "without the registration", "inconclusive", [made(identifier(MULTIPLE)) for made in (info, asked)]
    yield "PCQ412", "a name of a set without instances", "not-exercised", known(info(identifier(SINGLE, name="x")))
    yield "PCQ415", "a size off 8 in a list", "fail", [info(ODD)]
    yield "PCQ415", "a size off 8 in a request", "fail", [asked(ODD)]
    yield "PCQ416", "padding in a list", "fail", [info(NAMED[:46] + b"\x41\0")]
    for at, of_addition, of_removal in ((36, "fail", "fail"), (16, "warn", "pass"), (32, "warn", "pass")):
        for add, verdict in ((1, of_addition), (0, of_removal)):
            preset = with_(NAMED, at, 0x57)
            made = [asked(preset, NAMED, add=add)]
            yield "PCQ420", f"a field at {at} that a client must not set, dwAdd {add}", verdict, made
    for status, verdict in ((0xC0000034, "fail"), (0x12345, "warn"), (5, "warn")):
        yield "PCQ425", f"status {status:#x}", verdict, [asked(NAMED, with_(NAMED, 16, status))]
    yield "PCQ425", "garbage in a status of a list", "warn", [info(with_(NAMED, 16, 0xCCCCCCCC))]
    yield "PCQ425", "a status left as the client had set it", "fail", [asked(PRESET)]
    yield "PCQ425", "a status that may have been left", "pass", [asked(with_(NAMED, 16, 3))]
    yield "PCQ425", "a status that was set", "pass", [asked(PRESET, NAMED)]
    for at, value in ((0, 7), (24, 9), (28, 9), (36, 9), (40, 0x62)):
        yield "PCQ430", f"another field at {at} on return", "warn", [asked(TWO, with_(TWO, at, value))]
    yield "PCQ430", "fewer identifiers on return", "fail", [asked(TWO, NAMED)]
    yield "PCQ430", "status and index may change", "pass", [asked(TWO, with_(with_(TWO, 16, 0x106A), 32, 4))]


@pytest.mark.parametrize("case", [*of_fields()], ids=by_name)
def test_identifiers(case):
    holds(case)


def test_a_missing_name_of_a_set_without_instances_is_an_error_by_the_letter():
    (finding,) = judged("PCQ410", *known(info(identifier(SINGLE))), profile=Profile.SPEC).findings
    assert (finding.severity, finding.is_excused) == ("error", False)


def test_what_asks_for_everything():
    every = [
        identifier(MULTIPLE, name="a*"),
        identifier(MULTIPLE, name="b", counter=ALL),
        identifier(MULTIPLE, name="*"),
    ]
    blocks = read_identifiers(b"".join(every)).blocks
    assert [block.asks_all_counters for block in blocks] == [False, True, False]
    assert [block.asks_all_instances for block in blocks] == [False, False, True]


# ------------------------------------------------------------------------------------------- against each other

VALUE = u4(7)
ONE = Block(1, values=((VALUE,),))
SEVERAL = Block(2, ids=(1, 2), values=((VALUE, VALUE),))
EACH = Block(4, instances=(("a", 0), ("b", 1)), values=((VALUE,), (VALUE,)))
EVERYTHING = Block(6, ids=(1, 2), instances=(("a", 0), ("b", 1)), values=((VALUE, VALUE),) * 2)
ERROR = Block(0, status=0x1069)


def of(counter, name, guid=MULTIPLE, **more):
    return identifier(guid, counter=counter, name=name, **more)


A, B = of(1, "a"), of(2, "a")
# QueryCounterInfo, ValidateCounters and QueryCounterData by what they are called with.
HELD, ADD, REMOVE, DATA, SEAL = "held", "add", "remove", "data", "sealed "


def talk(*steps, first=(), is_opened=True):
    """Calls of one client: what each is, and what it lists or is answered."""
    calls = Calls()
    made = [*(one(calls) for one in first), *([calls.open_query()] if is_opened else [])]
    for kind, *given in steps:
        match kind.removeprefix(SEAL):
            case "held":
                call = calls.counter_info(b"".join(given))
            case "data":
                call = calls.counter_data(perf_data(list(given)))
            case add:
                call = calls.validate(b"".join(given), add=add == ADD)
        made.append(sealed(call) if kind.startswith(SEAL) else call)
    return made


def listing(names):
    return lambda calls: instances(names, calls)


def polled(held, *blocks, sets=REGISTERED, names=None):
    """A handle that holds `held` by QueryCounterInfo, and one answer."""
    before = [listing(names)] if names else []
    return [*countersets(sets), *talk((HELD, held), (DATA, *blocks), first=before)]


def status_of(status, *before, add=1, sent=A, is_known=True):
    """An identifier with the status it got, after others that were added."""
    calls = Calls()
    lists = [*countersets(REGISTERED, calls), enumerated([COUNTERSET], calls), instances({0: "a"}, calls)]
    made = [*(lists if is_known else []), calls.open_query(), *map(calls.validate, before)]
    return [*made, calls.validate(sent, with_(sent, 16, status), add=add)]


def query(calls, room, status=0, needed=None):
    stub = calls.stub().handle(HANDLE).uint(room)
    return calls.exchange(6, stub, calls.sized(b"" if status else perf_data([]), status, needed=needed))


def queries(*asked, seal=()):
    """Calls with room, status and the size that is stated to be needed."""
    calls = Calls()
    made = [query(calls, *one) for one in asked]
    return [sealed(one) if at in seal else one for at, one in enumerate(made)]


def added_to(kind, *names, listed=True):
    calls = Calls()
    sets = [*countersets({COUNTERSET: (kind, {1: 0x10000})}, calls), calls.open_query()]
    lists = [instances({0: "a", 1: "b"}, calls)] if listed else []
    return [*sets, *lists, calls.validate(b"".join(of(1, name) for name in names))]


def added_ids(*numbers, guid=MULTIPLE, listed=True):
    calls = Calls()
    lists = [*countersets(REGISTERED, calls), instances({0: "a", 1: "b"}, calls)] if listed else []
    return [*lists, *(calls.validate(identifier(guid, instance=number, name="a")) for number in numbers)]


UNKNOWN_SET = identifier("00000000-0000-0000-0000-000000000001", name="a")
CORRUPT = A[:36] + b"\1" + A[37:]
FAR = identifier(COUNTERSET, name="a", index=5)
EACH_HELD = of(1, "*")


def of_blocks() -> Iterator[Case]:
    rows = enumerate(
        (
            *(
                (A, ONE),
                (of(ALL, "a"), SEVERAL),
                (EACH_HELD, EACH),
                (of(ALL, "*"), EVERYTHING),
                (of(ALL, "*"), ERROR),
            ),
            *((of(1, None, SINGLE), ONE), (of(1, "*", SINGLE), ONE), (of(ALL, "*", SINGLE), SEVERAL)),
        )
    )
    for number, (held, block) in rows:
        yield "PCQ545", f"a block of the form its counter asks for, {number}", "pass", polled(held, block)
    rows = enumerate(
        (
            *((A, EACH), (A, SEVERAL), (EACH_HELD, EVERYTHING), (EACH_HELD, ONE), (of(ALL, "a"), ONE)),
            *((of(ALL, "*"), EACH), (of(ALL, "*"), SEVERAL), (of(1, None, SINGLE), EACH)),
        )
    )
    for number, (held, block) in rows:
        yield "PCQ545", f"a block of another form, {number}", "fail", polled(held, block)
    yield "PCQ545", "a wildcard may find one instance of an unknown set", "pass", polled(EACH_HELD, ONE, sets={})
    yield "PCQ545", "without the counters of the handle", "inconclusive", talk((DATA, ONE), is_opened=False)
    yield "PCQ546", "fewer blocks than counters", "fail", talk((ADD, A, B), (DATA, ONE))
    yield "PCQ546", "blocks of errors count", "pass", talk((ADD, A, B), (DATA, ONE, ERROR))
    yield "PCQ546", "a counter that may be held twice", "inconclusive", talk((ADD, A), (ADD, A), (DATA, ONE, ONE))
    yield "PCQ546", "an unknown handle", "inconclusive", talk((DATA, ONE), is_opened=False)
    yield "PCQ546", "a sealed addition", "inconclusive", talk((SEAL + ADD, A), (DATA, ONE))
    yield "PCQ546", "one counter at two places", "inconclusive", talk((HELD, A, of(1, "a", index=1)), (DATA, ONE, ONE))


def of_lists() -> Iterator[Case]:
    yield "PCQ450", "two counters with one index", "fail", [info(A + B)]
    yield "PCQ450", "two indexes", "pass", [info(A + of(2, "a", index=1))]
    yield "PCQ450", "an index beyond the blocks", "fail", polled(FAR, ONE)
    yield "PCQ450", "an index before counters were added", "pass", talk((HELD, FAR), (ADD, B), (DATA, ONE))
    yield "PCQ445", "a counter left out", "fail", talk((ADD, A, B), (HELD, A))
    yield "PCQ445", "a counter made up", "fail", talk((ADD, A, B), (HELD, A, B, of(3, "a")))
    yield "PCQ445", "a counter that was removed", "pass", talk((ADD, A, B), (REMOVE, A), (HELD, B))
    made = talk((ADD, identifier(COUNTERSET, instance=ALL, name="a"), B), (HELD, of(2, "A"), A))
    yield "PCQ445", "another order, another case, any instance id", "pass", made
    yield "PCQ445", "an opening that is not in the capture", "inconclusive", talk((ADD, A), (HELD,), is_opened=False)


def of_instances() -> Iterator[Case]:
    yield "PCQ440", "an instance id that was not listed", "warn", added_ids(7)
    yield "PCQ440", "ids that were listed, and any", "pass", added_ids(1, ALL)
    yield "PCQ440", "an id in a set without instances", "pass", added_ids(7, guid=SINGLE)
    yield "PCQ440", "no list", "inconclusive", added_ids(7, listed=False)
    yield "PCQ550", "other instances than those listed", "pass", polled(EACH_HELD, EACH, names={0: "c", 1: "d"})
    made = polled(EACH_HELD, EACH, names={0: "A", 2: "d", 1: "b"})
    yield "PCQ550", "instances in another case, and more of them", "pass", made
    yield "PCQ550", "another id", "warn", polled(EACH_HELD, EACH, names={0: "a", 7: "b"})
    yield "PCQ550", "no list", "inconclusive", polled(EACH_HELD, EACH)
    rows = ((4, "a", "warn"), (0xC, "a", "warn"), (4, "ab", "pass"), (4, "*", "pass"), (6, "a", "not-exercised"))
    for kind, names, verdict in rows:
        yield "PCQ455", f"an aggregate of type {kind:#x} over {names}", verdict, added_to(kind, *names)
    for kind in (4, 0xC):
        made = added_to(kind, "a", listed=False)
        yield "PCQ455", f"an aggregate of type {kind:#x} without a list", "inconclusive", made


def of_statuses() -> Iterator[Case]:
    rows = (
        ("a registered counter not found", "fail", 0x106A, (), 1, A),
        ("an unregistered counter not found", "pass", 0x106A, (), 1, of(9, "a")),
        ("an unregistered counter added", "fail", 0, (), 1, of(9, "a")),
        ("a registered counter added", "pass", 0, (), 1, A),
        ("a listed counterset not found", "fail", 0x1068, (), 1, A),
        ("an unlisted counterset not found", "pass", 0x1068, (), 1, UNKNOWN_SET),
        ("a counter of an unlisted counterset added", "fail", 0, (), 1, UNKNOWN_SET),
        ("an unlisted instance added", "warn", 0, (), 1, of(1, "z")),
        ("a listed instance not found", "warn", 3, (), 1, A),
        ("an unlisted instance not found", "pass", 3, (), 1, of(1, "z")),
        ("a counter added twice", "fail", 0, (A,), 1, A),
        ("a counter stated to be there", "pass", 0xB7, (A,), 1, A),
        ("a counter stated to be there that is not", "fail", 0xB7, (), 1, A),
        ("a counter removed that is not there", "fail", 0, (), 0, A),
        ("a counter stated not to be there", "pass", 0x57, (), 0, A),
        ("a counter that is there not removed", "fail", 0x57, (A,), 0, A),
        ("a sound identifier stated to be corrupt", "pass", 0x57, (), 1, A),
        ("a corrupt identifier", "pass", 0x57, (), 1, CORRUPT),
        ("no memory", "pass", 0xE, (), 1, A),
        ("a wildcard may remove what it covers", "pass", 0, (A,), 0, of(ALL, "*")),
    )
    for promise, verdict, status, before, add, sent in rows:
        yield "PCQ435", promise, verdict, status_of(status, *before, add=add, sent=sent)
    for status in (0x1068, 0x106A, 3):
        yield "PCQ435", f"{status:#x} without what it is held against", "pass", status_of(status, is_known=False)
    rows = (
        (0xB7, 1, "pass"),
        (0x57, 0, "pass"),
        (0, 1, "inconclusive"),
        (0, 0, "inconclusive"),
    )
    for status, add, verdict in rows:
        made = status_of(status, add=add, is_known=False)[-1:]
        yield "PCQ435", f"{status:#x} to {add} where no handle is known", verdict, made
    for calls, status, verdict in ((Calls(), 0, "pass"), (Calls(), 0xB7, "pass")):
        made = [calls.open_query(), calls.validate(A + A, A + with_(A, 16, status))]
        yield "PCQ435", f"two alike in one call, {status:#x}", verdict, made


def of_sizes() -> Iterator[Case]:
    yield "PCQ560", "the size that was asked for is refused", "fail", queries((0, 8, 800), (800, 8, 800))
    yield "PCQ560", "the size that was asked for is enough", "pass", queries((0, 8, 800), (800,))
    yield "PCQ560", "more is needed meanwhile", "inconclusive", queries((0, 8, 800), (800, 8, 900))
    yield "PCQ560", "less than was asked for", "not-exercised", queries((0, 8, 800), (100, 8, 800))
    yield "PCQ560", "a sealed size", "inconclusive", queries((0, 8, 800), (800,), seal=[0])
    yield "PCQ561", "a size of a failure that defines none", "warn", queries((64, 5, 12345), (12345,))
    yield "PCQ561", "another size", "pass", queries((64, 5, 12345), (64,))
    yield "PCQ561", "no size", "not-exercised", queries((64, 5, 0), (64,))
    yield "PCQ562", "no Win32 code", "fail", queries((64, 0x80070005))
    yield "PCQ562", "a code that is not in use", "warn", queries((64, 0x12345))
    yield "PCQ562", "a Win32 code", "pass", queries((64, 5))


@pytest.mark.parametrize("case", [*of_blocks(), *of_lists(), *of_instances(), *of_statuses(), *of_sizes()], ids=by_name)
def test_what_is_said_of_counters_agrees(case):
    holds(case)

"""The text reports: what people read, and that nothing on the wire can disturb it."""

import re
from collections import Counter as Counts
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.text import Text

from analyzer.core.events import Problem
from analyzer.core.frame_ids import frame_id
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.questions.filters.call_selection import Selection
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.security import Decryption, Identity
from analyzer.screens.views.docs import page_lines
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.sessions_and_hosts import Hosts
from analyzer.screens.views.text_report import (
    _FRAMES_SHOWN,
    _HEADER_LINES,
    _SHOWN_PROBLEMS,
    CallRun,
    _coloured,
    _more,
    _seconds,
    call_lines,
    call_run_lines,
    folded,
    frames_words,
    header_lines,
    nothing_passes,
    part_lines,
    problem_lines,
    safe,
    styled,
    time_words,
    total_words,
)
from analyzer.screens.views.timeline import Timeline
from tests import truth
from tests.analyses import analysis_of_file
from tests.build.buffers import Block, Counter, Instance, PerfObject, identifier, name_table, perf_data, wide, winperf
from tests.build.calls import COUNTERSET, HANDLE, NO_SECURITY, Calls, analysis_of, sealed, winreg
from tests.build.rpc import CHANNEL
from tests.rules_document import document_lines
from tests.written import Tables, held, is_as_written

TABLES = Tables()

TEXT = Path(__file__).parent / "texts" / "text.txt"
EVIL = "[red]x[/]\x1b[2J\u202e:warning:\\"


def plain(lines: Iterable[str]) -> list[str]:
    return [Text.from_markup(line, emoji=False).plain for line in lines]


def timeline(analysis: Analysis, width: int | None = None, **options: bool | str) -> list[str]:
    return plain(Timeline(analysis, **options).lines(width))


@pytest.fixture(scope="module")
def first() -> Analysis:
    return analysis_of_file(truth.captures()[0].file)


BLOCK = winperf([PerfObject(238, (Counter(6, 0x20510500, 8),), (Instance("0", -1, (0, 0), (5,)),))])


# ------------------------------------------------------------------------------------------------ hostile text


def hostile() -> Analysis:
    make, keys = Calls(), winreg(first_frame=50)
    identity = Identity(mechanism="ntlm", user=EVIL, domain=EVIL, workstation=EVIL)
    exchange = make.counter_data(perf_data([Block(6, ids=(5,), instances=((EVIL, 1),), values=((wide(EVIL * 2),),))]))
    exchange = replace(exchange, auth=replace(NO_SECURITY, level=5, mechanism="ntlm", identity=identity))
    return analysis_of(
        make.registration(9, wide(EVIL)),
        make.open_query(),
        make.validate(identifier(COUNTERSET, counter=5, name=EVIL)),
        exchange,
        keys.open_key(),
        keys.query_value(EVIL, BLOCK),
        keys.query_value("Counter 009", name_table([("6", EVIL), ("238", EVIL)])),
        Problem("note", "smb", (1,), EVIL),
        files=(EVIL,),
    )


@pytest.mark.parametrize("width", [None, 60, 100])
def test_nothing_from_the_wire_is_markup_or_control(width: int | None) -> None:
    analysis = hostile()
    shown = [*timeline(analysis, width), *plain(Samples(analysis).lines(width)), *plain(Hosts(analysis).lines(width))]
    text = "\n".join(shown)
    assert all(char.isprintable() or char == "\n" for char in text)
    joined = re.sub(r"\s+", "", text)
    assert joined.count("[red]x[/]\\x1b[2J\\u202e:warning:\\") > 10


def test_no_style_is_open_after_a_line() -> None:
    for line in Timeline(hostile()).lines(None):
        for span in Text.from_markup(line, emoji=False).spans:
            assert span.style in ("bold", "green", "yellow", "red", "cyan")


@pytest.mark.parametrize(
    "text", ["C:\\", "C:\\\\", "a\\\\\\", "[x]\\", "\\[/]", "[/]", "[bold]", "\\", "", "[[red]]\\\\"]
)
def test_text_comes_out_as_it_is(text: str) -> None:
    assert Text.from_markup(safe(text), emoji=False).plain == text
    both = Text.from_markup(f"{styled('red', text)} and {styled('bold', text)}", emoji=False)
    assert both.plain == f"{text} and {text}"
    if text:
        assert [span.style for span in both.spans] == ["red", "bold"]


# ------------------------------------------------------------------------------------------------ folding


@pytest.mark.parametrize("width", [40, 60, 80, 100, 132])
def test_folding_keeps_every_word_and_indents(first: Analysis, width: int) -> None:
    wide_lines, narrow_lines = timeline(first), timeline(first, width)
    if width < 110:  # between whom all calls are stands in the legend alone
        wide_lines = [re.sub(r"^( *[\d.]+  #\S+ *)\S+ → \S+  ", r"\1", line) for line in wide_lines]
    assert " ".join(narrow_lines).split() == " ".join(wide_lines).split() or width < 80
    assert "".join("".join(narrow_lines).split()) == "".join("".join(wide_lines).split())
    # The name of the file stays in one piece.
    assert all(len(line) <= max(width, 42) for line in narrow_lines[1:])
    begins = re.compile(r" {4,}\d+\.\d{6}  #")
    calls_at = [at for at, line in enumerate(narrow_lines) if begins.match(line)]
    for at in calls_at[:-1]:
        if at + 1 not in calls_at:
            assert narrow_lines[at + 1].startswith(" " * 22)


def test_a_word_too_long_for_a_line_is_broken() -> None:
    assert "".join(line.strip() for line in folded("x" * 500, 4, 50)) == "x" * 500


# ------------------------------------------------------------------------------------------------ the words of lines


def test_what_is_listed_is_bounded() -> None:
    """A header and what follows the calls fit on a screen each; a line names eight frames."""
    assert (_FRAMES_SHOWN, _HEADER_LINES, _SHOWN_PROBLEMS) == (8, 12, 24)
    assert [list(_more(count, "files")) for count in (-1, 0, 1, 2000)] == [
        [],
        [],
        ["and 1 more files"],
        ["and 2,000 more files"],
    ]


@TABLES.of(
    *(("one two three", 2, None), ("one two three", 2, 13), ("one two three four five si", 2, 25)),
    # There are twenty columns for words at least, however deep they stand.
    *(("one two three four five six", 2, 5), ("one two three four five six", 2, 22)),
    *(("one two three four five six", 2, 23), ("one two three four five six", 10, 12)),
    ("12345678901234567890123", 2, 22),
)
def lines_fold_at_a_width(line, indent, width):
    return list(folded(line, indent, width))


FACTS = CaptureFacts(("a.pcap",), 3, 180, 1_000_000_000, 3_500_000_000)


@TABLES.of(
    *(("relative", None, 1), ("relative", 2, 1), ("relative", None, None), ("delta", None, 1), ("delta", 2, 1)),
    *(("delta", 3.5, 1), ("absolute", None, None)),
)
def a_time_is_in_utc_or_since_the_capture_or_the_call_before(clock, before, first):
    """Three seconds and a bit after 1970; call and capture in seconds, too."""
    before_ns, first_ns = (None if one is None else int(one * 1_000_000_000) for one in (before, first))
    return time_words(3_000_001_234, replace(FACTS, first_time_ns=first_ns), clock, before_ns)


@TABLES.of((1_000_000_000, 1_234_000_000_000), (None, 1), (1, None), (None, None))
def the_header_states_frames_bytes_and_times(first, last):
    analysis = analysis_of()
    facts = replace(analysis.capture, frames=1200, bytes=99_000, first_time_ns=first, last_time_ns=last)
    return list(header_lines(replace(analysis, capture=facts), None))[1]


@TABLES.of(
    *(((), 1), ((5,), 1), ((5, 6), 1), (tuple(range(1, 9)), 1), (tuple(range(1, 10)), 1), ((5,), 2)),
    *(((5, 6, frame_id(1, 7)), 2), (tuple(frame_id(1, number) for number in range(1, 12)), 2)),
)
def frames_by_number(numbers, files):
    return frames_words(numbers, replace(FACTS, files=("a.pcap", "b.pcap")[:files]))


@TABLES.of(
    *(({}, 0), ({"complete": 1}, 1), ({"sealed": 2, "complete": 3}, 5), ({"complete": 1}, 2), ({}, 1)),
)
def calls_are_counted_by_how_they_ended(states, count):
    return total_words(Counts(states), count)


@TABLES.of(
    *((["asked"],), (["asked ⇒ ok"],), (["asked", "    ⇒ ok", "    more"],)),
    # The arrow ends its line.
    *((["asked ⇒", "    ok"],), (["asked⇒x ⇒ ok"],), (["asked ⇒ ok  1.000\u00a0ms"],)),
    *((["asked ⇒ ok", "    1.000\u00a0ms"],), (["\\[x] ⇒ ok"],)),
)
def a_line_is_coloured_from_its_outcome_on(lines):
    return list(_coloured(lines, "red"))


@TABLES.of("0", "99_999_999", "100_000_000", "1_234_567_000_000")
def intervals_are_in_milliseconds_below_a_tenth_of_a_second(time_ns):
    return _seconds(int(time_ns))


# ------------------------------------------------------------------------------------------------ one call, one run


def test_what_is_wrong_with_a_buffer_is_noted_once() -> None:
    """Of an empty or absent side nothing needs to be decoded again; what is damaged is kept."""
    make = Calls()
    data = perf_data([Block(1, values=((b"\1\0\0\0",),))])
    events = [make.open_query(), make.counter_data(data), make.counter_data(data[:-3])]
    analysis = analysis_of(*events, make.exchange(6, make.stub().handle(HANDLE).uint(4096), None))
    damages = Damages(1)
    for number, call in enumerate(analysis.calls, 1):
        list(call_lines(number, call, analysis, None, damages=damages))
    assert [damages.is_sound(number) for number in range(1, 5)] == [True, True, False, True]
    damaged = analysis.calls[2].response
    assert damaged is not None
    assert damages.problem_of(3, "response", damaged) is not None


def run_of(
    times: Sequence[int], *, polls: bool = True, damages: Damages | None = None, width: int | None = None
) -> list[str]:
    make = Calls()
    data = [perf_data([Block(1, values=((b"\1\0\0\0",),))])] * (len(times) - 1)
    data.append(perf_data([Block(1, values=((b"\1\0\0\0",),)), Block(0, status=0x1069)]))
    analysis = analysis_of(make.open_query(), *map(make.counter_data, data))
    numbers = list(range(2, 2 + len(times)))
    run = CallRun(numbers, [one * 1_000_000 for one in times], polls)
    lines = call_run_lines(
        run, analysis.calls[1], analysis, width, time="now", ends="a → b", damages=damages or Damages()
    )
    return plain(lines)


# ------------------------------------------------------------------------------------------------ what is shown, and what is not


def problems(count: int, alike: int = 1) -> Analysis:
    made = [Problem(f"kind{kind:02}", "tcp", (1,), f"text {kind}") for kind in range(count) for _ in range(alike)]
    return analysis_of(Calls().open_query(), *made)


def test_items_of_a_list_stand_on_lines_of_their_own() -> None:
    page = "Looks for:\n\n- a size that\n  leads to nothing\n- a dash - inside\n\nSilent: never."
    unwrapped = ["Looks for:", "", "- a size that leads to nothing", "- a dash - inside", "", "Silent: never.", ""]
    assert list(page_lines(page, None)) == unwrapped
    assert list(page_lines(page, 24))[2:5] == ["- a size that leads to", "  nothing", "- a dash - inside"]
    assert list(document_lines(page)) == unwrapped


# ------------------------------------------------------------------------------------------------ whole lines


def of_reads() -> Iterator[tuple[str, Iterable[str]]]:
    make = winreg()
    counters = (Counter(6, 0x20510500, 8), Counter(142, 0x20510500, 8))
    alone = winperf([PerfObject(238, counters, (), metadata=True), PerfObject(4242, counters[:1], (), metadata=True)])
    read = analysis_of(make.query_value("MetadataGlobal", alone))
    yield "metadata is distinguished from values", Timeline(read).lines(None)
    make = winreg()
    opened = make.open_key()
    texts = ("Counter 009", ("6", "% Processor Time")), ("Help 009", ("7", "is how long"))
    small = [make.query_value("238", b"", status=234, room=room, needed=900) for room in (64, 128)]
    whole = make.query_value("238", BLOCK), *(make.query_value(name, name_table([one])) for name, one in texts)
    tried = analysis_of(opened, *small, *whole, make.close_key())
    for every in (False, True):
        yield f"tries of a read, every one: {every}", Timeline(tried, all_attempts=every).lines(None)
        for count in (0, 1, 2):
            make = winreg()
            opened = make.open_key()
            before = [make.query_value("238", b"", status=234, room=64, needed=900) for _ in range(count)]
            one = analysis_of(opened, *before, make.query_value("238", BLOCK))
            yield f"{count} tries, every one: {every}", call_lines(9, one.calls[-1], one, None, all_attempts=every)
    yield "no samples say why", Samples(analysis_of(sealed(Calls().counter_data(b"")))).lines(None)


def of_lines() -> Iterator[tuple[str, Iterable[str]]]:
    analysis = analysis_of(Calls().open_query())
    for number, given in ((1, {}), (123456, {"time": "now", "ends": "a → b"}), (12, {"time": "now", "ends": ""})):
        yield f"call {number} with {given}", call_lines(number, analysis.calls[0], analysis, None, **given)
    yield "a line folds", call_lines(1, analysis.calls[0], analysis, 36, time="now", ends="a → b")
    # The median; from a tenth of it on, also the least and the most.
    for times in (
        (0, 10, 20, 30), (0, 100, 210, 310), (0, 100, 211, 311), (0, 10, 30, 80), (0, 50, 70, 80, 120),
        (0, 1000, 2000, 3000), (0, 0, 0), (0, 100, 199),
    ):  # fmt: skip
        for polls in (True, False):
            yield f"a run at {times}, {polls}", run_of(times, polls=polls)
    yield "a run folds", run_of((0, 10, 20), width=60)


def of_parts() -> Iterator[tuple[str, Iterable[str]]]:
    make = Calls()
    analysis = analysis_of(make.open_query(), *(make.close_query() for _ in range(1200)))
    some, none = (Selection(handle=handle).selected_analysis(analysis) for handle in ("q1", "q9"))
    for width in (None, 26):
        yield f"a part, {width}", part_lines(some, width)
    yield "the whole", part_lines(analysis, None)
    yield "nothing of it", nothing_passes(none)
    for one in (some, analysis, analysis_of(), Selection(handle="q9").selected_analysis(analysis_of())):
        yield f"nothing passes: {len(one.calls)} calls, {one.part and one.part.words}", nothing_passes(one)
    make, unknown = Calls(channel=replace(CHANNEL, session=None)), Calls("99999999-1111-2222-3333-444444444444")
    lone = analysis_of(make.open_query(), make.close_query(), make.exchange(None, None, b"\0"))
    yield "calls without a session state their ends", header_lines(lone, None)
    yield "calls of an unknown interface", header_lines(analysis_of(unknown.exchange(1, b"", b"")), None)
    for count, alike in ((24, 1), (25, 1), (1, 2), (1, 1500)):
        yield f"{count} kinds of problems, {alike} alike", problem_lines(problems(count, alike), None)
    unread = sealed(Calls().open_query())
    unread = replace(unread, auth=replace(unread.auth, level=6, mechanism="ntlm", decryption=Decryption.NO_KEY))
    lost = analysis_of(unread, Problem("gap", "tcp", (1,), "100 bytes were not captured"))
    yield "problems fold and are yellow", problem_lines(lost, 30)


def test_all_lines_are_in_one_text() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    is_as_written(
        TEXT, "".join("\n  ".join([name, *lines]) + "\n" for name, lines in chain(of_reads(), of_lines(), of_parts()))
    )


test_times_frames_and_counts_are_as_they_were_read_through = held(__file__, TABLES)

"""The text reports: what people read, and that nothing on the wire can disturb it."""

from __future__ import annotations

import re
from collections import Counter as Counts
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from rich.text import Text

from analyzer.core.events import Problem
from analyzer.core.frame_ids import frame_id
from analyzer.interfaces.contents.damages import Damages
from analyzer.questions.filters.selection import Selection
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.security import Decryption, Identity
from analyzer.screens.views.call_runs import CallRun
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.sessions import Hosts
from analyzer.screens.views.text import (
    _FRAMES_SHOWN,
    _HEADER_LINES,
    _SHOWN_PROBLEMS,
    _coloured,
    _more,
    _seconds,
    call_lines,
    call_run_lines,
    folded,
    frames_words,
    header_lines,
    nothing_passes,
    page_lines,
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

EVIL = "[red]x[/]\x1b[2J\u202e:warning:\\"


def plain(lines: Iterable[str]) -> list[str]:
    return [Text.from_markup(line, emoji=False).plain for line in lines]


def timeline(analysis: Analysis, width: int | None = None, **options: bool | str) -> list[str]:
    return plain(Timeline(analysis, **options).lines(width))  # type: ignore[arg-type]


def calls(analysis: Analysis, **options: bool | str) -> list[str]:
    """The lines of calls, without time and ends."""
    found = []
    for line in timeline(analysis, **options):
        if match := re.match(r" *[\d.]+  #(\d+) +\S+ → \S+  (.*)", line):
            found.append(f"#{match[1]} {match[2]}")
    return found


@pytest.fixture(scope="module")
def first() -> Analysis:
    return analysis_of_file(truth.captures()[0].file)


# ------------------------------------------------------------------------------------------------ the timeline


BLOCK = winperf([PerfObject(238, (Counter(6, 0x20510500, 8),), (Instance("0", -1, (0, 0), (5,)),))])


def test_metadata_is_distinguished_from_values() -> None:
    make = winreg()
    counters = (Counter(6, 0x20510500, 8), Counter(142, 0x20510500, 8))
    alone = winperf([PerfObject(238, counters, (), metadata=True), PerfObject(4242, counters[:1], (), metadata=True)])
    (line,) = calls(analysis_of(make.query_value("MetadataGlobal", alone)))
    assert re.sub(r"  [\d.]+ ms$", "", line) == (
        "#1 k1 winreg.BaseRegQueryValue MetadataGlobal (counter definitions, without values, of all objects that are cheap to "
        f"collect), room for 4096 bytes ⇒ {len(alone)} bytes: 2 objects, 0 values; "
        "the definitions of 3 counters of Processor, object 4242"
    )


def test_tries_of_a_read_are_shown_as_one_unless_asked_for() -> None:
    make = winreg()
    analysis = analysis_of(
        make.open_key(),
        make.query_value("238", b"", status=234, room=64, needed=900),
        make.query_value("238", b"", status=234, room=128),
        make.query_value("238", BLOCK),
        make.query_value("Counter 009", name_table([("6", "% Processor Time")])),
        make.query_value("Help 009", name_table([("7", "is how long")])),
        make.close_key(),
    )
    short = [re.sub(r"  [\d.]+ ms$", "", line) for line in calls(analysis)]
    assert short == [
        "#1 k1 winreg.OpenPerformanceData ⇒ ok",
        (
            "#4 k1 winreg.BaseRegQueryValue object 238 Processor, room for 4096 bytes (after 2 tries with buffers too small) "
            f"⇒ {len(BLOCK)} bytes: 1 object, 1 value of Processor"
        ),
        "#5 k1 winreg.BaseRegQueryValue counter names (language 009), room for 4096 bytes ⇒ 40 bytes: 1 name",
        "#6 k1 winreg.BaseRegQueryValue help texts (language 009), room for 4096 bytes ⇒ 30 bytes: 1 text",
        "#7 k1 winreg.BaseRegCloseKey ⇒ ok",
    ]
    every = calls(analysis, all_attempts=True)
    assert [line.split()[0] for line in every] == [f"#{number}" for number in range(1, 8)]
    assert "⇒ ERROR_MORE_DATA" in every[1]
    assert "(try 3)" in every[3]


# ------------------------------------------------------------------------------------------------ other reports


def test_no_samples_say_why() -> None:
    lines = plain(Samples(analysis_of(sealed(Calls().counter_data(b"")))).lines(None))
    assert lines[0] == "no counter value could be read"
    assert "  1 call sealed: no key" in lines


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


@pytest.mark.parametrize(
    ("line", "indent", "width", "lines"),
    [
        ("one two three", 2, None, ["one two three"]),
        ("one two three", 2, 13, ["one two three"]),
        ("one two three four five si", 2, 25, ["one two three four five", "  si"]),
        # There are twenty columns for words at least, however deep they stand.
        ("one two three four five six", 2, 5, ["one two three four", "  five six"]),
        ("one two three four five six", 2, 22, ["one two three four", "  five six"]),
        ("one two three four five six", 2, 23, ["one two three four five", "  six"]),
        ("one two three four five six", 10, 12, ["one two three four five six"[:27]]),
        ("12345678901234567890123", 2, 22, ["1234567890123456789012", "  3"]),
    ],
)
def test_lines_fold_at_a_width(line: str, indent: int, width: int | None, lines: list[str]) -> None:
    assert list(folded(line, indent, width)) == lines


FACTS = CaptureFacts(("a.pcap",), 3, 180, 1_000_000_000, 3_500_000_000)


@pytest.mark.parametrize(
    ("clock", "before", "first", "words"),
    [
        ("relative", None, 1_000_000_000, "    2.000001"),
        ("relative", 2_000_000_000, 1_000_000_000, "    2.000001"),
        ("relative", None, None, "    0.000000"),
        ("delta", None, 1_000_000_000, "    0.000000"),
        ("delta", 2_000_000_000, 1_000_000_000, "    1.000001"),
        ("delta", 3_500_000_000, 1_000_000_000, "   -0.499999"),
        ("absolute", None, None, "1970-01-01T00:00:03.000001Z"),
    ],
)
def test_a_time_is_in_utc_or_since_the_capture_or_the_call_before(
    clock: Any, before: int | None, first: int | None, words: str
) -> None:
    assert time_words(3_000_001_234, replace(FACTS, first_time_ns=first), clock, before) == words


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        (1_000_000_000, 1_234_000_000_000, ", from 1970-01-01T00:00:01.000000Z over 1,233.000 s"),
        (None, 1, ""),
        (1, None, ""),
        (None, None, ""),
    ],
)
def test_the_header_states_frames_bytes_and_times(first: int | None, last: int | None, words: str) -> None:
    analysis = analysis_of()
    facts = replace(analysis.capture, frames=1200, bytes=99_000, first_time_ns=first, last_time_ns=last)
    assert list(header_lines(replace(analysis, capture=facts), None))[1] == f"1,200 frames, 99,000 bytes{words}"


@pytest.mark.parametrize(
    ("numbers", "files", "words"),
    [
        ((), 1, ""),
        ((5,), 1, "frame 5"),
        ((5, 6), 1, "frames 5, 6"),
        (tuple(range(1, 9)), 1, "frames 1, 2, 3, 4, 5, 6, 7, 8"),
        (tuple(range(1, 10)), 1, "frames 1, 2, 3, 4, 5, 6, 7, 8 and 1 more"),
        ((5,), 2, "frame a.pcap: 5"),
        ((5, 6, frame_id(1, 7)), 2, "frames a.pcap: 5, 6; b.pcap: 7"),
        (tuple(frame_id(1, number) for number in range(1, 12)), 2, "frames b.pcap: 1, 2, 3, 4, 5, 6, 7, 8 and 3 more"),
    ],
)
def test_frames_by_number(numbers: tuple[int, ...], files: int, words: str) -> None:
    assert frames_words(numbers, replace(FACTS, files=("a.pcap", "b.pcap")[:files])) == words


@pytest.mark.parametrize(
    ("states", "count", "words"),
    [
        ({}, 0, "0 calls"),
        ({"complete": 1}, 1, "1 call: 1 complete"),
        ({"sealed": 2, "complete": 3}, 5, "5 calls: 3 complete, 2 sealed"),
        ({"complete": 1}, 2, "1 of 2 calls: 1 complete"),
        ({}, 1, "0 of 1 call"),
    ],
)
def test_calls_are_counted_by_how_they_ended(states: dict[str, int], count: int, words: str) -> None:
    assert total_words(Counts(states), count) == words


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (["asked"], ["asked"]),
        (["asked ⇒ ok"], ["asked [red]⇒ ok[/]"]),
        (["asked", "    ⇒ ok", "    more"], ["asked", "    [red]⇒ ok[/]", "[red]    more[/]"]),
        # The arrow ends its line.
        (["asked ⇒", "    ok"], ["asked [red]⇒[/]", "[red]    ok[/]"]),
        (["asked⇒x ⇒ ok"], ["asked⇒x [red]⇒ ok[/]"]),
        (["asked ⇒ ok  1.000\u00a0ms"], ["asked [red]⇒ ok  1.000 ms[/]"]),
        (["asked ⇒ ok", "    1.000\u00a0ms"], ["asked [red]⇒ ok[/]", "[red]    1.000 ms[/]"]),
        (["\\[x] ⇒ ok"], ["\\\\\\[x] [red]⇒ ok[/]"]),
    ],
)
def test_a_line_is_coloured_from_its_outcome_on(lines: list[str], shown: list[str]) -> None:
    assert list(_coloured(lines, "red")) == shown


@pytest.mark.parametrize(
    ("time_ns", "words"),
    [(0, "0.000 ms"), (99_999_999, "100.000 ms"), (100_000_000, "0.100 s"), (1_234_567_000_000, "1,234.567 s")],
)
def test_intervals_are_in_milliseconds_below_a_tenth_of_a_second(time_ns: int, words: str) -> None:
    assert _seconds(time_ns) == words


# ------------------------------------------------------------------------------------------------ one call, one run


def tries(*room: int) -> Analysis:
    make = winreg()
    small = [make.query_value("238", b"", status=234, room=size, needed=900) for size in room]
    return analysis_of(make.open_key(), *small, make.query_value("238", BLOCK))


@pytest.mark.parametrize(
    ("room", "after", "every"),
    [
        ((), "", ""),
        ((64,), " (after 1 try with a buffer too small)", " (try 2)"),
        ((64, 128), " (after 2 tries with buffers too small)", " (try 3)"),
    ],
)
def test_tries_are_stated_by_number_or_as_those_before(room: tuple[int, ...], after: str, every: str) -> None:
    analysis = tries(*room)
    call = analysis.calls[-1]
    ends = "    0.000000  #9     10.0.0.2:49152 → 10.0.0.1:445  "
    asked = "k1 winreg.BaseRegQueryValue object 238 Processor, room for 4096 bytes"
    told = f"⇒ {len(BLOCK)} bytes: 1 object, 1 value of Processor  1.000 ms"
    shown = [plain(call_lines(9, call, analysis, None, **some))[0] for some in ({}, {"all_attempts": True})]  # type: ignore[arg-type]
    assert [ends[12:] in line for line in shown] == [True, True]
    assert shown[0].endswith(f"  {asked}{after} {told}")
    assert shown[1].endswith(f"  {asked}{every} {told}")


def test_a_line_has_time_and_ends_unless_others_are_given() -> None:
    analysis = analysis_of(Calls().open_query())
    call = analysis.calls[0]
    said = "q1 OpenQueryHandle \\\\SRV1 ⇒ ok  1.000 ms"
    start = f"{(call.time_ns - (analysis.capture.first_time_ns or 0)) / 1e9:12.6f}"
    assert plain(call_lines(1, call, analysis, None)) == [f"{start}  #1     10.0.0.2:49152 → 10.0.0.1:445  {said}"]
    assert plain(call_lines(123456, call, analysis, None, time="now", ends="a → b")) == [f"now  #123456 a → b  {said}"]
    assert plain(call_lines(12, call, analysis, None, time="now", ends="")) == [f"now  #12     {said}"]
    # Later lines stand below what follows time and number.
    assert plain(call_lines(1, call, analysis, 36, time="now", ends="a → b")) == [
        "now  #1     a → b  q1",
        "             OpenQueryHandle \\\\SRV1",
        "             ⇒ ok  1.000 ms",
    ]


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
    assert damages.of(3, "response", damaged) is not None


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


@pytest.mark.parametrize(
    ("times", "spread"),
    [
        ((0, 10, 20, 30), "every 10.000 ms over 30.000 ms"),
        # The median; from a tenth of it on, also the least and the most.
        ((0, 100, 210, 310), "every 0.100 s over 0.310 s"),
        ((0, 100, 211, 311), "every 0.100 s (0.100 s to 0.111 s) over 0.311 s"),
        ((0, 10, 30, 80), "every 20.000 ms (10.000 ms to 50.000 ms) over 80.000 ms"),
        ((0, 50, 70, 80, 120), "every 40.000 ms (10.000 ms to 50.000 ms) over 0.120 s"),
        ((0, 1000, 2000, 3000), "every 1.000 s over 3.000 s"),
        ((0, 0, 0), "every 0.000 ms over 0.000 ms"),
        ((0, 100, 199), "every 0.100 s over 0.199 s"),
    ],
)
def test_a_run_states_how_often(times: tuple[int, ...], spread: str) -> None:
    asked = "q1 QueryCounterData room for 4096 bytes"
    first = "80 bytes: 1 block, 1 value"
    last = "96 bytes: 2 blocks, some failed: ERROR_WMI_INSTANCE_NOT_FOUND, 1 value"
    count = len(times)
    where = f"now  #2…{count + 1}  a → b  {asked}, {count}"
    assert run_of(times) == [f"{where} polls {spread} ⇒ {first}; last: {last}"]
    assert run_of(times, polls=False) == [f"{where} times {spread} ⇒ {first}"]


def test_a_run_folds_below_its_words_and_notes_damages() -> None:
    damages = Damages()
    lines = run_of((0, 10, 20), damages=damages, width=60)
    assert [len(line) - len(line.lstrip()) for line in lines] == [0, *[13] * (len(lines) - 1)]
    assert len(lines) > 2
    assert " ".join(" ".join(lines).split()) == run_of((0, 10, 20))[0].replace("  ", " ")


# ------------------------------------------------------------------------------------------------ what is shown, and what is not


def test_what_is_selected_is_stated() -> None:
    make = Calls()
    analysis = analysis_of(make.open_query(), *(make.close_query() for _ in range(1200)))
    some = Selection(handle="q1").of(analysis)
    assert list(part_lines(some, None)) == ["[bold]shown: 1,201 of 1,201 calls (handle q1)[/]"]
    assert list(part_lines(some, 26)) == ["[bold]shown: 1,201 of 1,201[/]", "[bold]    calls (handle q1)[/]"]
    assert list(part_lines(analysis, None)) == []
    none = Selection(handle="q9").of(analysis)
    assert nothing_passes(none) == ("no call passes: handle q9; without that all calls are shown",)
    assert [
        nothing_passes(one) for one in (some, analysis, analysis_of(), Selection(handle="q9").of(analysis_of()))
    ] == [()] * 4


def test_calls_without_a_session_state_their_ends() -> None:
    make = Calls(channel=replace(CHANNEL, session=None))
    analysis = analysis_of(make.open_query(), make.close_query(), make.exchange(None, None, b"\0"))
    header = plain(header_lines(analysis, None))
    assert "PerflibV2 over TCP, 10.0.0.2 → 10.0.0.1, without RPC security: 3 calls" in header
    unknown = Calls("99999999-1111-2222-3333-444444444444")
    assert "99999999-1111-2222-3333-444444444444 without RPC security: 1 call" in plain(
        header_lines(analysis_of(unknown.exchange(1, b"", b"")), None)
    )


def problems(count: int, alike: int = 1) -> Analysis:
    made = [Problem(f"kind{kind:02}", "tcp", (1,), f"text {kind}") for kind in range(count) for _ in range(alike)]
    return analysis_of(Calls().open_query(), *made)


@pytest.mark.parametrize(("count", "last"), [(24, "  kind23 (tcp, frame 1): text 23"), (25, None)])
def test_so_many_kinds_of_problems_are_listed(count: int, last: str | None) -> None:
    lines = plain(problem_lines(problems(count), None))
    assert lines[:3] == ["", "What could not be read, and why", "  kind00 (tcp, frame 1): text 0"]
    assert len(lines) == 2 + count
    assert (
        lines[-1] == last
        or lines[-1] == "  and 1 more kinds of problems: pcq-analyzer timeline made.pcap --format jsonl"
    )


@pytest.mark.parametrize(
    ("alike", "more"), [(1, ""), (2, " (and 1 more like it)"), (1500, " (and 1,499 more like it)")]
)
def test_problems_that_are_alike_are_counted(alike: int, more: str) -> None:
    assert plain(problem_lines(problems(1, alike), None))[2:] == [f"  kind00 (tcp, frame 1): text 0{more}"]


def test_problems_fold_and_are_yellow() -> None:
    unread = sealed(Calls().open_query())
    unread = replace(unread, auth=replace(unread.auth, level=6, mechanism="ntlm", decryption=Decryption.NO_KEY))
    analysis = analysis_of(unread, Problem("gap", "tcp", (1,), "100 bytes were not captured"))
    lines = list(problem_lines(analysis, 30))
    assert lines[2:] == [
        "[yellow]  1 call sealed: no key[/]",
        "[yellow]  to decrypt what is sealed,[/]",
        "[yellow]    give the password or NT[/]",
        "[yellow]    hash (--password, --nt-[/]",
        "[yellow]    hash), or --secrets with[/]",
        "[yellow]    them[/]",
        "[yellow]  gap (tcp, frame 1): 100[/]",
        "[yellow]    bytes were not captured[/]",
    ]


def test_items_of_a_list_stand_on_lines_of_their_own() -> None:
    page = "Looks for:\n\n- a size that\n  leads to nothing\n- a dash - inside\n\nSilent: never."
    unwrapped = ["Looks for:", "", "- a size that leads to nothing", "- a dash - inside", "", "Silent: never.", ""]
    assert list(page_lines(page, None)) == unwrapped
    assert list(page_lines(page, 24))[2:5] == ["- a size that leads to", "  nothing", "- a dash - inside"]
    assert list(document_lines(page)) == unwrapped

"""The host tab in Chromium: its moments are those of a poll of known processes, its cells lead to their bytes."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analyzer.questions.series.series_limit import SeriesLimit
from analyzer.screens.formats import report_page, report_page_call_sides
from analyzer.screens.live import LivePage
from analyzer.screens.viewmodel import overview
from tests.build.buffers import Block, name_table, perf_data
from tests.build.calls import Calls, analysis_of, winreg
from tests.build.machine import NAMES, Machine, Shown
from tests.page.test_browser import browser, opened, words, written

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.needs("chromium", "playwright")
__all__ = ["browser"]

POLLS = 40
TRUTHS: list[dict[int, Shown]] = []
_CELLS = """() => Object.fromEntries([...document.querySelectorAll('.p-processes .row:not(.header):not(.ended)')].map((row) => {
    const [name, ...rest] = [...row.children].map((cell) => cell.innerText);
    return [rest[0], [name.split('\\n')[0], ...rest.slice(1)]];
}))"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    machine, make = Machine(12, changes=0.5), winreg()
    events = [make.open_key(), make.query_value("Counter 009", name_table(NAMES))]
    TRUTHS.clear()
    for _ in range(POLLS):
        TRUTHS.append(machine.step().truth)
        events.append(make.query_value("230 238 4 2", machine.answer(), room=1 << 20))
    return written(analysis_of(*events), tmp_path_factory.mktemp("host") / "report.html")


def at(page: Page, moment: int) -> None:
    page.wait_for_selector(f'.film-time small:has-text("moment {moment + 1} of {POLLS}")')


def test_each_moment_is_as_the_machine_was(browser: Browser, host: Path) -> None:
    with opened(browser, host, "#view=host", viewport={"width": 1400, "height": 1200}) as page:
        page.wait_for_selector(".p-processes .row.header")
        for moment in [0, 1, *random.Random(2).sample(range(POLLS), 3)]:
            page.locator(".film-slider input").fill(str(moment))
            at(page, moment)
            shown = page.evaluate(_CELLS)
            assert shown.keys() == {str(pid) for pid in TRUTHS[moment]}
            for pid, true in TRUTHS[moment].items():
                name, parent, cpu, memory, handles, threads = shown[str(pid)]
                assert (name.partition("#")[0], int(parent)) == (true.name, true.parent)
                assert (memory, handles, threads) == (f"{true.memory:,}", f"{true.handles:,}", f"{true.threads}")
                if moment == 0 or true.cpu is None:
                    assert cpu == "needs 2 polls"
                else:
                    assert float(cpu.replace(",", "")) == pytest.approx(true.cpu, abs=0.000501)


# Whether a later moment is shown than the one of this number, counted from 1.
IS_BEHIND = "(number) => Number(/moment (\\d+)/.exec(document.querySelector('.film-time small').innerText)[1]) > number"


def test_keys_step_and_play_and_the_moment_is_in_the_address(browser: Browser, host: Path) -> None:
    with opened(browser, host) as page:
        page.keyboard.press("5")
        at(page, 0)
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        at(page, 3)
        page.keyboard.press("ArrowLeft")
        at(page, 2)
        page.wait_for_function("() => document.location.hash.includes('moment=')")
        address = page.evaluate("location.hash")
        page.keyboard.press(" ")
        # It goes on: which moment is met depends on how busy the machine is.
        page.wait_for_function(IS_BEHIND, arg=4)
        page.keyboard.press("End")
        at(page, POLLS - 1)
    with opened(browser, host, address) as page:
        at(page, 2)


def test_what_started_and_ended_is_marked_at_its_moment(browser: Browser, host: Path) -> None:
    moment = next(one for one in range(1, POLLS) if TRUTHS[one].keys() - TRUTHS[one - 1].keys())
    with opened(browser, host, "#view=host", viewport={"width": 1400, "height": 1200}) as page:
        page.locator(".film-slider input").fill(str(moment))
        at(page, moment)
        started = page.locator(".row.started").evaluate_all("rows => rows.map((row) => row.children[1].innerText)")
        assert {int(pid) for pid in started} == TRUTHS[moment].keys() - TRUTHS[moment - 1].keys()
        assert page.locator(".row.ended").count() == len(TRUTHS[moment - 1].keys() - TRUTHS[moment].keys())
        page.keyboard.press("ArrowRight")
        at(page, moment + 1)


def test_a_cell_leads_to_its_bytes(browser: Browser, host: Path) -> None:
    true = next(iter(TRUTHS[7].values()))
    with opened(browser, host, "#view=host", viewport={"width": 1400, "height": 1200}) as page:
        page.locator(".film-slider input").fill("7")
        at(page, 7)
        page.get_by_text(f"{true.memory:,}", exact=True).click()
        course = page.locator(".film-course.on")
        assert words(page, ".film-course.on b") == f"{true.memory:,}"
        course.get_by_role("button").first.click()
        page.wait_for_selector(".dump b.chosen")
        data = page.locator(".dump b.chosen").evaluate_all("some => some.map((one) => one.innerText)")
        assert int.from_bytes(bytes.fromhex("".join(data)), "little") == true.memory


def test_what_was_not_asked_says_so(browser: Browser, tmp_path: Path) -> None:
    from tests.build.buffers import Counter, Instance, PerfObject
    from tests.build.counters import Reader

    counters = (Counter(784, 0x00010000, 4),)
    item = PerfObject(230, counters, (Instance("a", -1, (0, 0), (4,)),))
    make: Calls = winreg()
    reader = Reader(make, [make.query_value("Counter 009", name_table(NAMES))]).read(item, name="230")
    path = written(reader.analysis, tmp_path / "report.html")
    with opened(browser, path, "#view=host") as page:
        page.wait_for_selector(".p-processes .row:not(.header)")
        shown = page.evaluate(_CELLS)
        assert shown == {"4": ["a", *["not asked"] * 5]}


def test_a_page_says_what_it_leaves_out_and_what_prints_it(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, make = Machine(12), winreg()
    events = [make.open_key(), make.query_value("Counter 009", name_table(NAMES))]
    events += [make.query_value("230 238 4 2", machine.step().answer(), room=1 << 20) for _ in range(3)]
    monkeypatch.setattr(report_page, "SeriesLimit", partial(SeriesLimit, 30))
    monkeypatch.setattr(report_page_call_sides, "MAX_CARRIED_BYTES", 4000)
    monkeypatch.setattr(overview, "MAX_PROCESSES", 10)
    path = written(analysis_of(*events), tmp_path / "report.html")
    sets = (
        "\\\\10.0.0.1: 5 of up to 12 instances of Process are in this page, those that were read first. "
        "126 readings of others are not."
    )
    with opened(browser, path, "#view=overview") as page:
        page.wait_for_selector(".left-out")
        said = words(page, ".left-out")
        assert "Layers and buffers of 2 calls: the page has those of 3." in said
        assert sets in said
        assert "pcq-analyzer samples and pcq-analyzer counters print all." in said
        assert "12 processes in the answers" in words(page, ".account")
        assert "2 more are not in this page: pcq-analyzer processes prints all." in words(page, ".account")
    for view in ("counters", "host"):
        with opened(browser, path, f"#view={view}") as page:
            page.wait_for_selector(f".{view} .notice")
            assert sets in words(page, f".{view} .notice")
    with opened(browser, path, "#view=calls&call=5") as page:
        page.wait_for_selector(".tree-pane .empty:not(:empty)")
        assert "The layers of call #5 are not in this page" in words(page, ".tree-pane")
        page.keyboard.press("/")
        page.keyboard.type("buffer.signature")
        page.wait_for_selector(".calls .notice")
        assert "could not look at the buffers of 2 calls" in words(page, ".calls .notice")


def test_many_sets_are_drawn_as_they_are_asked_for(browser: Browser, tmp_path: Path) -> None:
    """The capture does not say of which countersets these blocks are."""
    make = Calls()
    blocks = [Block(1, values=((b"\1\0\0\0",),))] * 510
    path = written(analysis_of(make.open_query(), make.counter_data(perf_data(blocks))), tmp_path / "report.html")
    with opened(browser, path, "#view=host") as page:
        page.wait_for_selector(".p-others .more")
        assert page.locator(".p-others > :not(.more)").count() == 64
        assert words(page, ".p-others > .more") == "and 446 more"
        page.locator(".p-others > .more").click()
        page.wait_for_function("() => document.querySelectorAll('.p-others > :not(.more)').length === 510")
    with opened(browser, path, "#view=counters") as page:
        page.wait_for_selector(".counter-tree .more")
        assert page.locator(".counter-tree .set").count() == 500
        assert words(page, ".counter-tree .more") == "10 more: search for them"


def test_a_page_that_waits_for_a_capture_shows_it(browser: Browser, host: Path) -> None:
    with LivePage() as live, browser.new_context() as context:
        page = context.new_page()
        wrong: list[str] = []
        page.on("console", lambda message: wrong.append(message.text))
        page.goto(live.url)
        assert words(page, "p") == "Nothing was captured yet."
        live.show(host.read_bytes(), is_ended=False)
        at(page, 0)
        assert page.evaluate("location.hash").startswith("#view=host")
        assert wrong == []

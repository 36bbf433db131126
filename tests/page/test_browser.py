"""The page in Chromium, from a file: what is chosen, hovered, filtered, zoomed and followed, in both themes and widths.

A message on the console, a script error or a request for anything but the file fails every test.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from analyzer.questions.filters.call_selection import Selection
from analyzer.questions.filters.filter import CallFilter
from analyzer.results.analysis import Analysis
from analyzer.results.security import Identity
from tests.build.buffers import Block, Counter, Instance, PerfObject, identifier, name_table, perf_data, winperf
from tests.build.calls import COUNTERSET, HANDLE, Calls, analysis_of, sealed, winreg
from tests.page import THREE, analysis_named, fetch, page_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.needs("chromium", "playwright")
# In milliseconds: a busy machine must not fail a test.
_PATIENCE = 300_000
HOSTILE = "<img src=x onerror=alert(1)>\u202e"
WIDE, NARROW = {"width": 1280, "height": 1200}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    import shutil

    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        yield started
        started.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(analysis_named(THREE[0]), tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with little in it, for what takes long with much."""
    make = Calls()
    blocks = [Block(1, values=((b"\1\0\0\0",),))]
    calls = [make.open_query(), make.validate(identifier(COUNTERSET)), make.counter_data(perf_data(blocks))]
    failed = make.faulted(6, make.stub().handle(HANDLE).uint(4096), 0x1C00001A)
    analysis = analysis_of(*calls, make.counter_data(perf_data(blocks)), failed, sealed(make.close_query()))
    return written(analysis, tmp_path_factory.mktemp("few") / "report.html")


def written(analysis: Analysis, path: Path) -> Path:
    path.write_text(page_of(analysis), encoding="utf-8")
    return path


@contextmanager
def opened(browser: Browser, path: Path, place: str = "", **options: Any) -> Iterator[Page]:
    """The page in a window of its own; what went wrong in it fails the test."""
    wrong: list[str] = []
    with browser.new_context(viewport=options.pop("viewport", WIDE), **options) as context:
        page = context.new_page()
        page.set_default_timeout(_PATIENCE)
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith("file:") else wrong.append(request.url))
        page.goto(path.as_uri() + place)
        page.wait_for_selector("#main")
        # The page hears keys from the end of the frame on in which it was drawn first (effects of Preact).
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        yield page
    assert wrong == []


def words(page: Page, selector: str) -> str:
    return page.locator(selector).first.inner_text()


def test_a_call_is_chosen_with_the_keyboard_and_taken_apart(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        page.keyboard.press("2")
        page.locator("#list").focus()
        for _ in range(5):
            page.keyboard.press("ArrowDown")
        page.wait_for_selector("#call-6.selected")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "tree"
        page.keyboard.press("End")
        page.wait_for_selector(".line.selected")
        page.keyboard.press("ArrowLeft")
        page.locator("#list").focus()
        page.keyboard.press("End")
        page.wait_for_selector("#call-210.selected")
        assert "#view=calls&call=210" in page.url


def test_a_page_states_that_it_is_redacted_and_what_that_means(browser: Browser, few: Path, tmp_path: Path) -> None:
    with opened(browser, few) as page:
        assert page.locator(".redacted, .notice").count() == 0
    analysis = analysis_of(Calls().open_query())
    redacted = replace(analysis, capture=replace(analysis.capture, redacted=True))
    with opened(browser, written(redacted, tmp_path / "redacted.html")) as page:
        assert words(page, "header .redacted") == "redacted"
        assert words(page, ".notice").startswith("This page is redacted. Names of users")


def test_where_room_is_small_the_object_of_a_request_gives_way_before_what_was_asked(
    browser: Browser, report: Path
) -> None:
    with opened(browser, report, "#view=calls&call=5", viewport={"width": 760, "height": 844}) as page:
        asked = page.locator("#call-5 .asked")
        assert asked.evaluate("one => one.textContent") == "Processor Information: COUNTERSET_STRUCT"
        name, rest = (one.evaluate("one => one.scrollWidth - one.clientWidth") for one in asked.locator("span").all())
        assert name > 0
        assert name > rest


def test_hovering_a_field_lights_its_bytes_and_the_reverse(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#view=calls&call=5") as page:
        page.wait_for_selector(".dump")
        page.locator('[data-tab="request.stub"]').click()
        page.locator(".line", has_text="RequestCode").hover()
        page.wait_for_selector(".dump b.lit")
        lit = page.locator(".dump b.lit")
        assert [lit.nth(at).get_attribute("data-at") for at in range(lit.count())] == ["52", "53", "54", "55"]
        page.locator('.dump b[data-at="56"]').hover()
        page.wait_for_selector('.line.lit:has-text("RequestLCID")')
        page.locator('.dump b[data-at="57"]').click()
        assert words(page, ".where").startswith("RequestLCID: bytes 56 to 60 of 64")
        assert words(page, ".line.selected").startswith("RequestLCID")


def test_filters_are_those_of_the_command(browser: Browser, report: Path) -> None:
    wanted = Selection(filter=CallFilter("opnum == 6 and status == 0"))
    passing = len(wanted.calls(analysis_named(THREE[0])))
    with opened(browser, report, "#view=calls") as page:
        in_filter = "document.activeElement.matches('.filter input')"
        while not page.evaluate(in_filter):
            # A page that was just drawn may not hear keys yet.
            page.keyboard.press("/")
        page.keyboard.type("opnum == 6 and status == 0")
        page.wait_for_selector('#filter-words:has-text("of 210 calls")')
        assert words(page, "#filter-words") == f"{passing} of 210 calls"
        page.locator(".filter input").fill("response.buffer.counter_type == PERF_COUNTER_RAWCOUNT")
        page.wait_for_selector(f'#filter-words:has-text(" of 210 calls"):not(:has-text("{passing} of"))')
        page.locator(".filter input").fill("opnum = 6")
        page.wait_for_selector("#filter-words.bad")
        assert words(page, "#filter-words") == "column 7: a single = is no operator, write == or !="
        page.locator(".filter input").fill("")
        page.keyboard.type("laten")
        page.wait_for_selector(".offers li")
        page.keyboard.press("Tab")
        assert page.locator(".filter input").input_value() == "latency "


def test_a_finding_leads_to_its_bytes(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#view=audit") as page:
        page.locator(".finding", has_text="PCQ210").get_by_role("button", name="Call #139").click()
        page.wait_for_selector(".dump b.chosen")
        assert words(page, ".where").startswith("RequestCode: bytes 52 to 56")
        assert words(page, ".line.selected").startswith("RequestCode")
        page.keyboard.press("]")
        page.wait_for_selector(".row.selected")


def test_the_timeline_zooms_and_a_click_selects(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#view=calls") as page:
        whole = words(page, ".window")
        page.locator(".timeline-frame").focus()
        page.keyboard.press("+")
        page.wait_for_function("whole => document.querySelector('.window').innerText !== whole", arg=whole)
        page.keyboard.press("0")
        page.wait_for_function("whole => document.querySelector('.window').innerText === whole", arg=whole)
        box = page.locator(".tracks canvas").bounding_box()
        page.mouse.click(box["x"] + 232 + (box["width"] - 230) * 0.3, box["y"] + 9)
        page.wait_for_function("() => !document.location.hash.endsWith('call=1')")


def test_the_address_holds_filter_and_window(browser: Browser, report: Path) -> None:
    """Whoever is sent the link sees the same."""
    with opened(browser, report, "#view=calls") as page:
        page.locator(".filter input").fill("opnum == 6")
        page.wait_for_selector('#filter-words:has-text(" of 210 calls")')
        page.locator(".timeline-frame").focus()
        page.keyboard.press("+")
        page.wait_for_function("() => document.location.hash.includes('time=')")
        address, window, passing = page.evaluate("location.hash"), words(page, ".window"), words(page, "#filter-words")
    with opened(browser, report, address) as page:
        page.wait_for_selector('#filter-words:has-text(" of 210 calls")')
        assert (words(page, ".window"), words(page, "#filter-words")) == (window, passing)
        assert page.locator(".filter input").input_value() == "opnum == 6"


def test_a_call_offers_filters_and_what_may_be_copied(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#view=calls&call=190", permissions=["clipboard-read", "clipboard-write"]) as page:
        page.locator("#call-190").click(button="right")
        page.get_by_role("menuitem", name="Copy as command").click()
        assert page.evaluate("navigator.clipboard.readText()").endswith(" --call 190")
        page.locator("#list").focus()
        page.keyboard.press("ContextMenu")
        page.keyboard.press("Escape")
        assert page.locator(".menu").count() == 0
        page.locator("#call-190").click(button="right")
        page.get_by_role("menuitem", name="Filter: handle == q3").click()
        page.wait_for_selector('#filter-words:has-text("6 of 210 calls")')


def test_columns_are_as_wide_as_what_is_in_them_and_may_be_hidden(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#view=calls", viewport={"width": 1920, "height": 900}) as page:
        page.wait_for_selector(".c-frames")
        cut = "selector => [...document.querySelectorAll(selector)].filter((one) => one.scrollWidth > one.clientWidth).length"
        for column in ("number", "time", "end", "handle", "method", "latency", "frames"):
            assert page.evaluate(cut, f".row > .c-{column}") == 0, column
        assert words(page, "#call-1 .c-latency") == "9.340"
        assert page.locator("#call-1 .c-end").all_inner_texts() == ["PERFSRV:33776", "PERFSRV"]
        page.locator(".row.header").click(button="right", position={"x": 30, "y": 10})
        page.get_by_role("menuitemcheckbox", name="Frames").click()
        page.wait_for_function("() => document.querySelector('.c-frames') === null")
        before = page.locator("#call-1 .c-handle").bounding_box()
        grip = page.locator(".row.header .c-handle .grip").bounding_box()
        page.mouse.move(grip["x"] + 2, grip["y"] + 5)
        page.mouse.down()
        page.mouse.move(grip["x"] + 52, grip["y"] + 5)
        page.mouse.up()
        page.wait_for_function(
            "width => document.querySelector('#call-1 .c-handle').getBoundingClientRect().width > width + 40",
            arg=before["width"],
        )


def test_bytes_under_the_pointer_name_their_field(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#view=calls&call=5") as page:
        page.locator('[data-tab="request.stub"]').click()
        page.locator('.dump b[data-at="52"]').hover()
        page.wait_for_selector('.where:has-text("RequestCode: bytes 52 to 56 of 64")')
        # The text of a row that is not full stands below that of the others.
        page.locator('[data-tab="request.PDU"]').or_(page.locator('[data-tab="request.pdu"]')).click()
        edges = page.evaluate(
            "() => [...document.querySelectorAll('.dump .ascii')].map((one) => one.getBoundingClientRect().left)"
        )
        assert len(edges) > 1
        assert max(edges) - min(edges) < 1


def test_rows_are_sorted_and_counters_are_plotted(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#view=calls") as page:
        page.get_by_role("button", name="Latency").click()
        page.get_by_role("button", name="Latency").click()
        page.locator("#list").focus()
        page.keyboard.press("Home")
        page.wait_for_selector("#call-178.selected")
        assert words(page, "#call-178 .c-latency") == "40.422"
        page.keyboard.press("3")
        page.wait_for_selector(".uplot canvas")
        before = page.locator(".chosen-series tbody tr").count()
        page.locator(".counter-tools input[type=search]").fill("page faults")
        page.locator("label.series input").first.check()
        page.wait_for_function("n => document.querySelectorAll('.chosen-series tbody tr').length === n", arg=before + 1)


# Keeps every text that is drawn on a canvas.
KEEP_DRAWN = """
    window.drawn = [];
    const fill = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
        window.drawn.push(String(text));
        return fill.call(this, text, ...rest);
    };
    null
"""


@pytest.mark.parametrize(
    ("first", "step", "drawn"),
    [
        (2_081_003_042, 5000, "2.0810025G 2.0810050G 2.0810075G 2.0810100G 2.0810125G 2.0810150G"),
        (2_081_003_042, 1, "2.0810030420G 2.0810030425G 2.0810030430G 2.0810030435G 2.0810030440G"),
        (12_345_678, 1_000_000, "12.5M 13.0M 13.5M 14.0M 14.5M"),
        (9_999_000, 400, "9,999,000 9,999,200 9,999,400 9,999,600 9,999,800"),
        (3, 7, "5 10 15"),
    ],
)
def test_numbers_of_an_axis_tell_neighbours_apart(
    browser: Browser, tmp_path: Path, first: int, step: int, drawn: str
) -> None:
    make = winreg(level=6)
    raw = Counter(6, 0x00010000, 4)
    instances = [Instance("_Total", -1, (0, 0), (first + at * step,)) for at in range(3)]
    answers = [make.query_value("238", winperf([PerfObject(238, (raw,), (one,))])) for one in instances]
    path = written(analysis_of(make.open_key(), *answers), tmp_path / "report.html")
    with opened(browser, path) as page:
        page.evaluate(KEEP_DRAWN)
        page.keyboard.press("3")
        page.wait_for_selector(".uplot canvas")
        page.wait_for_function("() => window.drawn.some((text) => text.endsWith(' s'))")
        numbers = [text for text in page.evaluate("window.drawn") if not text.endswith(" s")]
        assert list(dict.fromkeys(numbers)) == drawn.split()


# Each would run, were it ever taken for HTML; each in another place.
PLACES = ("host", "user", "instance", "counter", "machine")
HOSTILE_NAMES = {place: f"<img src=x id={place} onerror=alert(1)>\u202e</script><script>1" for place in PLACES}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of a capture in which every name is hostile."""
    make = winreg(level=6)
    identity = Identity("ntlm", HOSTILE_NAMES["user"], "LAB", HOSTILE_NAMES["machine"])
    counter, instance = Counter(6, 0x00010000, 4), Instance(HOSTILE_NAMES["instance"], -1, (0, 0), (7,))
    table = name_table([("238", "Processor"), ("6", HOSTILE_NAMES["counter"])])
    answers = [make.query_value("Counter 009", table, kind=7)]
    answers += [make.query_value("238", winperf([PerfObject(238, (counter,), (instance,))])) for _ in range(2)]
    secure = [replace(one, auth=replace(one.auth, identity=identity)) for one in answers]
    analysis = analysis_of(make.open_key(), *secure, files=(f"{HOSTILE}.pcap",))
    names = dict.fromkeys((analysis.calls[0].client.ip, analysis.calls[0].server.ip), HOSTILE_NAMES["host"])
    analysis = replace(analysis, capture=replace(analysis.capture, names=names))
    return written(analysis, tmp_path_factory.mktemp("hostile") / "report.html")


@pytest.mark.parametrize(
    ("place", "view", "selector"),
    [
        ("host", "overview", ".overview"),
        ("user", "overview", ".overview"),
        ("user", "calls&call=2", "#tree"),
        ("machine", "calls&call=2", "#tree"),
        ("instance", "counters", "main"),
        ("counter", "counters", "main"),
    ],
)
def test_a_hostile_name_is_shown_as_it_is(
    browser: Browser, hostile: Path, place: str, view: str, selector: str
) -> None:
    with opened(browser, hostile, f"#view={view}") as page:
        assert words(page, "h1") == "<img src=x onerror=alert(1)>\\u202e.pcap"
        if selector == "#tree":
            page.wait_for_selector("#tree .line")
            for group in page.locator("#tree .k-group .twist").all()[:4]:
                group.click()
        page.locator(
            selector, has_text=f"<img src=x id={place} onerror=alert(1)>\\u202e</script><script>1"
        ).first.wait_for()
        assert page.locator("img").count() == 0
        assert page.locator("script:not([type])").count() == 1


def test_the_policy_of_the_page_lets_no_text_become_code(browser: Browser, few: Path) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(few.as_uri())
        page.wait_for_selector("#main")
        tried = """code => { try { (0, eval)(code); return "it ran"; } catch (error) { return error.name; } }"""
        assert page.evaluate(tried, "document.body.innerHTML = '<img src=x onerror=alert(1)>'") in (
            "TypeError",
            "EvalError",
        )
        page.evaluate(
            """() => {
              window.caught = [];
              for (const act of [
                () => { document.body.innerHTML = "<img src=x onerror='window.ran = 1'>"; },
                () => { document.body.append(Object.assign(document.createElement("script"), { textContent: "window.ran = 1" })); },
              ]) try { act(); } catch (error) { window.caught.push(error.name); }
            }"""
        )
        assert page.evaluate("window.caught") == ["TypeError", "TypeError"]
        assert page.evaluate("window.ran ?? null") is None


def test_what_is_sealed_is_shown_as_that(browser: Browser, tmp_path: Path) -> None:
    make = Calls()
    analysis = analysis_of(sealed(make.exchange(6, make.stub().handle(HANDLE).uint(4096), None)))
    with opened(browser, written(analysis, tmp_path / "sealed.html"), "#view=calls") as page:
        page.wait_for_selector('.line:has-text("not decrypted")')
        page.keyboard.press("1")
        assert "1 call sealed" in words(page, ".overview")


# The whole of WCAG A and AA in one theme and width, what depends on colours and widths in the other.
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "scrollable-region-focusable"]}}


@pytest.mark.parametrize(
    ("scheme", "size", "rules"),
    [("light", WIDE, RULES), ("dark", NARROW, COLOURS)],
    ids=["light 1280", "dark 390"],
)
@pytest.mark.needs("npm", "node")
def test_nobody_is_kept_out(
    browser: Browser, few: Path, scheme: str, size: dict[str, int], rules: dict[str, Any]
) -> None:
    """axe-core finds no violation in any view, and nothing is wider than the window."""
    fetch()
    with browser.new_context(viewport=size, color_scheme=scheme, bypass_csp=True) as context:
        page = context.new_page()
        page.set_default_timeout(_PATIENCE)
        page.goto(few.as_uri() + "#view=calls&call=5")
        page.wait_for_selector("#main")
        page.add_script_tag(path=Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js")
        for view in ("2", "1", "3", "4", "5"):
            page.keyboard.press(view)
            page.wait_for_selector(".dump, .tiles, .row, .plots, .host, .findings")
            found = page.evaluate("rules => axe.run(rules)", rules)
            violations = [(one["id"], [node["html"][:120] for node in one["nodes"]][:3]) for one in found["violations"]]
            assert violations == [], view
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        page.keyboard.press("?")
        page.wait_for_selector("dialog[open]")
        page.keyboard.press("Escape")
        page.keyboard.press("t")
        page.wait_for_function("() => document.documentElement.dataset.theme === 'light'")


def test_fifty_thousand_calls_scroll_without_a_blank_row(browser: Browser, tmp_path: Path) -> None:
    """Whatever the scroll bar does, each frame that is drawn has a row at every place of the list."""
    path = written_many(tmp_path / "many.html", 50_000)
    with opened(browser, path, "#view=calls") as page:
        page.wait_for_selector(".row.selected")
        blank = page.evaluate(SCROLLED)
        assert blank == 0
        page.locator("#list").focus()
        page.keyboard.press("End")
        page.wait_for_selector("#call-50000.selected")
        assert page.locator(".row").count() < 100


# Scrolls by leaps through the list and counts, frame by frame, the places of the list at which there is no row.
SCROLLED = """async () => {
  const list = document.getElementById("list");
  const box = list.getBoundingClientRect();
  let blank = 0;
  for (let at = 0; at < 60; at++) {
    list.scrollTop = ((at * 7919) % 60) / 60 * list.scrollHeight;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    for (let y = box.top + 40; y < box.bottom - 4; y += 24) {
      if (document.elementFromPoint(box.left + 300, y)?.closest(".row") === null) blank++;
    }
  }
  return blank;
}"""


def written_many(path: Path, count: int) -> Path:
    """A page of very many calls, made of that of one."""
    from analyzer.core.output.json import dumps
    from analyzer.screens.formats.report_page import packed
    from tests.page import blocks

    make = Calls()
    page = page_of(analysis_of(make.counter_data(b"")))
    found = blocks(page)
    rows = found["rows"]
    for name, column in rows.items():
        if name not in ("base", "texts"):
            rows[name] = column * count
    rows["time"] = [number * 1_000_000 for number in range(count)]
    before = page.split('id="rows">', 1)
    path.write_text(
        before[0] + 'id="rows">' + packed([dumps(rows)]).decode() + before[1][before[1].index("</script>") :], "utf-8"
    )
    return path

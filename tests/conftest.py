"""No test is left out silently: what is deselected or skipped is counted and named, and CI fails on any skip that is not allowed.

A test marked `needs("tshark", ...)` is skipped where one of these programs or packages is not installed.
Tests marked `corpus` read public captures that are not ours to pass on. Without PCQ_CORPUS they are deselected, and the
summary says so.

Tests run in random order, with a seed that is printed (pytest-randomly). Properties are tried with random examples, and a
failure prints the line that repeats it. In CI both are the same in every run, so that what is green stays green. `make properties`
tries each property with twenty times as many examples, whatever number the test asks for.

And no secret is printed: everything the tests print, and everything a failure shows, is searched for the secrets of the captures.
"""

import gc
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

from tests.secrets import leaks

_WHATEVER_THE_LOAD = [HealthCheck.too_slow]
settings.register_profile(
    "local", max_examples=50, deadline=None, print_blob=True, suppress_health_check=_WHATEVER_THE_LOAD
)
settings.register_profile("ci", settings.get_profile("local"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
# What the number of examples of each property is multiplied by. In CI they are the same in each run: half of them will do.
_TIMES = float(os.environ.get("PCQ_PROPERTIES") or (0.5 if os.environ.get("CI") else 1))
_SEED_OF_CI = 1

# Tests that CI may skip, each with its reason.
ALLOWED_SKIPS: dict[str, str] = {}

_NOT_INSTALLED = "not installed: "
_DESELECTED = pytest.StashKey[list[str]]()
_LEAKS = pytest.StashKey[dict[str, list[str]]]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("CI") and config.getoption("randomly_seed", None) == "default":
        config.option.randomly_seed = _SEED_OF_CI
    config.stash[_DESELECTED] = []
    config.stash[_LEAKS] = {}
    config.pluginmanager.register(_Workers(config), "left-out")


@pytest.hookimpl(wrapper=True)
def pytest_report_teststatus(report: pytest.TestReport, config: pytest.Config) -> Iterator[None]:
    """Every report of every worker comes by here: its name, what the test printed and what a failure shows are searched."""
    shown = [report.longreprtext, *(text for _, text in report.sections)]
    searched = "\n".join([report.nodeid, *shown]) if report.when == "call" or any(shown) else ""
    if found := leaks(searched.encode("utf-8", "surrogatepass")):
        config.stash[_LEAKS][report.nodeid] = found
    return (yield)


@cache
def _is_installed(name: str) -> bool:
    """Whether there is a program or a package of this name."""
    return shutil.which(name) is not None or find_spec(name) is not None


def _with_other_examples(item: pytest.Item) -> None:
    """A number that a test asks for itself goes before that of a profile, so it is changed where hypothesis keeps it."""
    test = getattr(getattr(item, "obj", None), "__func__", getattr(item, "obj", None))
    given = getattr(test, "_hypothesis_internal_use_settings", None)
    if given is not None and not getattr(test, "has_other_examples", False):
        test._hypothesis_internal_use_settings = settings(given, max_examples=max(int(given.max_examples * _TIMES), 1))
        test.has_other_examples = True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if _TIMES != 1:
            _with_other_examples(item)
        needed = [name for marker in item.iter_markers("needs") for name in marker.args]
        if missing := sorted({name for name in needed if not _is_installed(name)}):
            item.add_marker(pytest.mark.skip(reason=f"{_NOT_INSTALLED}{', '.join(missing)}"))
    if os.environ.get("PCQ_CORPUS"):
        return
    corpus = [item for item in items if item.get_closest_marker("corpus")]
    items[:] = [item for item in items if not item.get_closest_marker("corpus")]
    config.hook.pytest_deselected(items=corpus)
    config.stash[_DESELECTED] = [item.nodeid for item in corpus]


def pytest_collection_finish() -> None:
    """What collecting made stays to the end, so the garbage collector need not walk it again and again."""
    gc.collect()
    gc.freeze()


class _Workers:
    """With pytest-xdist the workers collect, and the process that writes the summary does not: they report it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        output = getattr(node, "workeroutput", {})
        if output.get("deselected"):
            self._config.stash[_DESELECTED] = output["deselected"]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["deselected"] = session.config.stash[_DESELECTED]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """Turns a good result into a bad one where CI skipped a test that is not on the list."""
    if session.exitstatus == pytest.ExitCode.OK and (_forbidden_skips(session.config) or session.config.stash[_LEAKS]):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    yield


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    deselected = config.stash[_DESELECTED]
    if deselected:
        terminalreporter.section("not run, because PCQ_CORPUS names no folder of public captures")
        terminalreporter.line(f"{len(deselected)} tests:")
        for nodeid in deselected:
            terminalreporter.line(f"  {nodeid}")
    if leaked := config.stash[_LEAKS]:
        terminalreporter.section("secrets were printed", red=True)
        for nodeid, found in leaked.items():
            terminalreporter.line(f"  {nodeid}: {', '.join(found)}")
    lacking = Counter(
        str(report.longrepr[2]).partition(_NOT_INSTALLED)[2]
        for report in terminalreporter.stats.get("skipped", ())
        if isinstance(report.longrepr, tuple) and _NOT_INSTALLED in str(report.longrepr[2])
    )
    if lacking:
        terminalreporter.section("skipped, because something is not installed")
        for missing, count in sorted(lacking.items()):
            terminalreporter.line(f"{count} tests need {missing}")
    forbidden = _forbidden_skips(config)
    if forbidden:
        terminalreporter.section("skipped, and CI allows no skip that tests/conftest.py does not name", red=True)
        for nodeid in forbidden:
            terminalreporter.line(f"  {nodeid}")


def _forbidden_skips(config: pytest.Config) -> list[str]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if not os.environ.get("CI") or reporter is None or hasattr(config, "workeroutput"):
        return []
    return sorted({report.nodeid for report in reporter.stats.get("skipped", ())} - ALLOWED_SKIPS.keys())

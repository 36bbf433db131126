"""What the project says about itself is true: commands, versions, dependencies, start-up; no file holds paths of one machine."""

import ast
import re
import shutil
import tomllib
from collections import Counter
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.pipeline.run import analyze
from analyzer.questions.audit.rule_registry import every_rule
from tests.readme import CAPTURE, with_sample
from tests.tree import ROOT, files

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
VERSION = PYPROJECT["project"]["version"]


def _requirements() -> set[str]:
    project = PYPROJECT["project"]
    groups = [
        project["dependencies"],
        *project["optional-dependencies"].values(),
        *PYPROJECT["dependency-groups"].values(),
    ]
    return {re.split(r"[^A-Za-z0-9._-]", requirement)[0] for group in groups for requirement in group}


@cache
def _texts() -> list[tuple[str, str]]:
    """Tracked text files outside captures/, which is checked by hash, with their content."""
    found = []
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith("captures/"):
            with suppress(UnicodeDecodeError):
                found.append((name, path.read_text(encoding="utf-8")))
    return found


def test_the_readme_names_only_make_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)", README))
    assert {"timeline", "test"} <= named <= targets


def test_ci_runs_the_commands_of_the_readme() -> None:
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert {"make timeline", "make test"} <= set(re.findall(r"^make [a-z]+", run, re.MULTILINE))


def test_modules_that_texts_name_by_their_path_exist() -> None:
    known = {path.relative_to(ROOT).as_posix() for path in files()}
    ends = {name[at:] for name in known for at in (0, *(place.end() for place in re.finditer("/", name)))}
    lost = {
        (name, named)
        for name, text in _texts()
        if name.startswith(("analyzer/", "docs/", "web/", "ksy/", "benchmarks/", "README", "CONTRIBUTING"))
        for named in re.findall(r"(?<![\w/.-])(?:[a-z_0-9]+/)+[a-z_0-9]+\.py\b", text)
        if named not in ends
    }
    assert not lost


def test_the_readme_shows_what_the_command_prints() -> None:
    assert with_sample(README) == README, "the output has changed: look at it, then run `python -m tests.readme`"


def test_the_secrets_shown_in_the_readme_open_the_sample(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", README, re.DOTALL)
    secrets = tmp_path / "secrets.toml"
    secrets.write_text(example[1], encoding="utf-8")
    shutil.copy(ROOT / "captures" / "aes256.keytab", tmp_path)
    calls = analyze([ROOT / f"{CAPTURE}.pcap"], Keyring.load(secrets)).calls
    assert {call.state for call in calls} == {"complete"}


def test_the_readme_points_only_at_files_that_exist() -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", README)
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]


def test_the_version_is_said_once_and_in_the_changelog() -> None:
    assert metadata.version("pcq-analyzer") == VERSION
    assert re.search(
        rf"^## \[{re.escape(VERSION)}\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )


def test_rules_are_as_old_as_a_version_that_there_was() -> None:
    versions = set(re.findall(r"^## \[([\d.]+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert VERSION in versions
    assert {rule.since for rule in every_rule()} <= versions


def test_every_dependency_has_a_line_that_says_why() -> None:
    lines = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8").splitlines()
    rows = {name.strip() for line in lines if line.startswith("| ") for name in line.split("|")[1].split(",")}
    assert _requirements() <= rows


def test_every_room_is_in_the_architecture() -> None:
    described = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {path.parent.relative_to(ROOT / "analyzer") for path in (ROOT / "analyzer").glob("*/**/[a-z]*.py")}
    packages = {room.as_posix() for room in rooms if "_generated" not in room.parts}
    assert not {package for package in packages if f"`{package}`" not in described}


@cache
def _modules(place: str) -> dict[str, ast.Module]:
    """The modules below a folder by their path; what compilers wrote is left out."""
    paths = [path for path in (ROOT / place).rglob("*.py") if "_generated" not in path.parts]
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def test_a_class_has_a_name_of_its_own() -> None:
    nodes = (node for module in _modules("analyzer").values() for node in ast.walk(module))
    names = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []


def test_functions_and_classes_are_short_enough_to_be_read_at_once() -> None:
    """Functions of 60 lines, classes of 400; what compilers wrote does not count."""
    long = []
    places = map(_modules, ("analyzer", "benchmarks", "ksy", "tools", "wireshark"))
    for path, module in (one for found in places for one in found.items()):
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                if length > (400 if isinstance(node, ast.ClassDef) else 60):
                    long.append(f"{path}: {node.name} has {length} lines")
    assert not long


def test_no_module_gives_a_name_twice() -> None:
    """The second of two constants of one name changes what the functions of the first one do."""
    twice = []
    for path, module in _modules("analyzer").items():
        given: Counter[str] = Counter()
        for node in module.body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            names = (one for target in targets for one in (target.elts if isinstance(target, ast.Tuple) else [target]))
            given.update(one.id for one in names if isinstance(one, ast.Name))
        twice += [f"{path}: {name}" for name, count in given.items() if count > 1]
    assert not twice


# Built from pieces, or this file would be the first to hold them.
_MACHINE_PATH = re.compile(r"(?<![\w.~])/" + r"(?:work|root|home|farm|Users)" + r"/[\w.-]")
_SECRET = re.compile(r"BEGIN [A-Z ]*PRIVATE KEY|\b(?:gh[pousr]_|AKIA|xox[abp]-)[A-Za-z0-9_-]{8,}")


@pytest.mark.parametrize("pattern", [_MACHINE_PATH, _SECRET], ids=["paths of one machine", "secrets"])
def test_no_file_holds(pattern: re.Pattern[str]) -> None:
    assert not [(name, match.group()) for name, text in _texts() if (match := pattern.search(text))]


_CLOCKS = re.compile(r"\b(?:time\.time|perf_counter|monotonic)(?:_ns)?\s*\(")


def test_no_test_measures_elapsed_time() -> None:
    """A busy machine must not fail a test: processor time and counts of steps or instructions do not depend on it."""
    assert not [name for name, text in _texts() if name.startswith("tests/") and _CLOCKS.search(text)]


def test_tests_that_need_programs_say_so_with_the_marker() -> None:
    """A skip of another kind would be neither counted by what is missing nor refused in CI with the program's name."""
    other = re.compile(r"mark\.skipif|importorskip|skip" + r"test", re.IGNORECASE)
    found = {name for name, text in _texts() if name.startswith("tests/") and other.search(text)}
    assert found <= {"tests/test_project.py"}
    # A test that looks for a program by itself can end early and assert nothing; the marker may look, what fetches by npm, and
    # what starts the browser that the marker found.
    asks = {name for name, text in _texts() if name.startswith("tests/") and re.search(r"shutil\.which\(", text)}
    assert asks <= {
        "tests/conftest.py",
        "tests/sarif/__init__.py",
        "tests/pyright/__init__.py",
        "tests/page/test_browser.py",
    }


# What may lie in the repository, by its first folder; a file that no line explains is a mistake.
_EXPLAINED = {
    ".ci": r"run|[a-z-]+\.sh",
    ".github": r"workflows/[a-z-]+\.yml|ISSUE_TEMPLATE/[a-z_]+\.md",
    "analyzer": r".*\.(py|lark|toml|typed|json|html|md)|screens/formats/page_assets/(report\.(js|css)|diff\.css)",
    "benchmarks": r"[a-z_]+\.(py|json|yaml)|README\.md",
    "captures": r"[\w.-]+\.(pcap|pcapng|keytab|json|json\.gz|toml|md)",
    "debian": r"changelog|control|copyright|links|manpages|rules|source/format",
    "docs": r".*\.(md|svg|png|json|yml|1)",
    "fuzz": r"[a-z_]+\.py|(corpus|regressions)/[a-z-]+/[0-9a-f]{16}",
    "ksy": r".*\.(ksy|py|cjs|mjs|json|md)",
    "notebooks": r"[\w-]+\.(ipynb|md)",
    "rig": r"(clients/)?[a-z0-9_]+\.py",
    "tests": r".*\.(py|json|jsonl|toml|txt|md|lock|bin|cjs|mjs|lua|pcap|keytab|pcq|ksy|zst|gz|xz|seed)|fuzz/corpus/.*|hostile/.*",
    "tools": r".*\.(py|ps1|md|toml|c|sh)|prose/(rules/)?[\w.-]+\.(js|json)",
    "upstream": r".*\.(py|md|ksy|c)|wireshark/plugin/Makefile",
    "web": r"(src/)?[\w.-]+\.(ts|tsx|css|mjs|json|py)",
    "wireshark": r".*\.(py|lua|c|md)",
}
_IN_THE_ROOT = {
    ".dockerignore",
    ".editorconfig",
    ".gitattributes",
    ".gitignore",
    ".pre-commit-config.yaml",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Dockerfile",
    "LICENSE",
    "Makefile",
    "mkdocs.yml",
    "README.md",
    "SECURITY.md",
    "constraints.txt",
    "pyproject.toml",
    "requirements.lock",
}


def test_a_source_distribution_knows_its_files_without_git(tmp_path: Path) -> None:
    """Those that git lists, and nothing that runs and builds leave there."""
    for path in files():
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.touch()
    for left in ("PKG-INFO", "analyzer/__pycache__/x.pyc", ".venv/bin/python", "web/node_modules/x.js", "a.egg-info/x"):
        (tmp_path / left).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / left).touch()
    assert [path.relative_to(tmp_path) for path in files(tmp_path)] == [path.relative_to(ROOT) for path in files()]


def test_no_file_lies_where_none_belongs() -> None:
    """A file named `-` was committed once, and nothing noticed."""
    names = [path.relative_to(ROOT).as_posix() for path in files()]
    unexpected = [
        name
        for name in names
        for folder, _, rest in [name.partition("/")]
        if not (name in _IN_THE_ROOT if not rest else re.fullmatch(_EXPLAINED.get(folder, "(?!)"), rest))
    ]
    assert not unexpected


def test_packages_for_debian_and_docker_have_what_the_wheel_needs() -> None:
    """Their own tools build and try them (.github/workflows/release.yml)."""
    assert (ROOT / "debian" / "changelog").read_text(encoding="utf-8").startswith(f"pcq-analyzer ({VERSION}) ")
    links = dict(line.split() for line in (ROOT / "debian" / "links").read_text(encoding="utf-8").splitlines())
    assert {path.rpartition("/")[2] for path in links.values()} == set(PYPROJECT["project"]["scripts"])
    assert (ROOT / (ROOT / "debian" / "manpages").read_text(encoding="utf-8").strip()).exists()
    copied = set(re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE))
    wheel = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert copied == {*wheel["packages"], *wheel["force-include"], "LICENSE", "constraints.txt", "pyproject.toml"}


def test_the_package_is_typed_and_names_what_it_offers() -> None:
    import analyzer

    assert (Path(analyzer.__file__).parent / "py.typed").exists()
    assert set(analyzer.__all__) <= set(dir(analyzer))
    assert analyzer.__version__ == VERSION
    assert PYPROJECT["project"]["authors"]

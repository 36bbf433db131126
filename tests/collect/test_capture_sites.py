"""Where captures were made: which files have the same machines by the same addresses."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.collect.analyse_stage import _known_as
from analyzer.collect.stage_tasks_and_facts import ConversationFacts, FileFacts
from analyzer.collect.work_plan import PAUSE_NS, site_names, sites_of
from analyzer.core.frame_ids import frame_id
from analyzer.core.times import NS_PER_S
from tests.build.calls import analysis_of
from tests.collect.sets import (
    CAPTURES,
    collected,
    difference,
    frames_of,
    keyring_of,
    moved,
    of_dataset,
    put,
    readdressed,
    same_rows,
    tables_of,
)
from tests.collect.test_stages import A, file_facts
from tests.interfaces.resolution.test_order_of_calls import WHO, session

pytestmark = pytest.mark.needs("fsspec")
CLEAR = "v1_samba_impacket_smb311_noauth.pcap"
S = NS_PER_S
COUNT = 4
SAME, APART = {0: 0, 1: 0}, {0: 0, 1: 1}


def file(number: int, first: float, last: float, *, directory: str = "in", **more: Any) -> FileFacts:
    first_ns, last_ns = int(first * S), int(last * S)
    times = {"opens_ns": first_ns, "first_time_ns": first_ns, "last_time_ns": last_ns}
    return file_facts(number, f"{directory}/{number}.pcap", frames=1, **times, **more)


@pytest.mark.parametrize(
    ("one", "other", "sites"),
    [
        # Times touch, or do not.
        ({}, {"first": 5}, SAME),
        ({}, {"first": 10 + PAUSE_NS / S}, SAME),
        ({}, {"first": 10.001 + PAUSE_NS / S}, APART),
        ({}, {"first": 5, "directory": "elsewhere"}, APART),
        # A connection goes on, however long nothing was sent; or it is another one between the same ports.
        ({"flows": [7]}, {"first": 900, "flows": [7]}, SAME),
        ({"flows": [7], "begun": [7]}, {"first": 900, "flows": [7], "begun": [7]}, APART),
        ({"flows": [7], "begun": [7]}, {"first": 5, "flows": [7], "begun": [7]}, SAME),
        (
            {"flows": [7], "begun": [7], "known_as": {"mac a": ["1"]}},
            {"first": 10, "flows": [7], "begun": [7], "known_as": {"mac a": ["2"]}},
            SAME,
        ),
        ({"flows": [7]}, {"first": 900, "flows": [8]}, APART),
        # What a machine states of itself; of one that states nothing, nothing follows.
        ({"known_as": {"mac a": ["1"]}}, {"first": 5, "known_as": {"mac a": ["2"]}}, APART),
        ({"known_as": {"mac a": ["1", "3"]}}, {"first": 5, "known_as": {"mac a": ["2", "3"]}}, SAME),
        ({"known_as": {"mac a": ["1"]}}, {"first": 5, "known_as": {"mac b": ["2"], "mac a": []}}, SAME),
        # Two sensors of one connection may see the cards of routers.
        (
            {"known_as": {"mac a": ["1"]}, "flows": [7]},
            {"first": 5, "known_as": {"mac a": ["2"]}, "flows": [7]},
            SAME,
        ),
        # What was given is believed.
        ({"site": "lab"}, {"first": 900, "site": "lab", "directory": "elsewhere"}, SAME),
        ({"site": "lab"}, {"first": 5, "site": "home"}, APART),
        ({"site": "lab"}, {"first": 5}, APART),
        ({"site": "directory"}, {"first": 900, "site": "directory", "known_as": {"mac a": ["2"]}}, SAME),
        ({"site": "directory"}, {"first": 5, "site": "directory", "directory": "elsewhere"}, APART),
        ({"site": "capture", "flows": [7]}, {"first": 5, "site": "capture", "flows": [7]}, APART),
    ],
)
def test_which_files_are_of_one_site(one: dict[str, Any], other: dict[str, Any], sites: dict[int, int]) -> None:
    assert PAUSE_NS == 250_000_000  # docs/scale.md
    files = [file(0, 0, 10, **one), file(1, last=other.get("first", 0) + 10, **other)]
    assert sites_of(files, []) == sites
    assert sites_of(files[::-1], []) == sites


def test_what_servers_state_of_themselves_counts_for_the_files_that_show_it() -> None:
    files = [file(0, 0, 10), file(1, 5, 15), file(2, 12, 20)]
    assert set(sites_of(files, []).values()) == {0}
    known_as = {0: {"guid s": ["x"]}, 1: {"guid s": ["y"]}, 2: {"guid s": ["y"]}}
    assert sites_of(files, [ConversationFacts(1, (A,), [0, 1, 2], known_as=known_as)]) == {0: 0, 1: 1, 2: 1}


def test_a_file_that_touches_two_sites_joins_them_unless_they_contradict() -> None:
    long = file(2, 0, 100, flows=[1, 2])
    first, second = file(0, 0, 10, flows=[1]), file(1, 50, 60, flows=[2])
    assert set(sites_of([first, second], []).values()) == {0, 1}
    assert set(sites_of([first, second, long], []).values()) == {0}


def test_what_a_machine_states_in_one_file_counts_for_its_site() -> None:
    files = [file(0, 0, 10), file(1, 5, 15, known_as={"mac a": ["1"]}), file(2, 12, 20, known_as={"mac a": ["2"]})]
    assert sites_of(files, []) == {0: 0, 1: 0, 2: 2}


def test_sites_that_are_joined_leave_others_that_a_later_file_may_touch() -> None:
    """The first and the third are one; the second is of other machines, and goes on in the fourth."""
    mine, others = {"known_as": {"mac a": ["1"]}}, {"known_as": {"mac a": ["2"]}}
    files = [file(0, 0, 50, **mine), file(1, 0, 50, **others), file(2, 5, 9, **mine), file(3, 20, 60, **others)]
    assert sites_of(files, []) == {0: 0, 1: 1, 2: 0, 3: 1}


def test_what_sites_are_called() -> None:
    files = [
        file(0, 0, 1, directory="one"),
        file(1, 0, 1, directory="two"),
        file(2, 900, 901, directory="two"),
        file(3, 0, 1, directory="three", site="lab"),
        file(4, 0, 1, directory="four", site="capture"),
        file_facts(5, "one/no capture", status="unreadable"),
    ]
    names = site_names(files, sites_of(files, []))
    assert [names[number] for number in range(5)] == ["one", "two/1.pcap", "two/2.pcap", "lab", "four/4.pcap"]


# --------------------------------------------------------------------------------------------------------- whole sets


def analyses(directory: Path, keyring: Keyring) -> list[tuple[dict[str, Any], list[str]]]:
    """The tables of one run over each capture of a directory."""
    from analyzer.pipeline.run import analyze

    return [(tables_of(analyze([path], keyring, pdus=False)), [path.name]) for path in sorted(directory.iterdir())]


def unlike_one_run_each(directory: Path, dataset: Path, keyring: Keyring) -> str:
    """How the tables of a dataset differ from those of all captures, each by itself. What is counted from the beginning of all
    is left out, and so is the coverage, which is of the whole."""

    def rows_of(tables: dict[str, Any], files: Sequence[str]) -> dict[str, Any]:
        parts = {name: table.drop("time_relative", strict=False) for name, table in tables.items()}
        rows = same_rows(parts, files, alone=False, whole=tables)
        del rows["coverage"]
        return rows

    expected: dict[str, Any] = {}
    for tables, files in analyses(directory, keyring):
        for name, rows in rows_of(tables, files).items():
            expected[name] = expected.get(name, type(rows)()) + rows
    return difference(expected, rows_of(*of_dataset(dataset)))


def several(directory: Path) -> Keyring:
    """Captures of independent laboratories, all with the same two addresses; two follow each other within a second."""
    names = [CLEAR, "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap", "v1_samba_impacket_smb311_ntlm_privacy.pcap"]
    keyring = Keyring().merged(*map(keyring_of, names))
    at = 0
    for number in range(COUNT):
        talk = readdressed(frames_of(CAPTURES / names[number % 3])[1], "10.0.0.1", "10.0.0.2")
        talk = moved(talk, at - talk[0][0])
        at = talk[-1][0] + (1 if number % 2 else 3600) * S
        put(directory / f"{number:02}.pcap", talk)
    return keyring


def test_captures_with_reused_addresses_have_what_each_has_alone_until_they_are_said_to_be_of_one_site(
    tmp_path: Path,
) -> None:
    """No frame is read again then."""
    keyring = several(tmp_path / "in")
    done = collected(tmp_path / "in", tmp_path / "out", keyring)
    assert done.manifest.conversations == COUNT
    assert len({source.site for source in done.manifest.sources}) == COUNT
    assert not unlike_one_run_each(tmp_path / "in", tmp_path / "out", keyring)
    done = collected(tmp_path / "in", tmp_path / "out", keyring, site="lab", fewer_rows=True)
    assert (done.read, done.manifest.conversations) == (0, 1)
    assert {source.site for source in done.manifest.sources} == {"lab"}
    again = collected(tmp_path / "in", tmp_path / "out", keyring)
    assert (again.read, again.analysed, again.manifest.conversations) == (0, 0, 1)


def test_what_a_server_states_of_itself_is_known_by_each_file_that_shows_it() -> None:
    guid = "5e0c6a4e-9b1d-4f3c-8a55-0d2b7c9e1f10"
    seen = replace(session(), server_guid=guid, frames=(frame_id(0, 1), frame_id(1, 7), frame_id(1, 8)))
    silent = replace(session(1), server_guid=None, identity=replace(WHO, server_name=None))
    stated = {"guid 10.0.0.1": [guid], "name 10.0.0.1": ["SRV1"]}
    assert _known_as(replace(analysis_of(), sessions=(seen, silent)), [4, 9]) == {4: stated, 9: stated}

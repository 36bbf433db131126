"""The options that select are the same words with the same meaning on every command that shows calls or what follows from them."""

from typing import Any

import pytest
import typer.main

from analyzer.commands.shared.all_commands import command_line
from tests.commands.test_all_commands import CAPTURES, run
from tests.commands.test_all_commands import records as lines
from tests.corpus import CORPUS

COMMAND: Any = typer.main.get_command(command_line())
NAME = "pcq_smbd_scapy_impacket_smb311_ntlm_privacy_2clients"
POLLS = CAPTURES / f"{NAME}.pcap"
KEYS = ("--secrets", CAPTURES / f"{NAME}.secrets.json")
WORDS = ("--since", "--until", "--filter", "--interface", "--server", "--client", "--user")
SELECTING = (*("triage", "timeline", "show", "sessions", "hosts", "handles", "stats", "counters", "samples", "audit"),)


def records(command: str, *options: object) -> list[dict[str, Any]]:
    result = run(command, POLLS, *KEYS, "--format", "jsonl", *options)
    assert result.exit_code in (0, 10, 11), (result.output, result.exception)
    return lines(result.stdout)


def option(command: str, name: str) -> Any:
    return next((item for item in COMMAND.commands[command].params if name in item.opts), None)


@pytest.mark.parametrize("command", SELECTING)
def test_commands_select_by_the_same_words(command: str) -> None:
    for name in WORDS:
        here, there = option(command, name), option("timeline", name)
        assert (here.help, here.metavar, here.multiple) == (there.help, there.metavar, there.multiple)


def test_whose_password_it_is_is_another_option() -> None:
    for name, command in COMMAND.commands.items():
        if option(name, "--password") is not None:
            assert option(name, "--password-of") is not None
            assert option(name, "--user") is None or "Only calls of this account" in option(name, "--user").help
        assert command.name == name


@pytest.fixture(scope="module")
def calls() -> list[dict[str, Any]]:
    return [one for one in records("timeline") if one["record"] == "call"]


@pytest.fixture(scope="module")
def middle(calls: list[dict[str, Any]]) -> tuple[str, list[int]]:
    """A moment in the midst of the polls, and the numbers of the calls from then on."""
    polls = [one for one in calls if one["method"] == "PerflibV2QueryCounterData"]
    moment = polls[len(polls) // 2]
    return moment["time"], [one["number"] for one in calls if one["time_ns"] >= moment["time_ns"]]


def test_samples_and_counters_of_a_time(middle: tuple[str, list[int]]) -> None:
    time, numbers = middle
    for command in ("samples", "counters"):
        everything = records(command)
        expected = [one for one in everything if one["call"] in numbers]
        assert 0 < len(expected) < len(everything)
        # A rate has its value as before: the reading it began with is outside, and is used.
        assert records(command, "--since", time) == expected


def test_findings_of_a_time(middle: tuple[str, list[int]]) -> None:
    time, numbers = middle
    everything = [one for one in records("audit") if one["record"] == "finding"]
    expected = [one for one in everything if one["call"] in numbers]
    assert 0 < len(expected) < len(everything)
    found = [one for one in records("audit", "--since", time) if one["record"] == "finding"]
    # Those of the handles, associations and hosts of these calls stay as well.
    assert [one for one in found if one["call"] in numbers] == expected
    assert [one for one in everything if one in found] == found


def test_users_of_commands(calls: list[dict[str, Any]]) -> None:
    users = sorted({one["auth"]["user"] for one in calls if one["auth"]["user"]})
    assert users
    for user in users:
        numbers = [one["number"] for one in calls if one["auth"]["user"] == user]
        name = user.rpartition("\\")[2]
        assert sum(one["calls"] for one in records("stats", "--user", name) if one["record"] == "method-stats") == len(
            numbers
        )
        for handle in records("handles", "--user", user):
            assert {event["call"] for event in handle["events"]} <= set(numbers)
        assert {one["user"] for one in records("sessions", "--user", user)} == {user}


def test_options_are_completed_from_the_capture() -> None:
    def completed(command: str, option_name: str, incomplete: str) -> list[str]:
        context = COMMAND.commands[command].make_context(command, [str(CAPTURES / SEEN)], resilient_parsing=True)
        return [item.value for item in option(command, option_name).shell_complete(context, incomplete)]

    assert "127.0.0.1" in completed("stats", "--server", "127")
    assert completed("stats", "--user", "perf") == ["perfmon"]
    assert r"\Processor(*)\% Processor Time" in completed("counters", "--counter", r"\Proc")
    assert completed("audit", "--interface", "Perf") == ["PerflibV2"]
    assert completed("audit", "--select", "PCQ101") == ["PCQ101"]
    assert completed("audit", "--ignore", "served-below") == ["served-below-privacy"]
    assert "value" in completed("counters", "--filter", "val")


SEEN = "v1_samba_impacket_smb311_noauth.pcap"


@pytest.mark.corpus
def test_calls_that_are_asked_for_are_enough_whatever_they_are_about() -> None:
    path = CORPUS / "OISF-suricata-verify/tests__dcerpc-smb-test-01__input.pcap"
    assert run("timeline", path).exit_code == 3
    for options in (("--interface", "svcctl"), ("--filter", "interface == svcctl"), ("--follow-handle", "s2")):
        shown = run("timeline", path, *options)
        assert (shown.exit_code, shown.stderr) == (0, "")
        assert 'svcctl.RCreateServiceWOW64W "PSEXESVC"' in shown.stdout
    assert run("timeline", path, "--interface", "winreg").exit_code == 3


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("sessions --format ecs", '"session_id":"'),
        ("sessions --format timesketch", '"session_id":"'),
        ("sessions --format zeek", "\t"),
        ("stats --format jsonl", '"record":"session"'),
    ],
)
def test_every_form_has_the_sessions_of_the_selected_calls(line: str, name: str) -> None:
    ids = [one["session_id"] for one in records("sessions") if one["record"] == "session"]
    assert len(ids) == 2
    command, *form = line.split()
    printed = run(command, POLLS, *KEYS, *form, "--follow-session", ids[1]).stdout
    sessions = [text for text in printed.splitlines() if name in text and not text.startswith("#")]
    assert sessions
    assert all(ids[1] in text and ids[0] not in text for text in sessions)

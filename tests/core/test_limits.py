"""Every limit says what it is for, and the option that changes it exists."""

import gzip
import io
import json
from pathlib import Path

import pytest
from msgspec import structs
from typer.main import get_command

from analyzer.commands.shared.all_commands import command_line
from analyzer.core.limits import ABOUT, DEFAULTS, Limits
from analyzer.pipeline.live_reading import stream
from analyzer.screens.views.docs import amount

ROOT = Path(__file__).resolve().parents[2]


class Asked:
    """Limits as the page states them; which were asked for is noted."""

    def __init__(self) -> None:
        table = (ROOT / "docs" / "reliability.md").read_text("utf-8").partition("<!-- limits -->")[2]
        rows = table.partition("<!-- end of limits -->")[0].strip().splitlines()[2:]
        stated = [row.split("|")[1].strip() for row in rows]
        self.values = dict(zip(ABOUT, map(number, stated), strict=True))
        self.names: set[str] = set()

    def __getattr__(self, name: str) -> int:
        self.names.add(name)
        return self.values[name]


def number(stated: str) -> int:
    """`16 MiB`, `65,536`."""
    amount, _, unit = stated.replace(",", "").partition(" ")
    assert unit in ("", "MiB")
    return int(amount) << 20 if unit else int(amount)


def test_an_analysis_takes_the_limits_of_the_page() -> None:
    """Layers ask for limits by these names. Here are no compressed SMB, names, traces, links of senders, and nothing waits."""
    limits = Asked()
    capture = gzip.compress((ROOT / "captures" / "n_v1_pcapng.pcapng").read_bytes())
    calls = list(stream([io.BytesIO(capture)], limits=limits))
    assert calls
    seldom = {"smb_ratio", "smb_decompressed_free", "compound", "address_names", "waiting", "waiting_bytes", "started"}
    seldom |= {"trace_buffers", "trace_waiting", "trace_packets", "flow_links"}
    assert limits.names | seldom == set(ABOUT)
    assert limits.values == structs.asdict(Limits())


def test_every_limit_is_explained() -> None:
    assert list(ABOUT) == [field.name for field in structs.fields(Limits)]
    assert all(about.what and about.reason.endswith((".", "!")) for about in ABOUT.values())


def test_options_that_change_limits_exist_and_tell_their_defaults() -> None:
    timeline = get_command(command_line(["timeline"])).commands["timeline"]
    helps = {option: each.help for each in timeline.params for option in each.opts}
    for name, about in ABOUT.items():
        if about.option is not None:
            default = getattr(DEFAULTS, name)
            shown = f"{default >> 20} MiB" if about.unit == "bytes" and default >= 1 << 20 else str(default)
            assert about.option in helps
            if name != "held_stream":
                assert f"({shown})" in helps[about.option]


def test_limits_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    command_line(["docs"])(["docs", "limits"], standalone_mode=False)
    text = capsys.readouterr().out
    assert all(about.what in text and about.reason in text for about in ABOUT.values())
    command_line(["docs"])(["docs", "limits", "--format", "jsonl"], standalone_mode=False)
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {record["name"]: record["default"] for record in records} == structs.asdict(DEFAULTS)
    assert {record["record"] for record in records} == {"limit"}


def test_the_page_lists_every_limit() -> None:
    """After a change of a limit: put the table that this builds into docs/reliability.md."""
    rows = ["| default | what | why | option |", "|---|---|---|---|"]
    for name, about in ABOUT.items():
        option = f"`{about.option}`" if about.option else ""
        rows.append(f"| {amount(getattr(DEFAULTS, name), about.unit)} | {about.what} | {about.reason} | {option} |")
    page = (ROOT / "docs" / "reliability.md").read_text("utf-8")
    table = "\n".join(rows)
    assert f"<!-- limits -->\n\n{table}\n\n<!-- end of limits -->" in page

"""A machine as its Task Manager has it: which counterset belongs where, and which of its counters are what."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from analyzer.questions.films.film import Film


class Panel(Struct, frozen=True):
    """A part of the screen: the countersets in it by their English names, and the counters that are always there: a title, and the
    names they go by, the one to take first."""

    id: str
    title: str
    sets: tuple[str, ...]
    counters: tuple[tuple[str, tuple[str, ...]], ...] = ()


PANELS = (
    Panel(
        "processes",
        "Processes",
        ("Process", "Process V2"),
        (
            ("PID", ("ID Process", "Process ID")),
            ("Parent", ("Creating Process ID",)),
            ("CPU, %", ("% Processor Time",)),
            ("Memory", ("Working Set", "Working Set - Private", "Private Bytes")),
            ("Handles", ("Handle Count",)),
            ("Threads", ("Thread Count",)),
        ),
    ),
    Panel("cores", "Processors", ("Processor Information", "Processor")),
    Panel("memory", "Memory", ("Memory",)),
    Panel("disks", "Disks", ("PhysicalDisk", "LogicalDisk")),
    Panel("network", "Network", ("Network Interface", "TCPv4")),
    Panel("system", "System", ("System",)),
)
# Anything else that was polled.
OTHERS = Panel("others", "Other counters", ())


def panel_of(film: Film) -> Panel:
    """Returns the part of the screen that a film belongs to."""
    names = {name.casefold() for name in film.names}
    return next((one for one in PANELS if any(name.casefold() in names for name in one.sets)), OTHERS)


def usual_columns(film: Film) -> list[tuple[str, int | None]]:
    """Returns the counters that are always there, by title, each with the column that has it; None where it was not asked."""
    by_name = {name.casefold(): at for at, column in reversed(list(enumerate(film.columns))) for name in column.names}

    def column_of(names: Sequence[str]) -> int | None:
        return next((by_name[name.casefold()] for name in names if name.casefold() in by_name), None)

    return [(title, column_of(names)) for title, names in panel_of(film).counters]

"""`pcq export`: the conversation as a capture, decrypted for Wireshark or cut down to what somebody else needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from msgspec.structs import replace

from analyzer.capture.first_bytes import special_file
from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import EXIT_NOTHING, exit_of
from analyzer.commands.shared.options import CallSelection, Files, Head, Tail, force_option
from analyzer.commands.shared.result_writing import destination_of
from analyzer.core.output.gate import STANDARD_OUTPUT, Destination, say
from analyzer.core.printable_text import counted

if TYPE_CHECKING:
    from analyzer.results.analysis import Analysis, Selected


AllFrames = Annotated[
    Path | None,
    typer.Option(
        "--frames",
        metavar="OUT",
        help="Write all frames as pcapng (for .etl traces). Wireshark does not read traces of Windows. Frames keep their "
        "numbers.",
    ),
]


@command
def export(
    reading: CaptureReading,
    selection: CallSelection,
    files: Files,
    pcapng: Annotated[
        Path | None,
        typer.Option("--pcapng", metavar="OUT", help="Write the calls decrypted, as DCERPC packets."),
    ] = None,
    sliced: Annotated[
        Path | None,
        typer.Option(
            "--slice", metavar="OUT", help="Write the captured packets of the calls. With the handshakes they need."
        ),
    ] = None,
    frames: AllFrames = None,
    dsb: Annotated[
        list[str] | None,
        typer.Option(
            "--dsb",
            metavar="NAME",
            help=r"Put the key of this user into the slice. DOMAIN\name, a principal (name@REALM) or an SMB session (0x1d). "
            "Whoever has the slice then has the key.",
        ),
    ] = None,
    force: Annotated[bool, force_option("these options")] = False,
    head: Head = None,
    tail: Tail = None,
) -> None:
    """Write the calls as a capture: decrypted for Wireshark, or the packets that were captured."""
    if frames is not None:
        _write_frames(reading, files, frames, (pcapng, sliced), force=force)
    if pcapng is None and sliced is None:
        raise typer.BadParameter("say what to write: --pcapng OUT, --slice OUT or --frames OUT", param_hint="--pcapng")
    if sliced is not None:
        if (why := _no_packets(reading, files)) is not None:
            raise typer.BadParameter(f"{why}; write --pcapng instead", param_hint="--slice")
        reading.refuse_redaction("a slice is made of packets as they were captured; write --pcapng instead")
    secrets = _secrets(reading, sliced, dsb or ())
    if pcapng is not None and sliced is not None and pcapng == sliced:
        raise typer.BadParameter("--pcapng writes to this file already", param_hint="--slice")
    if sliced is not None:
        reading.refuse_cases(files, "a slice is of captured packets")
    # Checked before anything is read. What is decrypted, and keys, are for the owner only.
    decrypted, packets = (
        destination_of(path, files, reading, force=force, private=path is pcapng or secrets is not None)
        if path is not None
        else None
        for path in (pcapng, sliced)
    )
    analysis = reading.analysis(files, pdus=sliced is not None)
    calls = replace(selection.selection, head=head, tail=tail).shown(analysis)
    if not len(calls):
        raise _nothing_selected(analysis)
    if decrypted is not None:
        _write_decrypted(analysis, calls, decrypted)
    if packets is not None:
        _write_slice(reading, files, analysis, calls, packets, secrets)
    raise typer.Exit(exit_of(analysis))


def _nothing_selected(analysis: Analysis) -> typer.Exit:
    """Says that no call is selected for `export`, and which keys may find some; returns the exit of the command."""
    from analyzer.screens.viewmodel.unread import key_hint

    hint = key_hint(analysis)
    say("no call is selected: nothing is written", *([hint] if hint is not None else []))
    return typer.Exit(max(exit_of(analysis), EXIT_NOTHING))


def _write_frames(
    reading: CaptureReading, files: list[str], path: Path, others: Sequence[Path | None], *, force: bool
) -> NoReturn:
    """Writes the frames of a capture as another capture file, and ends the `export` command."""
    if any(other is not None for other in others):
        raise typer.BadParameter("leave out --pcapng and --slice: frames are written alone", param_hint="--frames")
    if len(files) != 1:
        raise typer.BadParameter(
            "frames have their numbers in one file: name one capture (mergecap joins what was written)",
            param_hint="--frames",
        )
    if (why := _no_packets(reading, files)) is not None:
        raise typer.BadParameter(why, param_hint="--frames")
    reading.refuse_redaction("frames are written as they were captured; write --pcapng instead")
    reading.refuse_cases(files, "frames are those of a capture")
    from analyzer.pipeline.capture_slicing_and_conversion import convert

    destination = destination_of(path, files, reading, force=force, private=False)
    with destination.opened() as out:
        converted = convert(Path(files[0]), out, reading.limits)
    for problem in converted.problems:
        say(f"{problem.kind}: {problem.text}")
    say(f"{counted(converted.frames, 'frame')}{_into(destination)}")
    if converted.empty:
        say(f"{counted(converted.empty, 'number')} of frames that could not be read: empty packets stand there")
    raise typer.Exit(EXIT_NOTHING if not converted.frames else 0)


def _no_packets(reading: CaptureReading, files: Sequence[str]) -> str | None:
    """Says why `export` cannot read captured packets again; None if it can."""
    for name in files:
        if name == STANDARD_OUTPUT or special_file(name) is not None:
            return f"{'standard input' if name == STANDARD_OUTPUT else name} cannot be read twice"
    return "--engine tshark gives no packets" if reading.engine == "tshark" else None


def _secrets(reading: CaptureReading, sliced: Path | None, names: Sequence[str]) -> bytes | None:
    """Returns the keys of these names, which `export` embeds in a slice; None if nobody asked for any."""
    if not names:
        return None
    if sliced is None:
        raise typer.BadParameter("only a slice needs keys: --slice OUT", param_hint="--dsb")
    from analyzer.auth.secrets import document_of

    try:
        chosen = reading.keyring.named(names)
    except KeyError as error:
        known = ", ".join(reading.keyring.names) or "none"
        raise typer.BadParameter(
            f"no key of {error.args[0]} is given; there are keys of: {known}", param_hint="--dsb"
        ) from None
    say(
        f"warning: the slice will hold the keys of {', '.join(names)}; whoever reads it can decrypt more than these calls"
    )
    return document_of(chosen)


def _write_decrypted(analysis: Analysis, calls: Selected, destination: Destination) -> None:
    from analyzer.interfaces.call_contents.machine_names import machine_names
    from analyzer.screens.formats.unsealed_packets import Unwritten, write_conversation

    unwritten, count = Unwritten(), 0
    with destination.opened() as out:
        count = write_conversation(
            calls, out, files=analysis.capture.files, names=machine_names(analysis), unwritten=unwritten
        )
    say(f"{counted(len(calls), 'call')} in {counted(count, 'packet')}{_into(destination)}")
    if unwritten.sealed:
        say(f"{counted(unwritten.sealed, 'message')} could not be decrypted: written as captured")
    if unwritten.dropped:
        say(f"{counted(unwritten.dropped, 'message')} left out: longer than --max-stub, so the bytes were not kept")


def _write_slice(
    reading: CaptureReading,
    files: list[str],
    analysis: Analysis,
    calls: Selected,
    destination: Destination,
    secrets: bytes | None,
) -> None:
    from analyzer.pipeline.capture_slicing_and_conversion import slice_of
    from analyzer.pipeline.segment_sources import sources_of

    found = slice_of(sources_of(files), analysis, calls, reading.keyring, reading.limits, secrets)
    with destination.opened() as out:
        for piece in found.pieces():
            out.write(piece)
    of_all = f"{counted(found.packets, 'packet')} of {analysis.capture.frames}"
    say(f"{counted(len(calls), 'call')} in {of_all}{_into(destination)}")
    if found.whole:
        say(
            f"{counted(found.whole, 'connection')} taken whole: without the packets between, calls are read differently"
        )
    if found.lacking:
        say(f"{counted(found.lacking, 'call')} of these read differently from the slice: keep the whole capture too")


def _into(destination: Destination) -> str:
    return "" if destination.path is None else f", written to {destination.path}"

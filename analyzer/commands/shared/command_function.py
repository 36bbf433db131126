"""Makes a command of a function by the options of its parameters; what it was given goes into evidence and printed commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, get_args

import typer
from msgspec.structs import replace

from analyzer.commands.shared.capture_reading import CaptureReading, capture_reading, named_files
from analyzer.commands.shared.exit_codes import ReadingFailedError
from analyzer.commands.shared.options import SELECTIONS, CallSelection, ReadFiles, renamed
from analyzer.commands.shared.result_writing import Writing, result_writing
from analyzer.core.printable_text import without_raw_bytes

if TYPE_CHECKING:
    from analyzer.results.analysis import EvidenceRecord, Given


def command(function: Callable[..., None], *, hashing: bool = False) -> Callable[..., None]:
    """Gives a command the options of its parameters: those of `result_writing` for a `Writing`, of `capture_reading` for a
    `CaptureReading`, of the maker in `SELECTIONS` for a selection.

    Typer makes options of a function's parameters; commands that share options would have to repeat all of them. A command that is
    `hashing` states what its result was made from, unless --no-hash is given.
    """
    own = list(signature(function, eval_str=True).parameters.values())
    makers: dict[Any, Callable[..., Any]] = {Writing: result_writing, CaptureReading: capture_reading}
    makers |= {item.annotation: SELECTIONS[item.annotation]() for item in own if item.annotation in SELECTIONS}
    taken = {item.annotation: item.name for item in own if item.annotation in makers}
    shared = {
        kind: list(signature(makers[kind], eval_str=True).parameters.values()) for kind in makers if kind in taken
    }

    parameters = [item for item in own if item.annotation not in makers]
    of_files = next((item for item in parameters if item.name == "files"), None)
    if of_files is not None:
        parameters[parameters.index(of_files)] = of_files.replace(default=None)
        parameters.append(Parameter("read", Parameter.KEYWORD_ONLY, default=None, annotation=ReadFiles))
    parameters += [item for items in shared.values() for item in items]
    parameters = [item.replace(kind=Parameter.KEYWORD_ONLY) for item in parameters]

    @wraps(function)
    def with_options(**values: Any) -> None:
        if of_files is not None:
            values["files"] = _all_files(values, needed=of_files.default is Parameter.empty)
        given = dict(values)
        if values.get("hashes") is None and CaptureReading in taken:
            values["hashes"] = hashing or values.get("output_format") == "sarif"
        made = {
            kind: makers[kind](**{item.name: values.pop(item.name) for item in items}) for kind, items in shared.items()
        }
        if (writing := made.get(Writing)) is not None:
            reading = made.get(CaptureReading)
            made[Writing] = writing.sparing([*named_files(values), *(reading.files if reading is not None else ())])
            if reading is not None and reading.hashing:
                if str(values.get("output_format")) in ("timesketch", "ecs", "zeek"):
                    raise typer.BadParameter("this form has no place for it", param_hint="--hash")
                made[Writing].destination.seal()
                made[Writing].evidence = partial(
                    _evidence,
                    function.__name__.replace("_", "-"),
                    parameters,
                    given,
                    reading,
                    made[Writing].destination.mark,
                )
        if CaptureReading in made:
            made[CaptureReading] = replace(made[CaptureReading], given=_given_to_command(shared, given))
        if CaptureReading in made and made[CaptureReading].pseudonyms is not None:
            made = {kind: renamed(one, made[CaptureReading].pseudonyms) for kind, one in made.items()}
        with _in_part(made[CaptureReading].failures if CaptureReading in made else []):
            function(**{taken[kind]: one for kind, one in made.items()}, **values)

    with_options.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    # The signature has them; typer would strip them a second time.
    with_options.__annotations__ = {}
    return with_options


@contextmanager
def _in_part(failures: Sequence[Exception]) -> Iterator[None]:
    """Raises `ReadingFailedError` at the end of a command if reading captures failed, whatever its exit code."""
    try:
        yield
    except typer.Exit:
        if not failures:
            raise
    if failures:
        raise ReadingFailedError("the capture was read in part only") from failures[0]


def _all_files(values: dict[str, Any], *, needed: bool) -> list[str]:
    """Returns the captures named on the command line, with and without -r, and takes them out of the values."""
    files = [*(values.pop("read", None) or ()), *(values["files"] or ())]
    if not files and needed:
        raise typer.BadParameter("name a capture", param_hint="FILE")
    return files


# Options that say where a result goes are not stated. Of secrets, only that they were given.
_NOT_STATED = frozenset({"output", "force", "no_pager", "files", "file", "hashes", "new_baseline", "time_zone", "jobs"})
_SECRETS = frozenset({"password", "nt_hash", "smb_session_key", "password_of", "redact_key"})


def _option_name(item: Parameter) -> str:
    """Returns the name of an option on the command line, without its dashes."""
    for one in get_args(item.annotation)[1:]:
        # In an annotation, typer takes the first name of an option for its default.
        for word in (getattr(one, "default", None), *(getattr(one, "param_decls", None) or ())):
            if isinstance(word, str) and word.startswith("--"):
                return word.removeprefix("--")
    return item.name.replace("_", "-")


# Options that are not repeated in printed commands, since they concern this command alone.
_OF_ONE_COMMAND = frozenset({"hashes", "list_fields", "jobs"})


def _given_to_command(shared: Mapping[Any, list[Parameter]], given: dict[str, Any]) -> Given:
    """Returns what the function of a command was given to read and select by, for the commands that it prints, without secrets."""
    from analyzer.results.analysis import Given

    def words(item: Parameter) -> Iterator[str]:
        value = given.get(item.name)
        if item.name in _OF_ONE_COMMAND or value is None or value == item.default:
            return
        for one in value if isinstance(value, list) else [value]:
            yield f"--{_option_name(item)}"
            if one is not True:
                yield "-" if item.name in _SECRETS - {"password_of"} else str(one)

    kinds = [kind for kind in shared if kind is CaptureReading or kind in SELECTIONS]
    options = [item for kind in kinds for item in shared[kind] if item.name not in ("interface", "call_filter")]
    chosen = {item.name: list(words(item))[1::2] for kind in kinds for item in shared[kind]}
    # A filter of values is not a filter of calls.
    filters = chosen.get("call_filter", ()) if CallSelection in kinds else ()
    return Given(
        files=(),
        options=tuple(word for item in options for word in words(item)),
        interfaces=tuple(chosen.get("interface", ())),
        filter=next(iter(filters), None),
    )


def _evidence(
    command: str, parameters: Sequence[Parameter], given: dict[str, Any], reading: CaptureReading, mark: str | None
) -> EvidenceRecord:
    """Makes the evidence for the function of a command from its options and all that was read so far; `parameters` are those of the
    function. When the result is written, its digest replaces `mark`."""
    from importlib.metadata import version

    from analyzer.capture.file_digest import digest_of
    from analyzer.results.analysis import EvidenceRecord, Input

    names = {item.name: _option_name(item) for item in parameters}
    defaults = {item.name: item.default for item in parameters}
    options = {}
    for name, value in sorted(given.items()):
        if name not in _NOT_STATED and value is not None and value != defaults[name]:
            text = without_raw_bytes(" ".join(map(str, value)) if isinstance(value, list) else str(value))
            text = reading.pseudonyms.free(text) if reading.pseudonyms is not None else text  # names that were typed
            shown = "" if value is True else "(given)" if name in _SECRETS else text
            options[names[name]] = shown
    digests = [("capture", digest) for digests in reading.read for digest in digests]
    paths = [("metadata", path) for path in reading.metadata]
    paths += [("baseline", given["baseline"])] if given.get("baseline") is not None else []
    paths += [("triggered", given["triggered"])] if given.get("triggered") is not None else []
    digests += [(role, digest_of(path)) for role, path in paths]
    return EvidenceRecord(
        tool="pcq-analyzer",
        version=version("pcq-analyzer"),
        command=command,
        options=options,
        inputs=tuple(Input(role=role, name=one.name, size=one.size, sha256=one.sha256) for role, one in digests),
        limits_reached=tuple(reading.limits_reached),
        result=mark,
    )

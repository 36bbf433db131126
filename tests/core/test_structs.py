"""The value types of the package: immutable where they say so, and usable by what the standard library offers for values."""

import ast
import copy
import inspect
import pickle
import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

import msgspec
import pytest
from msgspec import Struct
from rich.pretty import pretty_repr

import analyzer
from analyzer.core.byte_origins import FrameExtent
from analyzer.core.events import CaptureEnds, Event, Problem
from analyzer.core.printable_text import Discreet

# Packages of extras, without which the modules that use them at once cannot be loaded.
OF_EXTRAS = {"dask", "distributed", "textual"}


def loaded(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in OF_EXTRAS:
            raise
        return None


# Bytes that are made when they are asked for: `data` and where they are from are no fields of theirs.
ON_REQUEST = {"StoredBytes", "_Concatenation"}


@cache
def value_types() -> list[type[Struct]]:
    names = [item.name for item in walk_packages(analyzer.__path__, "analyzer.")]
    wanted = [name for name in names if not name.endswith("__main__") and "_generated" not in name]
    modules = [module for name in wanted if (module := loaded(name)) is not None]
    found = {each for module in modules for each in vars(module).values() if isinstance(each, type)}
    ours = {each for each in found if issubclass(each, Struct) and each.__module__.startswith("analyzer.")}
    ours = {each for each in ours if each.__name__ not in ON_REQUEST}
    return sorted(ours, key=lambda each: (each.__module__, each.__qualname__))


def made(kind: type[Struct]) -> Any:
    """A value with a text of its own in every field."""
    return kind(**{name: f"the {name} of it" for name in kind.__struct_fields__})


def names_for_types_alone(kind: type) -> set[str]:
    """The names that the modules of a type and its bases import for annotations alone, to start quickly or because two modules
    refer to each other."""
    trees = [ast.parse(inspect.getsource(sys.modules[each.__module__])) for each in kind.__mro__ if is_ours(each)]
    guarded = [
        node
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    imports = [node for one in guarded for node in ast.walk(one) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {name.asname or name.name for node in imports for name in node.names}


def is_ours(kind: type) -> bool:
    return kind.__module__.startswith("analyzer.")


def unresolved_name_of(kind: type[Struct]) -> str | None:
    """The name in the annotations of a type that stands for nothing when they are evaluated, None if there is none."""
    try:
        parameters_of(kind)
    except NameError as error:
        return error.name
    return None


def parameters_of(kind: type[Struct]) -> list[inspect.Parameter]:
    return list(inspect.signature(kind).parameters.values())


# Types whose values are built up or counted in. Of all others a value, once made, is shared and never changes.
CHANGING = """
    auth.kerberos_context: _Parts
    collect.collect_run: Done
    collect.stage_tasks_and_facts: ConversationFacts FileFacts Judged RowsFacts
    collect.dataset_manifest: Facts Manifest
    core.byte_origins: PackedOrigins
    interfaces.call_contents.client_programs: ClientConnection
    interfaces.pcq.query_handles: Happened Query _Channel _Use _Watch
    pipeline.capture_slicing_and_conversion: _Exchange _Link _Needs
    probe.probe_recording: Captured
    probe.probe_script: Counterset Known Script
    questions.audit.data_answers: Block DataAnswer _Content
    questions.audit.findings_and_coverage: Coverage FindingPattern
    questions.audit.identifier_lists: IdentifierList
    questions.audit.rule_registry: Rule
    questions.audit.rules.counter_values: _Constant
    questions.differences.conversation_keys: _Talk
    questions.differences.conversation_comparison: FieldComparison
    questions.films.film: Film FilmRow
    questions.films.film_maker: _Lane
    questions.observations.observation_making: Draft
    questions.processes.process_records: _Values
    questions.series.answer_columns: Answer _Viewer
    questions.series.counter_records: Bucket
    questions.series.series_limit: _CutSet
    questions.series.value_plans: PlanRows ValuePlan
    questions.series.reading_batches: Batch _Last _Work
    questions.statistics.process_sightings: ProcessSighting
    questions.statistics.who_looked_at_what: _Deeds
    questions.statistics.hosts: Machine Sighting _AddressesOfMachine
    questions.statistics.call_statistics: _Errors _Polled
    results.reported_names.counterset_catalog: CounterEntry CountersetEntry Described
    results.reported_names.saved_metadata: _Differences
    results.captured_packets: _PackedMessage
    screens.browse.panes: _TreeLine
    screens.formats.unsealed_packets: Unwritten
    screens.formats.junit: _Reported
    screens.formats.report_page_call_sides: _AlikeSides
    screens.formats.record_tables: _Plan
    screens.viewmodel.layer_fields: _Alike
    screens.viewmodel.plotted_series: _PlottedReadings
    screens.views.audit: _AlikeFindings
    screens.views.counters: _SeriesLine
    screens.views.timeline_text: _Pair
    screens.views.text_report: CallRun
    transport.packet.block_dissector: DissectedBlock
    transport.packet.sender_mac_and_ttl: _Seen
    transport.packet.ip_fragments: Datagram
    transport.packet.frame_tallies: Tallies Tally
    transport.packet.tunnels: Inner
    transport.rpc.call_pairing: CallSide PduList PendingCall
    transport.smb.files.file_tracker: FileOpen
    transport.smb.smb1_reader: Smb1Request
    transport.smb.files.smb1_files: _Smb1FileRequest
    transport.smb.smb1_message: Smb1Block
    transport.smb.smb1_session_setup: Smb1Setup
    transport.smb.smb2_reader: Compound Operation Smb2Request
    transport.smb.files.smb2_files: _Smb2FileRequest
    transport.smb.smb2_session_setup: Smb2Setup
    transport.smb.smb_connection_state: ConnectionState ProblemTally SharedState
    transport.smb.smb_session: Undecrypted
    transport.smb.trees_and_opens: ConnectedTree Open SentData
    transport.tcp.stream_ordering_and_gaps: _Delivered
"""


def test_there_are_many_of_them() -> None:
    assert len(value_types()) > 200


@pytest.mark.parametrize("change", [setattr, lambda value, name, _: delattr(value, name)])
def test_frozen_is_true(change: Any) -> None:
    frozen = [kind for kind in value_types() if kind.__struct_config__.frozen and kind.__struct_fields__]
    assert len(frozen) > 150
    for kind in frozen:
        value = made(kind)
        for name in kind.__struct_fields__:
            with pytest.raises(AttributeError, match="immutable type"):
                change(value, name, "another")
        assert [getattr(value, name) for name in kind.__struct_fields__] == [
            f"the {name} of it" for name in kind.__struct_fields__
        ]


def test_only_what_is_built_up_may_be_changed() -> None:
    lines = (line.partition(": ") for line in CHANGING.strip().splitlines())
    changing = {f"analyzer.{module.strip()}.{name}" for module, _, names in lines for name in names.split()}
    mutable = {f"{kind.__module__}.{kind.__qualname__}" for kind in value_types() if not kind.__struct_config__.frozen}
    assert mutable == changing


# Types with columns (numpy gives no truth of a comparison), and such as are what they are and not what they hold.
BY_IDENTITY = """
    capture.etl: TracedBlock
    capture.frame_blocks: FrameBlock PlacedBlock
    core.arrow_files: ArrowValues
    core.byte_origins: FrameTable PackedOrigins SharedSource
    core.traced_bytes: _PartStore
    interfaces.buffers.value_rows: PerfColumns
    interfaces.buffers.tree_texts: _LayoutText
    interfaces.buffers.perf_data_layout: Grid PerfDataLayout PerfDataParts Singles _Read
    interfaces.buffers.winperf_layout: WinperfLayout WinperfParts
    interfaces.buffers.known_layouts: KnownLayout _Known
    interfaces.call_contents.bound_answers: Binding
    interfaces.call_contents.raw_samples: ChunkPart SampleChunk
    questions.audit.findings_and_coverage: FindingPattern
    questions.audit.rule_plans: Plan
    questions.audit.rule_registry: Rule
    questions.films.film: Film FilmFrame Films PollCells
    questions.films.film_maker: _FilmPart _Lane
    questions.series.answer_columns: Answer
    questions.series.columns_of_readings: Quotients
    questions.series.series_limit: ChosenInstances CutAnswer _CutSet
    questions.series.value_plans: ValuePlan
    questions.series.reading_batches: Batch
    results.analysis: Analysis Part
    results.calls.call_row_columns: SharedValues
    results.records.saved_record_tables: SavedTable
    results.records.display_records: Form
    screens.formats.report_page_call_sides: Template
    screens.formats.sample_and_reading_tables: _Entries
    transport.packet.segment_runs: Batches Runs _Parted _Side
    transport.packet.segment_columns: Payloads SegmentColumns
    transport.packet.block_dissector: DissectedBlock
    transport.packet.common_frame_shapes: TcpFrames
    transport.packet.ip_fragments: Datagram
    transport.packet.segment: SegmentBatch
    transport.packet.host_pair_sorter: ChosenFrames
    transport.tcp.stream_ordering_and_gaps: _Delivered
"""


def test_values_are_equal_by_their_fields_unless_these_are_columns() -> None:
    found: dict[str, list[str]] = {}
    for kind in value_types():
        if not kind.__struct_config__.eq:
            found.setdefault(kind.__module__.removeprefix("analyzer."), []).append(kind.__qualname__)
    lines = (line.strip().partition(": ") for line in BY_IDENTITY.strip().splitlines())
    assert {name: sorted(kinds) for name, kinds in found.items()} == {name: kinds.split() for name, _, kinds in lines}


def test_every_event_is_frozen() -> None:
    events = [kind for kind in value_types() if issubclass(kind, Event)]
    assert {CaptureEnds, Problem} < set(events)
    assert [kind for kind in events if not kind.__struct_config__.frozen] == []


def test_signatures_name_the_fields_and_which_may_be_left_out() -> None:
    for kind in value_types():
        missing = unresolved_name_of(kind)
        if missing is not None:
            # Its signature can only be had with text for that type.
            assert missing in names_for_types_alone(kind) | {"npt"}, kind  # names of arrays stand for text with `npt`
            continue
        parameters = parameters_of(kind)
        assert {each.name for each in parameters} == set(kind.__struct_fields__), kind
        optional = {each.name for each in parameters if each.default is not each.empty}
        assert optional == {each.name for each in msgspec.structs.fields(kind) if not each.required}, kind
    assert str(inspect.signature(FrameExtent)) == "(frame: int, start: int, length: int, time_ns: int = 0)"


def test_values_go_through_pickle_and_copy() -> None:
    for kind in value_types():
        value = made(kind)
        for other in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
            assert type(other) is kind
            assert msgspec.structs.astuple(other) == msgspec.structs.astuple(value)


def test_values_are_replaced_by_the_librarys_protocol() -> None:
    """`copy.replace` of Python 3.13 calls `__replace__`, which is there on every Python."""
    for kind in value_types():
        for name in kind.__struct_fields__:
            value = made(kind)
            others = [msgspec.structs.replace(value, **{name: "another"}), value.__replace__(**{name: "another"})]
            if sys.version_info >= (3, 13):
                others.append(copy.replace(value, **{name: "another"}))
            for other in others:
                assert type(other) is kind
                changed = [each for each in kind.__struct_fields__ if getattr(other, each) != getattr(value, each)]
                assert changed == [name]
        with pytest.raises(TypeError):
            msgspec.structs.replace(made(kind), no_such_field=1)


def test_values_match_patterns_by_position() -> None:
    match Problem("gap", "tcp", (1, 2), "lost"):
        case Problem("gap", layer, frames):
            assert (layer, frames) == ("tcp", (1, 2))
        case _:
            raise AssertionError


def test_extents_of_one_place_are_equal_whatever_time_they_know() -> None:
    assert FrameExtent(1, 2, 3, 4) == FrameExtent(1, 2, 3)
    assert hash(FrameExtent(1, 2, 3, 4)) == hash(FrameExtent(1, 2, 3))
    assert FrameExtent(1, 2, 3) != FrameExtent(1, 2, 4)
    assert repr(FrameExtent(1, 2, 3, 4)) == "FrameExtent(frame=1, start=2, length=3)"


def test_hidden_fields_are_shown_by_nothing() -> None:
    discreet = [kind for kind in value_types() if issubclass(kind, Discreet) and kind is not Discreet]
    assert len(discreet) >= 14
    for kind in discreet:
        assert kind.hidden, kind
        assert set(kind.hidden) <= set(kind.__struct_fields__), kind
        # The types whose repr is made of other fields take numbers and None for some.
        numbers = {"session_id": 7, "etype": 18, "kvno": 3, "cipher": 1}
        value = kind(
            **{
                name: numbers.get(name, f"shown {name}") if name not in kind.hidden else f"hidden {name}"
                for name in kind.__struct_fields__
            }
        )
        for text in (repr(value), str(value), f"{[value]}", pretty_repr(value, expand_all=True)):
            assert "hidden" not in text
            assert kind.__name__ in text


def test_no_key_or_password_is_a_field_that_is_shown() -> None:
    secret = re.compile(r"key|hash|password|^seal$|^sign$")
    found = 0
    for kind in value_types():
        if not kind.__module__.startswith(("analyzer.auth", "analyzer.transport.smb.smb3_crypto")):
            continue
        for name in kind.__struct_fields__:
            if secret.search(name) and re.search(r"bytes|str", str(inspect.get_annotations(kind).get(name, ""))):
                found += 1
                assert issubclass(kind, Discreet), (kind, name)
                assert name in kind.hidden, (kind, name)
    assert found >= 10


def test_no_module_makes_values_in_another_way() -> None:
    root = Path(analyzer.__file__).parent
    texts = {path: path.read_text(encoding="utf-8") for path in root.rglob("*.py")}
    assert [
        path for path, text in texts.items() if re.search(r"^(from|import) (dataclasses|attrs?)\b", text, re.M)
    ] == []

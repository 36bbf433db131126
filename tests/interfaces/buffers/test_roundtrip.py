"""What builders encode, decoders return: random well-formed buffers of every kind, and the readings the data decides on."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.interfaces.buffers.buffer_trees import TreeFiller, decode_buffer, parse_positions, plan_for
from analyzer.interfaces.buffers.value_rows import perf_data_rows, winperf_rows
from tests.build.buffers import (
    Block,
    Counter,
    Instance,
    PerfObject,
    identifier,
    instance_header,
    name_table,
    perf_data,
    string_table,
    winperf,
)
from tests.interfaces.buffers.strategies import any_buffer, guids, names, objects, perf_datas, u32

modest = settings(max_examples=60)


@modest
@given(perf_datas())
def test_performance_data_reads_back(made: tuple[list[Block], bytes]) -> None:
    blocks, data = made
    read = perf_data_rows(data)
    assert read.problem is None
    assert (read.num_blocks, read.perf_time_stamp, read.perf_freq) == (len(blocks), 5, 10_000_000)
    stated = [
        (row.block, row.block_type, row.status, row.counter_id, row.instance, row.instance_id, row.data)
        for row in read.rows
    ]
    assert stated == [row for number, block in enumerate(blocks) for row in block.rows(number)]
    assert decode_buffer("perf-data", data).consumed == len(data)


def test_every_padding_of_an_odd_number_of_ids_is_understood() -> None:
    notes = []
    for padding in ("counted", "uncounted", "none"):
        for kind, instances in ((2, ()), (6, (("a", 1), ("bc", 2)))):
            rows = tuple((b"\4\0\0\0", b"\x08" + bytes(7), bytes(8)) for _ in range(max(len(instances), 1)))
            block = Block(kind, 0, (1, 2, 9), instances, rows, padding)
            read = perf_data_rows(perf_data([block]))
            assert read.problem is None
            assert [row.data for row in read.rows] == [value for row in rows for value in row]
            notes.append(" ".join(read.notes))
    assert notes[0] == notes[1] == ""
    assert all("counted by no size" in note for note in notes[2:4])
    assert all("not 8-aligned" in note for note in notes[4:])


@modest
@given(st.lists(objects(), max_size=4))
def test_winperf_reads_back_in_either_byte_order(made: list[PerfObject]) -> None:
    little, big = winperf_rows(winperf(made, "little")), winperf_rows(winperf(made, "big"))
    assert little.problem is None
    assert (little.system_name, little.perf_time, little.perf_freq) == ("SRV1", 987_654_321, 10_000_000)
    assert little == replace(big, big_endian=False)
    assert big.big_endian
    assert [item.name_index for item in little.objects] == [item.index for item in made]
    for read, item in zip(little.objects, made, strict=True):
        assert [(entry.name_index, entry.counter_type, entry.size) for entry in read.definitions] == [
            (entry.index, entry.kind, entry.size) for entry in item.counters
        ]
        for instance, model in zip(read.instances, item.instances, strict=True):
            assert instance.name == model.name
            assert instance.unique_id == (None if model.unique_id == -1 else model.unique_id)
            if item.has_instances:
                assert (instance.parent_index, instance.parent_instance) == model.parent
            expected = [
                None if counter.size == 0 else value for counter, value in zip(item.counters, model.values, strict=True)
            ]
            assert list(instance.values) == expected


def test_a_last_counter_block_that_understates_its_length_is_read() -> None:
    counters = (Counter(6, 0x20510500, 8), Counter(8, 0x20510500, 8))
    data = bytearray(winperf([PerfObject(2, counters, (Instance("a", -1, (0, 0), (5, 6)),))]))
    block = data.rindex((5).to_bytes(8, "little")) - 8
    data[block : block + 4] = (16).to_bytes(4, "little")
    read = winperf_rows(bytes(data))
    assert read.problem is None
    assert read.objects[0].instances[0].values == (5, 6)
    assert read.notes == ("object 0: the last counter block says 16 bytes and holds values up to byte 24",)


def test_any_other_counter_block_keeps_to_its_length() -> None:
    counters = (Counter(6, 0x20510500, 8), Counter(8, 0x20510500, 8))
    rows = (Instance("a", -1, (0, 0), (5, 6)), Instance("b", -1, (0, 0), (7, 8)))
    data = bytearray(winperf([PerfObject(2, counters, rows)]))
    block = data.index((5).to_bytes(8, "little")) - 8
    data[block : block + 4] = (16).to_bytes(4, "little")
    read = winperf_rows(bytes(data))
    assert read.problem.field.startswith("objects[0].body.instances[")


@modest
@given(st.lists(st.tuples(guids, u32, u32, u32, st.none() | names), max_size=4))
def test_identifiers_read_back(made: list[tuple[str, int, int, int, str | None]]) -> None:
    data = b"".join(
        identifier(guid, status=status, counter=counter, index=index, name=name)
        for guid, status, counter, index, name in made
    )
    decoded = decode_buffer("identifiers", data)
    assert decoded.problem is None
    keys = ("counterset_guid", "status", "counter_id", "index", "name")
    assert [tuple(item[key] for key in keys) for item in decoded.tree["identifiers"]] == made


@modest
@given(st.lists(st.tuples(names, u32), max_size=5))
def test_instances_read_back(made: list[tuple[str, int]]) -> None:
    decoded = decode_buffer("instances", b"".join(instance_header(name, number) for name, number in made))
    assert decoded.problem is None
    assert [(item["name"], item["instance_id"]) for item in decoded.tree["instances"]] == made


@modest
@given(st.lists(st.tuples(u32, st.none() | names), max_size=5), st.booleans())
def test_string_tables_read_back_whatever_their_offsets_count_from(
    made: list[tuple[int, str | None]], from_start: bool
) -> None:
    decoded = decode_buffer("string-table", string_table(made, from_start=from_start))
    assert decoded.problem is None
    assert [(item["counter_id"], item["string"]) for item in decoded.tree["strings"]] == made


@modest
@given(st.lists(st.tuples(st.integers(1, 99999).map(str), names), max_size=8))
def test_name_tables_read_back(made: list[tuple[str, str]]) -> None:
    decoded = decode_buffer("name-table", name_table(made))
    assert decoded.problem is None
    entries = [(item["index"], item["text"]) for item in decoded.tree["entries"] if item["index"]]
    assert entries == made


@modest
@given(any_buffer())
def test_both_sets_of_parsers_say_the_same(made: tuple[str, bytes]) -> None:
    kind, data = made
    plan = plan_for(kind, data, None)
    compiled, problem = parse_positions(plan)
    assert problem is None
    tree: dict[str, object] = {}
    TreeFiller().fill(compiled, tree, plan.reading)
    assert tree == decode_buffer(kind, data).tree


def test_unpaired_surrogates_are_kept_apart_and_damage_nothing() -> None:
    odd, other = b"\x00\xd8a\0\0\0", b"\x01\xd8a\0\0\0"
    rows = b"".join((16).to_bytes(4, "little") + bytes(4) + text + b"\0\0" for text in (odd, other))
    decoded = decode_buffer("instances", rows)
    assert decoded.problem is None
    first, second = (item["name"] for item in decoded.tree["instances"])
    assert first != second
    first.encode()
    table = decode_buffer("name-table", b"1\0\0\0" + odd + b"\0\0")
    assert table.tree["entries"][0] == {"index": "1", "text": "\ufffda"}
    assert table.notes == ("unpaired surrogates are shown as U+FFFD",)


def test_sizes_that_disagree_and_bytes_that_nobody_claims_are_remarked_on() -> None:
    block = Block(4, 0, (), (("a", 1),), ((b"\1\0\0\0",),))
    data = bytearray(perf_data([block]) + b"tail")
    data[0:4] = (4096).to_bytes(4, "little")
    data[64:68] = (8).to_bytes(4, "little")
    notes = perf_data_rows(bytes(data)).notes
    assert notes == decode_buffer("perf-data", bytes(data)).notes
    assert notes == (
        "block 0: dwTotalSize of the instances is 8, they take 40 bytes",
        "dwTotalSize is 4096, the blocks end at byte 104",
        "4 bytes at the end belong to nothing",
    )
    wasteful = bytearray(perf_data([Block(1, values=((bytes(8),),)), Block(0)]))
    wasteful[56:60] = (48).to_bytes(4, "little")
    assert perf_data_rows(bytes(wasteful)).notes == ("block 0: 16 bytes at its end belong to nothing",)


def test_a_total_that_leaves_out_the_header_is_remarked_on_and_nothing_worse() -> None:
    item = PerfObject(2, (Counter(4, 0x10000, 4),), (Instance("a", -1, (0, 0), (1,)),))
    data = winperf([item])
    short = data[:20] + (len(data) - 104).to_bytes(4, "little") + data[24:]
    read = winperf_rows(short)
    assert read.problem is None
    assert read.objects == winperf_rows(data).objects
    assert "Samba leaves out the header" in read.notes[0]

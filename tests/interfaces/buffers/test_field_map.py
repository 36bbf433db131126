"""Fields beside their bytes: every leaf's bytes encode its value, and names, spellings and meanings are the specification's."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.interfaces.buffers import field_map
from analyzer.interfaces.buffers.field_map import Field, StubKind, map_fields
from analyzer.results.buffer_kinds import BufferKind
from tests.build.buffers import Block, Ndr, Order, perf_data
from tests.interfaces.buffers.strategies import any_buffer, blocks
from tests.interfaces.buffers.test_vectors import BUFFERS, STUBS, data_of, kind_of, stub_kind
from tests.written import is_as_written

NUMBER = {"u1": (1, False), "u2": (2, False), "u4": (4, False), "u8": (8, False), "s4": (4, True), "s8": (8, True)}


def encodes(leaf: Field, orders: tuple[str, ...] = ("little", "big")) -> bool:
    """Whether the bytes of a leaf say its value, in one of the byte orders."""
    raw, value = leaf.raw, leaf.value
    if isinstance(value, int):
        signed = leaf.type in NUMBER and NUMBER[leaf.type][1]
        return any(int.from_bytes(raw, order, signed=signed) == value for order in orders)
    assert isinstance(value, str)
    if leaf.type.endswith((".guid", ".uuid")):
        return UUID(value) in (UUID(bytes_le=raw), UUID(bytes=raw))
    if leaf.type == "bytes":
        return raw.hex() == value
    whole = raw[: len(raw) & ~1]  # an odd byte at the end is no part of UTF-16 text
    texts = [whole.decode(codec, "backslashreplace") for codec in ("utf-16-le", "utf-16-be")]
    return any(text.partition("\0")[0] == value for text in (*texts, raw.decode("latin-1")))


@pytest.mark.parametrize("name", BUFFERS)
def test_the_bytes_of_each_leaf_encode_its_value(name: str) -> None:
    mapped = map_fields(kind_of(name), data_of(name))
    assert mapped.problem is None
    assert mapped.root.raw == data_of(name)[: mapped.root.length]
    assert all(encodes(leaf, ("little",)) for leaf in mapped.root.leaves())


@pytest.mark.parametrize("name", STUBS)
def test_the_leaves_of_a_stub_cover_it(name: str) -> None:
    mapped = map_fields(stub_kind(name), data_of(name))
    assert mapped.problem is None
    at = 0
    for leaf in mapped.root.leaves():
        assert leaf.start == at
        assert encodes(leaf, ("little",))
        at = leaf.stop
    assert at == len(data_of(name))


@settings(max_examples=60)
@given(any_buffer())
def test_leaves_of_random_buffers_encode_their_values(made: tuple[BufferKind, bytes]) -> None:
    kind, data = made
    mapped = map_fields(kind, data)
    assert mapped.problem is None
    assert all(encodes(leaf) for leaf in mapped.root.leaves())


@pytest.mark.parametrize("name", BUFFERS)
def test_every_byte_belongs_to_a_leaf(name: str) -> None:
    covered = bytearray(len(data_of(name)))
    for leaf in map_fields(kind_of(name), data_of(name)).root.leaves():
        covered[leaf.start : leaf.stop] = b"\1" * leaf.length
    assert [at for at, byte in enumerate(covered) if not byte] == []


def lines(field: Field, known: set[object], depth: int = 0) -> Iterator[str]:
    """A field and all in it, a line each; of a structure that was shown with these fields before, only their values."""
    where = f" [{field.doc_ref}]" if field.doc_ref else ""
    value = f" = {field.value}" if field.value is not None else ""
    head = (
        f"{' ' * depth}{field.name} {field.spelling} {field.type} {field.start}+{field.length}{value}{meaning(field)}"
    )
    leaves = [child for child in field.children if not child.children]
    shape = (
        field.type,
        field.doc_ref,
        *dict.fromkeys((one.name.split("[")[0], one.spelling, one.type) for one in leaves),
    )
    is_known = bool(field.children) and shape in known
    known.add(shape)
    values = f": {', '.join(map(short, leaves))}" if leaves else ""
    yield f"{head}{values if is_known else where}\n"
    for child in field.children:
        if not is_known or child.children:
            yield from lines(child, known, depth + 1)


def meaning(field: Field) -> str:
    return f" ({field.meaning})" if field.meaning is not None else ""


def short(leaf: Field) -> str:
    """The value of a field; numbers follow each other, and what is no number has its place."""
    return f"{'' if leaf.type in NUMBER else f'{leaf.start}+{leaf.length} '}{leaf.value}{meaning(leaf)}"


def any_kind(name: str) -> BufferKind | StubKind:
    return stub_kind(name) if name in STUBS else kind_of(name)


def value_stubs(order: Order) -> dict[str, Field]:
    """[MS-RRP] section 3.1.5.17: lpType, lpData, lpcbData and lpcbLen behind unique pointers, and the status of the answer."""
    answer = Ndr(order=order).pointer(0).uint(3).pointer(1).array(b"abc", 8).pointer(2).uint(8).pointer(3).uint(3)
    question = Ndr(order=order).handle("5e0c6a4e-9b1d-4f3c-8a55-0d2b7c9e1f10", 2).unicode_string("Counter 009")
    question = question.null().null().pointer(2).uint(8).pointer(3).uint(0)
    found = {}
    for side, stub in (("response", answer.uint(0xEA)), ("request", question)):
        kind = StubKind("winreg", 17, side, big_endian=order == "big")
        mapped = map_fields(kind, stub.data, status_name=lambda code: f"code {code:#x}")
        assert (mapped.problem, mapped.notes) == (None, ())
        found[f"winreg 17 {side}"] = mapped.root
    return found


@pytest.mark.parametrize("order", ["little", "big"])
def test_every_field_of_every_vector_and_of_the_value_of_a_registry(order: Order) -> None:
    """`field_map.txt` has names, types, places, values, meanings and sections of all of them."""
    roots = {name: map_fields(any_kind(name), data_of(name)).root for name in [*BUFFERS, *STUBS]} | value_stubs(order)
    known = set[object]()
    is_as_written(
        Path(__file__).parent / "field_map.txt",
        "".join(f"{name}\n{''.join(lines(root, known, 1))}" for name, root in roots.items()),
    )


@pytest.mark.parametrize(
    "name",
    [
        "data_mixed_five_blocks",
        "reg_code01_counterset_struct",
        "ident_add_reply",
        "inst_two_instances",
        "ndr20_op7_req",
    ],
)
def test_a_cut_shows_the_fields_before_it(name: str) -> None:
    """Each field that ends before the cut, where it was and as it was; nothing that was not there; and where it is cut."""
    kind, data = any_kind(name), data_of(name)
    whole = [(leaf.name, leaf.start, leaf.length, leaf.value) for leaf in map_fields(kind, data).root.leaves()]
    for length in range(len(data)):
        mapped = map_fields(kind, data[:length])
        found = [(leaf.name, leaf.start, leaf.length, leaf.value) for leaf in mapped.root.leaves()]
        # Of bytes of any length there may be less, and the fixed fields before them are whole.
        fixed = [leaf for leaf in whole if leaf[1] + leaf[2] <= length and isinstance(leaf[3], int)]
        assert [leaf for leaf in found if leaf in fixed] == fixed[: len([leaf for leaf in found if leaf in fixed])]
        assert all(start + size <= length for _, start, size, _ in found)
        if mapped.problem is not None:
            assert mapped.problem.start is not None
            assert 0 <= mapped.problem.start <= length


def test_a_stub_that_is_not_described_has_no_fields() -> None:
    mapped = map_fields(StubKind("perflib-v2", 8, "request"), bytes(20))
    assert str(mapped.problem) == "opnum: opnum 8 is not described"
    assert (mapped.root.name, mapped.root.children) == ("stub", ())


def test_a_buffer_can_be_shown_in_its_stub() -> None:
    """Each field where the stub has its bytes."""
    data = data_of("ndr20_op1_resp")
    inner = map_fields("counter-info", data[8:]).root
    for mine, leaf in zip(inner.shifted(8).leaves(), inner.leaves(), strict=True):
        assert (mine.start, mine.stop, mine.raw) == (
            leaf.start + 8,
            leaf.stop + 8,
            data[leaf.start + 8 : leaf.stop + 8],
        )


@settings(max_examples=40)
@given(st.lists(blocks().filter(lambda block: block.padding == "counted"), min_size=1, max_size=8), st.data())
def test_of_many_blocks_each_has_the_fields_that_it_has_in_the_whole(few: list[Block], data: st.DataObject) -> None:
    order = data.draw(st.lists(st.sampled_from(few), min_size=64, max_size=80))
    status = data.draw(st.integers(0, 0xFFFFFFFF))
    buffer = perf_data([*order, Block(0, status=status), *few])
    found = map_fields("perf-data", buffer)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(field_map, "_MANY_BLOCKS", 1 << 32)
        whole = map_fields("perf-data", buffer)
    assert found == whole
    assert [leaf.raw for leaf in found.root.leaves()] == [leaf.raw for leaf in whole.root.leaves()]
    assert [leaf.reads for leaf in found.root.leaves()] == [leaf.reads for leaf in whole.root.leaves()]


def test_alike_blocks_are_read_by_the_compiled_parser_once(parsed_lengths: list[int]) -> None:
    mapped = map_fields("perf-data", perf_data([Block(0, status=number) for number in range(1000)]))
    assert len(mapped.root.children[-1].children) == 4
    assert parsed_lengths == [64]

"""Random well-formed buffers, as models and as the bytes the builders make of them."""

from hypothesis import strategies as st

from tests.build.buffers import (
    Block,
    Counter,
    Instance,
    PerfObject,
    identifier,
    name_table,
    perf_data,
    string_table,
    winperf,
)

u32 = st.integers(0, 0xFFFFFFFF)
names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
guids = st.uuids().map(str)
values = st.one_of(
    st.integers(0, 2**32 - 1).map(lambda number: number.to_bytes(4, "little")),
    st.integers(0, 2**64 - 1).map(lambda number: number.to_bytes(8, "little")),
    st.binary(min_size=9, max_size=40),
)


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    kind = draw(st.sampled_from([0, 1, 2, 4, 6]))
    ids = tuple(draw(st.lists(u32, min_size=1, max_size=4))) if kind in (2, 6) else ()
    instances: tuple[tuple[str, int], ...] = ()
    if kind in (4, 6):
        instances = tuple(draw(st.lists(st.tuples(names, u32), max_size=3)))
    rows = len(instances) if kind in (4, 6) else int(kind != 0)
    width = max(len(ids), 1)
    return Block(
        kind,
        draw(st.sampled_from([0, 0x1069])) if kind == 0 else 0,
        ids,
        instances,
        tuple(tuple(draw(values) for _ in range(width)) for _ in range(rows)),
        draw(st.sampled_from(["counted", "uncounted", "none"])),
    )


@st.composite
def perf_datas(draw: st.DrawFn) -> tuple[list[Block], bytes]:
    """Blocks, and the buffer that holds them."""
    made = draw(st.lists(blocks(), max_size=5))
    return made, perf_data(made)


@st.composite
def objects(draw: st.DrawFn) -> PerfObject:
    kinds = [(0x10000, 4), (0x10410500, 8), (0x40000200, 0), (0xB00, 16), (0x10B00, 8), (0x20020400, 4)]
    counters = tuple(
        Counter(draw(st.integers(0, 9998)), *draw(st.sampled_from(kinds))) for _ in range(draw(st.integers(1, 4)))
    )

    def value(counter: Counter) -> st.SearchStrategy[int | str]:
        if counter.kind & 0xC00 == 0x800:
            size = counter.size if counter.kind & 0x10000 else counter.size // 2
            return st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=size)
        return st.integers(0, 256**counter.size - 1)

    has_instances, metadata = draw(st.booleans()), draw(st.sampled_from([False, False, True]))
    if metadata:
        return PerfObject(draw(st.integers(0, 9998)), counters, (), has_instances, metadata=True)
    page = draw(st.sampled_from([0, 0, 1252])) if has_instances else 0
    alphabet = (
        st.characters(min_codepoint=32, max_codepoint=126) if page else st.characters(codec="utf-16", min_codepoint=1)
    )
    made = []
    for _ in range(draw(st.integers(0, 3)) if has_instances else 1):
        row = tuple(draw(value(counter)) for counter in counters)
        if has_instances:
            name = draw(st.none() | st.text(alphabet, max_size=8))
            parent = (draw(u32), draw(u32))
            made.append(Instance(name, draw(st.sampled_from([-1, 0, 7])), parent, row))
        else:
            made.append(Instance(None, -1, (0, 0), row))
    return PerfObject(draw(st.integers(0, 9998)), counters, tuple(made), has_instances, page)


def damaged(data: bytes, draw: st.DataObject) -> bytes:
    """The buffer with other numbers in up to three words."""
    out = bytearray(data)
    for _ in range(draw.draw(st.integers(0, 3))):
        at = 4 * draw.draw(st.integers(0, len(out) // 4 - 1))
        out[at : at + 4] = draw.draw(st.one_of(st.integers(0, 64), u32)).to_bytes(4, "little")
    return bytes(out)


@st.composite
def any_buffer(draw: st.DrawFn) -> tuple[str, bytes]:
    """A well-formed buffer of any kind."""
    kind = draw(st.sampled_from(["perf-data", "winperf", "identifiers", "string-table", "name-table"]))
    if kind == "perf-data":
        return kind, draw(perf_datas())[1]
    if kind == "winperf":
        return kind, winperf(draw(st.lists(objects(), max_size=3)), draw(st.sampled_from(["little", "big"])))
    if kind == "identifiers":
        return kind, b"".join(
            identifier(draw(guids), counter=draw(u32), name=draw(st.none() | names))
            for _ in range(draw(st.integers(0, 3)))
        )
    if kind == "string-table":
        strings = draw(st.lists(st.tuples(u32, st.none() | names), max_size=4))
        return kind, string_table(strings, from_start=draw(st.booleans()))
    pairs = draw(st.lists(st.tuples(st.integers(1, 9999).map(str), names), max_size=5))
    return kind, name_table(pairs)

"""`decode`: a buffer that somebody holds without a capture, as a record, as samples or as a tree beside its bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzer.screens.viewmodel.lone_buffer import LoneBuffer
from analyzer.screens.views.hexdump import dumped_bytes
from analyzer.screens.views.sample_text import counter_path, value_words
from analyzer.screens.views.text import safe
from analyzer.screens.views.tree import tree_lines

_PLAIN_HEX = re.compile(rb"(?:[0-9a-fA-F]{2}[\s,:]*)+")
_OFFSET_APART = re.compile(r"0{4,16}(?:: |  )")


def bytes_of(data: bytes) -> tuple[bytes, bool]:
    """The buffer in a file: the bytes themselves, or what a hex dump spells out; and whether it was one."""
    stripped = data.strip()
    if not stripped or not stripped.isascii() or b"\0" in stripped:
        return data, False
    lines = stripped.decode().splitlines()
    compact = stripped.removeprefix(b"0x")
    # One line of plain digits and a dump of one line look alike, but for how the offset stands apart.
    if (len(lines) > 1 or _OFFSET_APART.match(lines[0])) and (spelled := dumped_bytes(lines)) is not None:
        return spelled, True
    if _PLAIN_HEX.fullmatch(compact):
        return bytes.fromhex(re.sub(rb"[\s,:]", b"", compact).decode()), True
    spelled = dumped_bytes(lines)
    return (data, False) if spelled is None else (spelled, True)


class Decode(LoneBuffer, frozen=True):
    """The view of `pcq decode`."""

    def lines(self, width: int | None) -> Iterator[str]:
        if self.samples:
            for record in self.sample_records():
                yield safe(f"{counter_path(record)} = {value_words(record)}")
            return
        if self.guess is not None:
            yield f"[bold]{self.kind}[/] {safe(f'({self.guess.confidence}: {self.guess.why})')}"
            if self.others:
                yield f"  it may also be {safe(', '.join(self.others))}: name the kind with --as"
        else:
            yield f"[bold]{self.kind}[/]"
        layer = self.layer()
        yield from tree_lines(layer, None, width)
        if layer.problem is None and (left := len(self.data) - self.decoded().consumed) > 0:
            yield f"  {left} bytes follow the buffer"

"""The view of `decode`: a buffer without a capture, as a record, as samples or as a tree."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.screens.viewmodel.buffer_without_capture import LoneBuffer
from analyzer.screens.views.samples import counter_path, value_words
from analyzer.screens.views.show import tree_lines
from analyzer.screens.views.text_report import safe


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

"""The base of the browser's list panes: any number of lines, one of them current. Only the visible ones are made."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

# Beyond so many columns a line is cut off.
_WIDTH = 1000


class Lines(ScrollView, can_focus=True):
    """A pane of the browser with any number of lines. A subclass overrides `line` and calls `show` when its lines change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "step(1)", "next", show=False),
        Binding("up,k", "step(-1)", "previous", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("home,g", "edge(0)", "first", show=False),
        Binding("end,G", "edge(1)", "last", show=False),
        Binding("enter", "choose", "choose", show=False),
    ]
    DEFAULT_CSS = "Lines { scrollbar-size-horizontal: 0; }"
    current: reactive[int] = reactive(0)
    marks_current = True

    class Moved(Message):
        """The message that another line of a browser's pane is current."""

        def __init__(self, lines: Lines) -> None:
            super().__init__()
            self.lines = lines

        @property
        def control(self) -> Lines:
            return self.lines

    class Chosen(Moved):
        """The message that the current line of a browser's pane was chosen, by Enter or a second click."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.count = 0

    def line(self, at: int) -> Text:
        """Returns the text of a line in the browser's pane."""
        raise NotImplementedError

    def show(self, count: int, current: int = 0) -> None:
        """Shows `count` new lines in the browser's pane."""
        self.count = count
        self.virtual_size = Size(_WIDTH, count)
        self.set_reactive(Lines.current, max(0, min(current, count - 1)))
        self._into_sight()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        at = round(self.scroll_offset.y) + y
        width = self.size.width
        if at >= self.count:
            return Strip.blank(width)
        text = self.line(at)
        first = round(self.scroll_offset.x)
        # The current line is reversed and has one colour: every terminal can show that.
        if at == self.current and self.marks_current:
            style = Style(reverse=True, bold=self.has_focus or None)
            return Strip([Segment(text.plain, style)]).crop_extend(first, first + width, style)
        text.no_wrap = True
        return Strip(text.render(self.app.console)).crop_extend(first, first + width, None)

    def watch_current(self) -> None:
        self._into_sight()
        if self.count:
            self.post_message(self.Moved(self))

    def _into_sight(self) -> None:
        self.scroll_to_region(Region(round(self.scroll_offset.x), self.current, 1, 1), animate=False, force=True)

    def _go(self, at: int) -> None:
        if self.count:
            self.current = max(0, min(at, self.count - 1))

    def action_step(self, by: int) -> None:
        self._go(self.current + by)

    def action_page(self, by: int) -> None:
        self._go(self.current + by * max(1, self.size.height - 1))

    def action_edge(self, which: int) -> None:
        self._go(which * (self.count - 1))

    def action_choose(self) -> None:
        if self.count:
            self.post_message(self.Chosen(self))

    def on_click(self, event: events.Click) -> None:
        at = round(self.scroll_offset.y) + event.y
        if at >= self.count:
            return
        if at == self.current:
            self.action_choose()
        self._go(at)

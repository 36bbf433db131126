"""What a layer says that it takes is all that it looks at: everything else would pass it unchanged."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from analyzer.auth.kdc_replies import Tickets
from analyzer.auth.keyring import Keyring
from analyzer.core.errors import InputError
from analyzer.core.events import BlockEnds, CaptureEnds, Event, Problem
from analyzer.core.limits import DEFAULTS
from analyzer.interfaces.pcq.perflib_layer import PerflibLayer
from analyzer.interfaces.redaction.pseudonyms import Pseudonyms
from analyzer.interfaces.redaction.redactor import Redactor
from analyzer.interfaces.svcctl.service_layer import ServiceLayer
from analyzer.interfaces.winperf.winreg_layer import WinregLayer
from analyzer.pipeline.layer_chain import Layer, LayerChain, call_layers, stream_layers
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.channel.channels import ChannelClosed, ChannelGap
from analyzer.transport.tcp.stream_events import Connection, Gap, Recognised, StreamClosed
from tests.build.calls import Calls
from tests.build.rpc import CHANNEL

CONNECTION = Connection(0, Endpoint("10.0.0.2", 49152), Endpoint("10.0.0.1", 445), True)
PROBLEM = Problem("gap", "tcp", (1,), "lost")
EVENTS: tuple[Event, ...] = (
    Recognised(CONNECTION, "smb"),
    Gap(CONNECTION, 0, 0, 10, (1, 2), "lost"),
    StreamClosed(CONNECTION, "fin"),
    ChannelGap(CHANNEL, True, 10, (1, 2), "lost"),
    ChannelClosed(CHANNEL),
    Calls().open_query(),
    PROBLEM,
    CaptureEnds(),
)


def layers() -> list[Layer]:
    redactor = Redactor(Pseudonyms(b"key"))
    channels, rpc = call_layers(Keyring(), DEFAULTS, Tickets(), pdus=True)
    return [*stream_layers(DEFAULTS), *channels, rpc, redactor, PerflibLayer(), WinregLayer(), ServiceLayer()]


@pytest.mark.parametrize("at", range(len(layers())))
def test_what_a_layer_does_not_take_passes_unchanged(at: int) -> None:
    layer = layers()[at]
    others = [event for event in EVENTS if type(event) not in layer.takes]
    assert others
    assert [list(layer.feed(event)) for event in others] == [[event] for event in others]


class Marking:
    """Passes problems on, each with its mark in front of the text."""

    takes = frozenset[type[Event]]({Problem})

    def __init__(self, mark: str, seen: list[str]) -> None:
        self._mark, self._seen = mark, seen

    def feed(self, event: Event) -> list[Event]:
        assert isinstance(event, Problem)
        self._seen.append(self._mark + event.text)
        return [replace(event, text=self._mark + event.text)]

    def finish(self) -> list[Event]:
        return []


def test_what_stands_alone_has_all_before_it_climb_first() -> None:
    seen: list[str] = []
    one, two, three = (replace(PROBLEM, text=text) for text in "123")
    groups = list(LayerChain([Marking("a", seen), Marking("b", seen)]).groups([one, two, EVENTS[0], three]))
    assert seen == ["a1", "a2", "ba1", "ba2", "a3", "ba3"]
    assert len(groups[0]) == 4


def test_what_stands_alone_parts_even_a_group_of_two() -> None:
    alone, seen = EVENTS[0], list[tuple[str, Event]]()

    class Noting(Marking):
        takes = frozenset({Problem, type(alone)})

        def feed(self, event: Event) -> list[Event]:
            seen.append((self._mark, event))
            return [event]

    assert list(LayerChain([Noting("a", []), Noting("b", [])]).run([alone, PROBLEM])) == [alone, PROBLEM, CaptureEnds()]
    assert seen == [("a", alone), ("b", alone), ("a", PROBLEM), ("b", PROBLEM)]


def test_so_many_events_are_a_group() -> None:
    groups = LayerChain([]).groups([PROBLEM] * 130)
    assert [len(group) for group in groups if group] == [64, 64, 2, 1]


def test_a_block_ends_a_group_and_so_does_an_error() -> None:
    def events() -> Iterator[Event]:
        yield from (PROBLEM, BlockEnds((1, 0)), PROBLEM, PROBLEM)
        raise InputError("it ends here")

    groups = LayerChain([]).groups(events())
    assert [len(next(groups)), len(next(groups))] == [2, 2]
    with pytest.raises(InputError, match="it ends here"):
        next(groups)


def test_what_came_before_a_failure_is_at_the_top_first() -> None:
    class Failing(Marking):
        def feed(self, event: Event) -> list[Event]:
            if isinstance(event, Problem) and event.text.endswith(self._mark):
                raise ValueError(f"{event.text} in {self._mark}")
            return super().feed(event)

    def top(*layers: Layer) -> tuple[list[Event], str]:
        out = list[Event]()
        with pytest.raises(ValueError, match=" in ") as failed:
            out.extend(LayerChain(layers).run(problems))
        return out, str(failed.value)

    problems = [replace(PROBLEM, text=text) for text in "1234"]
    assert top(Failing("3", []), Marking("b", [])) == ([replace(PROBLEM, text=f"b3{n}") for n in "12"], "3 in 3")
    # The layer above fails for an event that came before.
    assert top(Failing("3", []), Failing("2", [])) == ([replace(PROBLEM, text="231")], "32 in 2")
    # And where one of them stands alone.
    problems.insert(1, EVENTS[0])
    assert top(Marking("a", []), Failing("1", [])) == ([], "a1 in 1")


def test_a_layer_is_given_all_of_what_it_takes_among_others_and_in_order() -> None:
    seen: list[Event] = []

    class Doubling:
        takes = frozenset({Problem})

        def feed(self, event: Event) -> list[Event]:
            seen.append(event)
            return [event, event] if isinstance(event, Problem) else [event]

        def finish(self) -> list[Event]:
            return []

    other = replace(PROBLEM, text="other")
    out = list(LayerChain([Doubling(), Doubling()]).run([EVENTS[1], PROBLEM, other]))
    assert out == [EVENTS[1], *[PROBLEM] * 4, *[other] * 4, CaptureEnds()]
    assert seen == [PROBLEM, other, PROBLEM, PROBLEM, other, other]

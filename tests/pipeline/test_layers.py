"""What a layer says that it takes is all that it looks at: everything else would pass it unchanged."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.core.events import CaptureEnds, Event, Problem
from analyzer.core.limits import DEFAULTS
from analyzer.interfaces.pcq.perflib_layer import PerflibLayer
from analyzer.interfaces.redaction.pseudonyms import Pseudonyms
from analyzer.interfaces.redaction.redactor import Redactor
from analyzer.interfaces.svcctl.service_layer import ServiceLayer
from analyzer.interfaces.winperf.winreg_layer import WinregLayer
from analyzer.pipeline.layer_chain import Layer, LayerChain
from analyzer.pipeline.reading_layers import call_layers, stream_layers
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.channel.channel_events import ChannelClosed, ChannelGap
from analyzer.transport.tcp.stream_events import Connection, Gap, Recognised, StreamClosed
from tests.build.calls import Calls
from tests.build.rpc import CHANNEL

CONNECTION = Connection(0, Endpoint("10.0.0.2", 49152), Endpoint("10.0.0.1", 445), True)
EVENTS: tuple[Event, ...] = (
    Recognised(CONNECTION, "smb"),
    Gap(CONNECTION, 0, 0, 10, (1, 2), "lost"),
    StreamClosed(CONNECTION, "fin"),
    ChannelGap(CHANNEL, True, 10, (1, 2), "lost"),
    ChannelClosed(CHANNEL),
    Calls().open_query(),
    Problem("gap", "tcp", (1,), "lost"),
    CaptureEnds(),
)


def layers() -> list[Layer]:
    redactor = Redactor(Pseudonyms(b"key"))
    below, tickets = stream_layers(DEFAULTS)
    channels, rpc = call_layers(Keyring(), DEFAULTS, tickets, pdus=True)
    return [*below, *channels, rpc, redactor, PerflibLayer(), WinregLayer(), ServiceLayer()]


@pytest.mark.parametrize("at", range(len(layers())))
def test_what_a_layer_does_not_take_passes_unchanged(at: int) -> None:
    layer = layers()[at]
    others = [event for event in EVENTS if type(event) not in layer.takes]
    assert others
    assert [list(layer.feed(event)) for event in others] == [[event] for event in others]


def test_a_layer_is_given_all_of_what_it_takes_among_others_and_in_order() -> None:
    seen: list[Event] = []

    class Doubling:
        takes = frozenset({Problem})

        def feed(self, event: Event) -> list[Event]:
            seen.append(event)
            return [event, event] if isinstance(event, Problem) else [event]

        def finish(self) -> list[Event]:
            return []

    problem = EVENTS[6]
    other = replace(problem, text="other")
    out = list(LayerChain([Doubling(), Doubling()]).run([EVENTS[0], problem, other]))
    assert out == [EVENTS[0], *[problem] * 4, *[other] * 4, CaptureEnds()]
    assert seen == [problem, problem, problem, other, other, other]

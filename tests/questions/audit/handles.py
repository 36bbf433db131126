"""Events of the whole lifetime of a channel: its bind, and its end."""

from analyzer.core.events import Event
from analyzer.results.connection import Bound, Channel
from analyzer.transport.channel.channels import ChannelClosed
from tests.build.rpc import CHANNEL, NDR, PCQ


def bound(channel: Channel = CHANNEL, group: int = 0x53, *, joins_group: bool = False) -> Event:
    """The interface was bound on a channel, so what was opened on it was seen."""
    return Bound(channel, 0, PCQ, (1, 0), "ndr", True, (1, 2), None, group, (NDR[0],), joins_group)


def closed(channel: Channel = CHANNEL) -> Event:
    return ChannelClosed(channel)

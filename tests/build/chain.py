"""Layers one above the other, as `pipeline.run` chains them."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from analyzer.auth.keyring import Keyring
from analyzer.capture.capture_reader import CaptureReader
from analyzer.capture.frame_blocks import FrameBlock
from analyzer.core.events import CaptureEnds, Event
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.pipeline.layer_chain import Layer
from analyzer.transport.channel.channels import Channels, TcpChannels
from analyzer.transport.packet.block_dissector import Dissector
from analyzer.transport.smb.smb_connection_state import KeyLog
from analyzer.transport.smb.smb_layer import SmbLayer


def segments(path: Path) -> Iterator[Event]:
    """The batches of segments of a capture, and the end of it."""
    dissector = Dissector()
    for block in CaptureReader([path]):
        yield from dissector.feed(block) if isinstance(block, FrameBlock) else [block]
    yield from dissector.finish()
    yield CaptureEnds()


def through(layers: Sequence[Layer], events: Iterable[Event]) -> list[Event]:
    """What comes out on top of all events, and of the end of every layer."""
    out = list(events)
    for layer in layers:
        out = [higher for event in out for higher in layer.feed(event)] + list(layer.finish())
    return out


def to_channels(keyring: Keyring, key_log: KeyLog | None = None, limits: Limits = DEFAULTS) -> list[Layer]:
    """The layers from streams to channels."""
    channels = Channels()
    return [SmbLayer(keyring, channels, key_log=key_log, limits=limits), TcpChannels(channels)]

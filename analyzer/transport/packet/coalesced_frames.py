"""Coalesces the few frames of ours from several blocks into one block of frames.

What is done with the frames of a block costs the same for a dozen as for a thousand. The block is held until then, though perhaps a
hundredth of it is ours. So few frames wait, on their own, for those of the next blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from analyzer.capture.frame_blocks import FrameBlock
from analyzer.transport.packet.common_frame_shapes import TcpFrames

# So many frames of a block are worth going on with at once; and so many that wait, or so many bytes of them.
FEW_FRAMES = 1024
ENOUGH_FRAMES = 2048
ENOUGH_BYTES = 1 << 20


class Coalesced:
    """Frames of several blocks that wait to be coalesced. All have the same link type."""

    def __init__(self) -> None:
        self._blocks: list[FrameBlock] = []
        self._found: list[TcpFrames] = []
        self._size = 0
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def blocks(self) -> Sequence[FrameBlock]:
        """The frames that wait to be coalesced, one block for each block they came from."""
        return self._blocks

    @property
    def enough(self) -> bool:
        return self._count >= ENOUGH_FRAMES or self._size >= ENOUGH_BYTES

    @property
    def link_type(self) -> int | None:
        """The link type of the frames that wait to be coalesced, None if none wait."""
        return self._blocks[0].link_type if self._blocks else None

    def add(self, block: FrameBlock, chosen: TcpFrames) -> None:
        """Copies the chosen frames of a block to the frames that wait to be coalesced."""
        index = chosen.index
        copied = block.only(index)
        moved = copied.starts + self._size
        by = moved - block.starts[index]
        self._blocks.append(replace(copied, starts=moved))
        self._found.append(
            TcpFrames(
                np.arange(self._count, self._count + len(index)),
                chosen.ip + by,
                chosen.tcp + by,
                chosen.by_port,
                chosen.unclear,
            )
        )
        self._size += len(copied.data)
        self._count += len(index)

    def take_block(self) -> tuple[FrameBlock, TcpFrames]:
        """Returns all waiting frames, coalesced to one block, and waits for none any more. At least one frame must wait."""
        blocks, found = self._blocks, self._found
        block, frames = FrameBlock.joined(blocks), TcpFrames.joined(found)
        self._blocks, self._found = [], []
        self._size = self._count = 0
        return block, frames

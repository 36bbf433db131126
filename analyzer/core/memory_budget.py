"""Counts the memory that the connections or associations of an analysis hold, and decides which of them give way."""

from __future__ import annotations


class MemoryBudget:
    """Counts the memory of many holders against one limit. Above it, the holders that were silent longest give way."""

    def __init__(self, most: int) -> None:
        """`most` is the limit of the memory budget in bytes."""
        self.most = most
        # How many holders had to give way.
        self.given_up = 0
        self._total = 0
        # Bytes by holder, the one silent longest first.
        self._held: dict[int, int] = {}

    def holds(self, holder: int, size: int) -> list[int]:
        """Notes that a holder is active and now holds `size` bytes of memory. Returns the holders that must give way; their memory
        is already subtracted.

        A quarter of the limit is made free at once, so that the next event does not ask again. The holder itself goes last.
        """
        held = self._held
        self._total += size - held.pop(holder, 0)
        held[holder] = size
        if self._total <= self.most:
            return []
        leaving = []
        for other, amount in held.items():
            if self._total <= self.most - self.most // 4:
                break
            if amount:
                self._total -= amount
                leaving.append(other)
        for other in leaving:
            del held[other]
        self.given_up += len(leaving)
        return leaving

    @property
    def holders(self) -> list[int]:
        """The holders of memory, such as connections, the one silent longest first."""
        return list(self._held)

    def ends(self, holder: int) -> None:
        """Notes that a holder is gone, and frees its memory."""
        self._total -= self._held.pop(holder, 0)

"""What the connections or associations of an analysis hold together, and which of them have to give way."""

from __future__ import annotations


class MemoryBudget:
    """A memory budget: counts the memory of many holders against one limit; beyond it, those that were silent longest give way."""

    def __init__(self, most: int) -> None:
        """`most` is the limit in bytes."""
        self.most = most
        # How many holders had to give way.
        self.given_up = 0
        self._total = 0
        # Bytes by holder, the one silent longest first.
        self._held: dict[int, int] = {}

    def holds(self, holder: int, size: int) -> list[int]:
        """Notes that a holder of memory was heard of and now holds `size` bytes. Gives the holders that have to give way, already
        taken off.

        A quarter of the limit is made free at once, so that the next event does not ask again; the holder itself goes last.
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
        """Who holds memory, such as connections, the one silent longest first."""
        return list(self._held)

    def ends(self, holder: int) -> None:
        """Notes that a holder of memory is gone, and with it what it held."""
        self._total -= self._held.pop(holder, 0)

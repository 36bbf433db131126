"""Damage of call buffers: finds it, and remembers which buffers were checked already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzer.core.errors import DecodeError
from analyzer.interfaces import buffers
from analyzer.results.calls.call import Call, Side, SideName
from analyzer.results.calls.held_calls import HeldCall, HeldSide
from analyzer.results.calls.ordered_calls import OrderedCalls

if TYPE_CHECKING:
    import numpy.typing as npt

    from analyzer.interfaces.buffers.buffer_trees import BufferDecode


def decoded_buffer(side: Side | None) -> BufferDecode | None:
    """The decoded `lpData` of one side with its damage, None where there is none or its layout is unknown."""
    if side is None or side.buffer_span is None or side.buffer_kind is None:
        return None
    return buffers.decode_buffer(side.buffer_kind, side.buffer_data, big_endian=buffer_order(side))


def buffer_damage(side: Side) -> DecodeError | None:
    """Returns the damage of the `lpData` of one side of a call, None if it is sound."""
    if side.buffer_span is None or side.buffer_kind is None:
        return None
    return buffers.find_damage(side.buffer_kind, side.buffer_data, big_endian=buffer_order(side))


def buffer_order(side: Side | HeldSide) -> bool | None:
    """Returns whether the buffer of a call is big-endian, for finding its damage. Arrays of GUIDs follow the call's data
    representation. None for other buffers: they state their byte order or have none."""
    return side.big_endian if side.buffer_kind == "guids" else None


class Damages:
    """Remembers the damage of call sides that were decoded already, so that nobody decodes them again to find it."""

    def __init__(self, first: int = 0) -> None:
        """Holds the damage of calls with the number `first` and higher."""
        self._first = first
        # For each call, a bit for each side that is known to be sound.
        self._sound = bytearray()
        self._buffers: dict[tuple[int, SideName], DecodeError] = {}

    def note(self, number: int, name: SideName, side: Side | HeldSide, damage: DecodeError | None) -> None:
        """Notes the damage of a call side's buffer that was decoded, or that it is sound."""
        if damage is not None:
            self._buffers[number, name] = damage
        elif side.problem is None:
            self.note_sound(number, name)

    def note_sound(self, number: int, name: SideName) -> None:
        """Notes that the buffer of a call's side is sound."""
        self._note(number, _BITS[name])

    def _note(self, number: int, bits: int) -> None:
        at = number - self._first
        if at >= len(self._sound):
            self._sound.extend(bytes(at + 1024 - len(self._sound)))
        self._sound[at] |= bits

    def note_call(
        self, number: int, held: HeldCall, of_request: DecodeError | None, of_response: DecodeError | None
    ) -> None:
        """Notes the damage of both sides of a call that was decoded."""
        sound = 0
        if of_request is not None:
            self._buffers[number, "request"] = of_request
        elif held.request is None or held.request.problem is None:
            sound = _BITS["request"]
        if of_response is not None:
            self._buffers[number, "response"] = of_response
        elif held.response is None or held.response.problem is None:
            sound |= _BITS["response"]
        if sound:
            self._note(number, sound)

    def note_buffers(self, calls: OrderedCalls, numbers: npt.ArrayLike) -> None:
        """Notes the damage that the columns of the table of calls show. Calls without a buffer and without a problem are sound. For
        the calls with these numbers, buffers that lie in one piece in the log are checked."""
        import numpy as np

        count, table = len(calls), calls.table
        self._sound.extend(bytes(max(count + 1 - len(self._sound), 0)))
        sound = np.frombuffer(self._sound, np.uint8)[: count + 1]
        # A problem is among what few calls have, and only of what was captured and unsealed.
        is_plain = calls.column("rare") == 0
        for name, bit in _BITS.items():
            kinds, kind_of = calls.column(f"{name}_buffer_kind"), table.meaning("buffer_kind")
            sound[1:][(is_plain | (calls.column(f"{name}_side") != 0)) & (kinds < 0)] |= bit
            unknown = np.asarray(numbers, np.int64)
            unknown = unknown[sound[unknown] & bit == 0]
            if not len(unknown):
                continue
            places, lengths = table.buffers(name)
            for number in map(int, unknown):
                at = calls.order[number - 1]
                kind = kind_of(int(kinds[number - 1]))
                # The order of bytes in an array of GUIDs is that of its call.
                if places[at] < 0 or kind == "guids" or (number, name) in self._buffers:
                    continue
                damage = buffers.find_damage(kind, table.log.read(int(places[at]), int(lengths[at])))
                if damage is None:
                    sound[number] |= bit
                else:
                    self._buffers[number, name] = damage

    def sound_between(self, first: int, last: int) -> bytes:
        """Returns what is known of damage in the calls from `first` to `last`, as bytes for `note_known`."""
        known = self._sound[first - self._first : last + 1 - self._first]
        return bytes(known) + bytes(last + 1 - first - len(known))

    def note_known(self, first: int, known: bytes) -> None:
        """Notes what another `Damages` knows of damage in calls from this number on."""
        at = first - self._first
        self._sound.extend(bytes(max(at + len(known) - len(self._sound), 0)))
        for place, bits in enumerate(known, at):
            self._sound[place] |= bits

    def note_absent(self, number: int, name: SideName, side: Side | HeldSide | None) -> None:
        """Notes that a call's side was looked at: it is sound if it has neither a buffer nor a problem."""
        if side is None or (side.buffer_span is None and side.problem is None):
            self.note_sound(number, name)

    def _known(self, number: int) -> int:
        """Returns the bits of a call's sides whose buffers are known to be undamaged."""
        at = number - self._first
        return self._sound[at] if at < len(self._sound) else 0

    def unsure(self, calls: OrderedCalls) -> Iterator[int]:
        """Yields the numbers of the calls whose buffers must be decoded to know whether they are damaged."""
        import numpy as np

        self.note_buffers(calls, range(1, len(calls) + 1))
        sound = np.frombuffer(self._sound, np.uint8)[1 : len(calls) + 1]
        return map(int, np.flatnonzero(sound != 3) + 1)

    def is_sound(self, number: int) -> bool:
        """Whether the buffers of both sides of a call were checked and are sound."""
        return self._known(number) == 3

    def problem_of(self, number: int, name: SideName, side: Side) -> DecodeError | None:
        """Returns the damage of the buffer of a call's side; decodes the buffer if nobody did before."""
        known = self._buffers.get((number, name))
        if known is None and not self._known(number) & _BITS[name]:
            known = buffer_damage(side)
            self.note(number, name, side, known)
        return known

    def of_call(self, call: Call) -> Iterator[DecodeError | None]:
        """Yields the damage of the buffers of both sides of a call, None for a sound one."""
        sides: tuple[tuple[SideName, Side | None], ...] = ("request", call.request), ("response", call.response)
        return (self.problem_of(call.number, name, side) for name, side in sides if side is not None)


_BITS: dict[SideName, int] = {"request": 1, "response": 2}

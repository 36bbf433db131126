"""Array functions that numpy lacks, or has only in modules that load slowly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

_Scalar = TypeVar("_Scalar", bound=np.generic)


def bytes_at(data: bytes, at: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.uint8]:
    """Returns `size` bytes of the data from each of some places on, as the rows of an array. All lie within the data."""
    places = np.ndarray((len(data) - size + 1,), f"V{size}", data, strides=(1,))
    return places[at].view(np.uint8).reshape(-1, size)


def at_positions(values: npt.NDArray[_Scalar], ascending: npt.NDArray[np.int64]) -> npt.NDArray[_Scalar]:
    """Returns the values of an array at ascending positions, each once: the array itself if these are all. The result is only
    read."""
    return values if len(ascending) == len(values) else values[ascending]


def whole_rows(size: int) -> np.dtype[np.void]:
    """Returns the type of an array of rows of `size` bytes. numpy moves such rows ten times as fast as rows with columns, which it
    moves column by column."""
    return np.dtype((np.void, size))


def distinct(values: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
    """Returns the different values of an array, sorted. numpy.unique loads numpy.ma for this, a tenth of our start."""
    ordered = np.sort(values)
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    found: npt.NDArray[_Scalar] = ordered[is_first]
    return found


def first_places(values: npt.NDArray[_Scalar]) -> npt.NDArray[np.int64]:
    """Returns where each of the different values of an array stands first, ascending."""
    order = np.argsort(values, kind="stable")
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = values[order[1:]] != values[order[:-1]]
    found: npt.NDArray[np.int64] = np.sort(order[is_first])
    return found


def narrowed(numbers: Sequence[int]) -> npt.NDArray[np.signedinteger[Any]]:
    """Returns numbers as an array of 32 bits where all fit, else of 64: of a million, this is 4 MB less."""
    found = np.array(numbers, np.int64)
    short = found.astype(np.int32)
    return short if (short == found).all() else found

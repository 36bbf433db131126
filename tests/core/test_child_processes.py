"""Copies of a process: the parts in order, whatever becomes of a copy, and none of them is left."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice

import pytest

from analyzer.core.child_processes import Copies

HERE = os.getpid()


def part(number: int) -> Iterator[bytes]:
    """A few short pieces, and in every fifth part a long one."""
    for at in range(number % 4):
        yield f"{number}.{at} ".encode()
    if number % 5 == 0:
        yield bytes(3 << 20)


def joined(copies: Copies) -> list[bytes]:
    return [b"".join(pieces) for pieces in copies.parts()]


@contextmanager
def none_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Every copy that is made meanwhile has ended, and was waited for; gives these copies. Other tests may have left children of
    their own."""
    fork, made = os.fork, list[int]()

    def noted() -> int:
        if child := fork():
            made.append(child)
        return child

    monkeypatch.setattr(os, "fork", noted)
    yield made
    for child in made:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


@pytest.mark.parametrize(
    ("count", "jobs", "copies"), [(0, 2, 0), (1, 2, 0), (7, 1, 0), (2, 3, 1), (23, 2, 1), (23, 3, 2)]
)
def test_parts_come_in_order(count: int, jobs: int, copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with none_left(monkeypatch) as made:
        assert joined(Copies(part, count, jobs)) == [b"".join(part(number)) for number in range(count)]
    assert len(made) == copies


def test_a_copy_that_ends_is_done_without() -> None:
    def ending(number: int) -> Iterator[bytes]:
        yield b"begun, "
        if number == 5 and os.getpid() != HERE:
            os.kill(os.getpid(), signal.SIGKILL)
        yield b"done"

    assert joined(Copies(ending, 9, 2)) == [b"begun, done"] * 9


def test_an_error_is_raised_in_its_place() -> None:
    def failing(number: int) -> Iterator[bytes]:
        yield b"%d" % number
        if number == 3:
            raise ValueError("the third")

    pieces = chain.from_iterable(Copies(failing, 6, 2).parts())
    assert list(islice(pieces, 4)) == [b"0", b"1", b"2", b"3"]
    with pytest.raises(ValueError, match="the third"):
        next(pieces)


def test_who_takes_no_more_leaves_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    with none_left(monkeypatch) as made:
        taken = [list(pieces) for pieces in islice(Copies(part, 1000, 2).parts(), 3)]
        assert len(taken) == 3
    assert len(made) == 1

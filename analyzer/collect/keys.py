"""The keys of a run, in the memory of each process that analyses, and nowhere else: no task, result or file carries them."""

from __future__ import annotations

from analyzer.auth.keyring import Keyring

_here: list[Keyring] = []


def hold(keyring: Keyring) -> None:
    """From now on this process has these keys, and no others."""
    _here[:] = [keyring]


def forget() -> None:
    """From now on this process has none."""
    _here.clear()


def held() -> Keyring:
    return _here[0] if _here else Keyring()

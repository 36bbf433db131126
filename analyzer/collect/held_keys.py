"""The keys of a run, in the memory of each process that analyses, and nowhere else: no task, result or file carries them.

Runs that share workers hold their keys by names of their own.
"""

from __future__ import annotations

from analyzer.auth.keyring import Keyring

_here: dict[str, Keyring] = {}


def hold(keyring: Keyring, name: str = "") -> None:
    """From now on this process has these keys by this name, and no others by it."""
    _here[name] = keyring


def forget(name: str = "") -> None:
    """From now on this process has none by this name."""
    _here.pop(name, None)


def held(name: str = "") -> Keyring:
    return _here.get(name, Keyring())

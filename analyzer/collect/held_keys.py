"""Holds the keys of a run of `collect` in the memory of each process that analyses. No task, result or file carries them."""

from __future__ import annotations

from analyzer.auth.keyring import Keyring

# Runs that share workers hold their keys by names of their own.
HELD: dict[str, Keyring] = {}

"""The keys of a run, in the memory of each process that analyses, and nowhere else: no task, result or file carries them."""

from __future__ import annotations

from analyzer.auth.keyring import Keyring

# Runs that share workers hold their keys by names of their own.
HELD: dict[str, Keyring] = {}

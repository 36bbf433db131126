"""Reads Windows performance-counter traffic out of packet captures: [MS-PCQ] and HKEY_PERFORMANCE_DATA."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzer.auth.keyring import Keyring as Keyring
    from analyzer.core.errors import InputError as InputError
    from analyzer.notebook import Capture as Capture
    from analyzer.notebook import analyze as analyze

__all__ = ["Capture", "InputError", "Keyring", "analyze"]

_HOMES = {
    "Capture": "analyzer.notebook",
    "InputError": "analyzer.core.errors",
    "Keyring": "analyzer.auth.keyring",
    "analyze": "analyzer.notebook",
}


def __getattr__(name: str) -> Any:
    """Names are fetched when first used, so that `pcq --help` does not wait for the tables (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'analyzer' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)

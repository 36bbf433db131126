"""Reads Windows performance-counter traffic out of packet captures: [MS-PCQ] and HKEY_PERFORMANCE_DATA."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzer.auth.keyring import Keyring as Keyring
    from analyzer.core.errors import InputError as InputError
    from analyzer.screens.notebook import Capture as Capture
    from analyzer.screens.notebook import analyze as analyze
    from analyzer.screens.notebook import diff as diff
    from analyzer.screens.notebook import iter_calls as iter_calls
    from analyzer.screens.notebook import open as open
    from analyzer.screens.notebook import write_baseline as write_baseline

    __version__: str

__all__ = ["Capture", "InputError", "Keyring", "__version__", "analyze", "diff", "iter_calls", "open", "write_baseline"]

_HOMES = {
    "Capture": "analyzer.screens.notebook",
    "InputError": "analyzer.core.errors",
    "Keyring": "analyzer.auth.keyring",
    "analyze": "analyzer.screens.notebook",
    "diff": "analyzer.screens.notebook",
    "iter_calls": "analyzer.screens.notebook",
    "open": "analyzer.screens.notebook",
    "write_baseline": "analyzer.screens.notebook",
}


def __getattr__(name: str) -> Any:
    """Names are fetched when first used, so that `pcq --help` does not wait for the tables (PEP 562)."""
    if name == "__version__":
        from importlib.metadata import version

        return version("pcq-analyzer")
    if name not in _HOMES:
        raise AttributeError(f"module 'analyzer' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names, also those that are not loaded yet."""
    return sorted({*globals(), *__all__})

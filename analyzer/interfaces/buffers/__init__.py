"""Decodes stubs and lpData buffers with parsers compiled from ksy/.

Layers take from here what only some captures need: it is loaded when it is first used (PEP 562).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzer.interfaces.buffers.buffer_trees import decode_buffer as decode_buffer
    from analyzer.interfaces.buffers.buffer_trees import find_damage as find_damage
    from analyzer.interfaces.buffers.compiled_stubs import compiled_stub as compiled_stub
    from analyzer.interfaces.buffers.struct_layouts import block_types as block_types
    from analyzer.interfaces.buffers.tree_texts import TreeTexts as TreeTexts

_HOMES = {
    "block_types": "struct_layouts",
    "compiled_stub": "compiled_stubs",
    "decode_buffer": "buffer_trees",
    "find_damage": "buffer_trees",
    "TreeTexts": "tree_texts",
}


def __getattr__(name: str) -> Any:
    """Loads the home of a name, which is an attribute from then on."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found

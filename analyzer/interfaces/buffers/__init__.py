"""Decodes stubs and lpData buffers with parsers compiled from ksy/."""

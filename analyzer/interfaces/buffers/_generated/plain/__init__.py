"""Parsers of buffers compiled from ksy/."""

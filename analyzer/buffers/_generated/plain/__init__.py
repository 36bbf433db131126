"""Parsers compiled from ksy/."""

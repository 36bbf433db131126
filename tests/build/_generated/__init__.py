"""Parsers of capture files compiled from ksy/captures/."""

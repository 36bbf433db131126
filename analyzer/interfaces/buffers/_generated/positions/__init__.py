"""Parsers compiled from ksy/, which record where each field was read."""

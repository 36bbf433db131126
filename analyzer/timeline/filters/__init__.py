"""Filters of calls and samples in the manner of Wireshark's display filters (docs/filters.md)."""

"""The filters of calls and samples: their text, and which calls and samples pass (docs/filters.md)."""

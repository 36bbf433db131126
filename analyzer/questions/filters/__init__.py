"""Which calls and samples pass a filter, and the text of filters (docs/filters.md)."""

"""Series of counters: readings of one counter put together, and their formatted values (docs/counter-types.md)."""

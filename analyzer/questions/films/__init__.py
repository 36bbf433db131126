"""Films: tables of instances and counters that machines showed, poll by poll, at any moment of a capture."""

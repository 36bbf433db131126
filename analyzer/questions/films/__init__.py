"""What machines showed, poll by poll: tables of instances and counters at any moment of a capture."""

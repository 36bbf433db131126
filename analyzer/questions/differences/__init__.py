"""Questions about two sides: two captures, two moments of one, or a capture and what is usual."""

"""The comparisons of `diff`: two captures, two moments of one capture, or a capture and a baseline."""

"""Calls in order, with what only the whole capture can tell about them."""

"""Observations of a capture: who did what to what on which machine, and with which outcome."""

"""Clients of the rig, a program each: requests come in as lines of JSON, and replies go out (`lines.py`)."""

"""What ksy/compile.py writes; see ksy/."""

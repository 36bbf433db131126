"""Conversations whose truth is known, held by every stack that installs here, and what each command makes of their captures.

For developers, and for CI: `python -m rig.run --sample 20 --worn 1 --seed 4`. `docs/testing.md` says what the rig holds.
"""

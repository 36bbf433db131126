"""Collects many captures, on one machine or many, into a dataset of tables, conversation by conversation (docs/scale.md)."""

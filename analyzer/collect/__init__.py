"""Sets of captures, on one machine or many: a dataset of tables, conversation by conversation (docs/scale.md)."""

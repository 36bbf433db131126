"""Writes views in their output formats: text, JSON Lines, JSON, CSV, Parquet, SARIF, JUnit, HTML pages, forms of other programs."""

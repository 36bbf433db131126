"""How a view is written: text, JSON Lines, JSON, CSV, Parquet, SARIF, JUnit."""

"""What is asked of an analysis: filters, values, statistics, the audit."""

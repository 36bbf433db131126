"""What happened, as observations: who did what to what on which machine, and what became of it."""

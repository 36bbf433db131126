"""The known attacks, one a module: what it looks for, how sure that is, what else does the same, and its sources."""

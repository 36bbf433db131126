"""What is known of attacks: each a module with what it looks for, how sure that is, what else does the same, and its sources."""

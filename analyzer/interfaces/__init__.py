"""What the calls say: the interfaces that carry performance counters, their buffers, and what a whole capture adds."""

"""The interfaces of calls: how calls that carry performance counters are decoded, their buffers, and what a whole capture adds."""

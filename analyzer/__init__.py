"""Reads Windows performance-counter traffic out of packet captures: [MS-PCQ] and HKEY_PERFORMANCE_DATA."""

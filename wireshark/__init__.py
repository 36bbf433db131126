"""Writes the dissectors of Wireshark from the descriptions in ksy/."""

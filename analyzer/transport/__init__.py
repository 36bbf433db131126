"""From frames to calls' bytes: packets, TCP, named pipes over SMB, DCERPC."""

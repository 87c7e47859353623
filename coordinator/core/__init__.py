"""The group coordinator as pure decisions: no clock, no I/O, no asyncio, no randomness."""

"""What clients write and read: Produce, Fetch, ListOffsets, producers and their transactions."""

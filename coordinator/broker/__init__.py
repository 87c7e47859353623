"""The data plane: topics, Produce, Fetch, ListOffsets and the state of idempotent producers."""

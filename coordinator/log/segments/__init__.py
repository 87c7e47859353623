"""The segments of a log, with their indexes and snapshots."""

"""Committed offsets of a group, whatever its kind: commits, reads, deletion and expiry as pure decisions."""

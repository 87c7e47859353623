"""Partition logs in Kafka's on-disk format, and all access to the disk."""

"""Partition logs in Kafka's on-disk format; all that touches the disk."""

"""Bytes of the Kafka protocol to messages and back; knows nothing of groups."""

"""Encodes and decodes the messages of the Kafka protocol. It has no knowledge of groups."""

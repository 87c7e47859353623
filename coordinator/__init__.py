"""A Kafka-wire-compatible group coordinator."""

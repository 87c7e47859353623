"""A Kafka-wire-compatible group coordinator."""

__version__ = "0.3.0"

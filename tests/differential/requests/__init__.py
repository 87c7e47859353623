"""Single requests beside a real Kafka: each API at each version, with values that no client should send."""

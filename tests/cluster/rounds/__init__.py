"""Rounds of faults against real nodes in front of a real Kafka of three brokers, with stock clients."""

"""Coordinator nodes in front of an existing Kafka cluster."""

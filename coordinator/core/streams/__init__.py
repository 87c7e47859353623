"""Streams groups (KIP-1071): topologies, tasks, and the protocol of StreamsGroupHeartbeat."""

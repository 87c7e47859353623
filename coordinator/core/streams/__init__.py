"""Streams groups (KIP-1071): topologies, tasks, and the protocol of StreamsGroupHeartbeat. Pure decisions, no input or output."""

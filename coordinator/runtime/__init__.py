"""Runs the core: shards with their queues, sessions, timers, and the replay at start."""

"""The core in motion: shards with their queues, sessions, timers, and the replay at start."""

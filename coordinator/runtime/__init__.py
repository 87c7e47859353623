"""The core in motion: shards with their queues, leases, timers, and the replay at start."""

"""The group coordinator of a node: shards of groups with their sessions, timers and audit, on the runtime."""

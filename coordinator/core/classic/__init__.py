"""The classic protocol: members, generations and rebalances of a group, as pure decisions and events."""

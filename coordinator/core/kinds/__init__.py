"""What has all kinds of groups: their table, the operations, and how a log of groups is replayed and stored."""

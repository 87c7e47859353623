"""What all kinds of groups share: the group, the table of operations, and its records in `__consumer_offsets`."""

"""The share coordinator (KIP-932): what carries its decisions out on shards of `__share_group_state`."""

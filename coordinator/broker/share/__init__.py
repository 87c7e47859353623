"""Share partitions: records that members of share groups acquire and acknowledge (KIP-932)."""

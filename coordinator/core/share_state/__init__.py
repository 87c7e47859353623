"""The states of the records of share partitions (KIP-932), as pure decisions and events."""

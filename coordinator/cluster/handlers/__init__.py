"""What a node in front of a cluster answers at its own port; the rest is forwarded to the cluster."""

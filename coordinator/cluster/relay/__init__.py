"""The relay: clients reach every broker of the cluster through a node."""

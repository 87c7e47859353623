"""The member that a node has, for each group that it owns, in the group of the same id at the cluster."""

"""The groups that nodes in front of a cluster coordinate, with their log and their topics in the cluster."""

"""The nodes among themselves: a classic consumer group of the cluster that shares out the partitions of the log."""

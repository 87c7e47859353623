"""The transaction coordinator and the partitions on a virtual clock and a disk in memory."""

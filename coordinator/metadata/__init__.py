"""What the cluster is: topics, their partitions and configs, producer ids. One log of records, one image of it."""

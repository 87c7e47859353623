"""Coordinator nodes in front of an existing Kafka cluster: they own its groups, the cluster keeps everything else."""

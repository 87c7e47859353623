"""The coordinator's log on the cluster: who may write a partition of it, appends, and replays."""

from coordinator.groups.sessions import SessionTable
from coordinator.groups.steady_commits import SteadyCommits
from coordinator.runtime.shard_drains import ShardDrains

class SteadyFetches:
    """Answers OffsetFetch of one group, as long as nothing waits in the shard of the group.

    The topics are known to `commits`, which also has the most topics and partitions of a request.
    """

    api_version: int
    """That of the last request that was answered."""
    error_codes: int
    """How many error codes its answer had, as metrics count them; all of them NONE."""

    def __init__(self, sessions: SessionTable, commits: SteadyCommits, coordinator: ShardDrains) -> None: ...
    def answer(self, frame: bytes) -> bytes | None:
        """The response, with its length, to a request without its length; None: the core has to answer it."""

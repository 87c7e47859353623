"""What is known of a member of a group now."""

import msgspec

from coordinator.audit.schema import MemberRef, MemberRejoined, StreamsMemberTopology, TopicPartitions, WorkerTasks
from coordinator.core.causes import Cause


class MemberSoFar(msgspec.Struct, gc=False):
    """A member of the group now. Timeouts and `joined_ms` are None if its JoinGroup is not among the events."""

    member: MemberRef
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    joined_ms: int | None = None
    subscribed_topics: tuple[str, ...] = ()
    has_pattern: bool = False
    """Whether it subscribes to a regular expression (KIP-848)."""
    protocols: tuple[str, ...] = ()
    """The assignors that it offers; empty if its first JoinGroup is not among the events."""
    partitions: TopicPartitions = {}
    unnamed_partitions: int = 0
    revoking: TopicPartitions = {}
    """In a consumer group: what it was asked to give up and has not given up."""
    is_revoking: bool = False
    """Whether there is anything of that, named or not."""
    revocation_timeout_ms: int | None = None
    """The time that it has for that: its rebalance timeout when it was asked, whatever that is now. None: not known."""
    worker: WorkerTasks | None = None
    """What it was given last, if it is a worker of Kafka Connect."""
    left_ms: int | None = None
    """Since when it is away as a static member that left for a moment (member epoch -2, KIP-848); None: it is there."""
    was_loaded: bool = False
    """The coordinator has restarted since the member's last JoinGroup."""
    replaced_ms: int | None = None
    """When its client last took the place of another one, as static members do; None: it has not."""
    awaits_part: bool = False
    """In a consumer group: it has done so, and was not told its part since."""
    stale_topology: StreamsMemberTopology | None = None
    """In a streams group: that it runs an older topology than the group; None: it does not, or it was not told."""

    def rejoin(self, event: MemberRejoined) -> None:
        """Take over what the member says of itself from now on."""
        self.member, self.joined_ms = event.member, event.time_ms
        self.subscribed_topics = tuple(event.subscribed_topics)
        self.has_pattern |= bool(event.subscribed_pattern)
        self.was_loaded = False
        if event.session_timeout_ms is not None:
            self.session_timeout_ms = event.session_timeout_ms
        if event.rebalance_timeout_ms is not None:
            self.rebalance_timeout_ms = event.rebalance_timeout_ms
        if event.protocols is not None:
            self.protocols = tuple(event.protocols)

    def set_revoking(self, *, is_revoking: bool) -> None:
        """Each time that it is asked to give up partitions, and after a load, its time for that begins anew."""
        self.is_revoking = is_revoking
        self.revocation_timeout_ms = self.rebalance_timeout_ms if is_revoking else None

    def timeout_ms(self, cause: Cause) -> int | None:
        """Its rebalance timeout, as it was when the time began that is over if it is removed with this cause."""
        is_over = cause is Cause.REBALANCE_TIMEOUT and self.revocation_timeout_ms is not None
        return self.revocation_timeout_ms if is_over else self.rebalance_timeout_ms

"""Events of a coordinator itself, which have no group."""

from coordinator.audit.schema.event import CoordinatorEvent
from coordinator.audit.schema.values import MemberRef


class CoordinatorStarted(CoordinatorEvent, frozen=True, kw_only=True, tag="coordinator.started"):
    """The coordinator started. `groups` is the number of groups that it knows; null if they are not loaded yet.

    `after_clean_stop`: whether its log directory says that the process before was stopped in order. That may have been
    unable to write its `coordinator.stopped` here, as after a full disk. Null: a cluster behind the node has the logs.
    """

    software_version: str
    groups: int | None = None
    after_clean_stop: bool | None = None


class CoordinatorStopped(CoordinatorEvent, frozen=True, kw_only=True, tag="coordinator.stopped"):
    """The coordinator was stopped in order. After a crash there is none: the next event is `coordinator.started`."""

    clean: bool = True


class CoordinatorPaused(CoordinatorEvent, frozen=True, kw_only=True, tag="coordinator.paused"):
    """The coordinator stood still for a second or longer, from `from_ms` to `until_ms` (wall clock), and heard nobody.

    `pause_kind`: `suspended`, the process did not run (SIGSTOP, a machine that sleeps); `without_cpu`, it was ready to
    run and had no processor; `blocked`, it computed, or waited in a call.
    """

    from_ms: int
    until_ms: int
    pause_kind: str


class CoordinatorUnavailable(CoordinatorEvent, frozen=True, kw_only=True, tag="coordinator.unavailable"):
    """Nothing could be written to this partition, as on a full disk, from `from_ms` to `until_ms` (wall clock).

    Requests about its groups were answered with COORDINATOR_NOT_AVAILABLE. What happened to them meanwhile is in no
    event: members that asked to join may have given up what they had. At its end the groups were loaded again.
    """

    from_ms: int
    until_ms: int


class LeadershipTaken(CoordinatorEvent, frozen=True, kw_only=True, tag="leadership.taken"):
    """A node in front of a cluster leads a partition of the log from here on: no other node can append to it any more.

    `partition` is that of the log of the groups and of this topic, `producer_id` and `producer_epoch` are what the node
    writes it with. It is in that partition, and the first record of the epoch.
    """

    partition: int
    producer_id: int
    producer_epoch: int


class AuthorizationDenied(CoordinatorEvent, frozen=True, kw_only=True, tag="authorization.denied"):
    """The authorizer denied a client an operation. It is in partition 0 alone.

    `number` counts these events since the start of the coordinator. Of the same principal, operation and resource there
    is one at once, and while it goes on one more at the end of each minute; `suppressed` is the number of denials since
    the event before, beside the one that this event tells of. At most 1,000 combinations have events in a minute. The
    names of operations and types of resources are Kafka's; `rule` is what decided, as in the log of Kafka's authorizer.
    """

    number: int
    principal: str
    client_id: str
    client_host: str
    api: str
    operation: str
    resource_type: str
    resource_name: str
    rule: str
    suppressed: int = 0


class GroupHeldByCluster(CoordinatorEvent, frozen=True, kw_only=True, tag="group.held_by_cluster"):
    """The nodes in front of a cluster are to coordinate the group, and it has members at the cluster.

    While `is_owned` is false, a rule adopts the group, and it stays with the cluster until its members there have left.
    If it is true, the nodes own the group: somebody has removed its sentinel from the cluster, and clients have joined
    there, so that the group may have members at both places.

    `members` are those at the cluster, of which at most `MEMBERS_NAMED_MAX` are named; `unnamed_members` counts the
    others, and one that joins just now. The event is written when a node finds this, when the clients of the members or
    `is_owned` change, and without members when it is over; a node that takes the partition over writes it again.
    `since_ms` is when it was found first. `group_type` is that of the group at the cluster, as in `group.created`.
    """

    group_id: str
    members: list[MemberRef]
    unnamed_members: int = 0
    group_type: str = "classic"
    is_owned: bool = False
    since_ms: int

    @property
    def member_count(self) -> int:
        """Of those at the cluster."""
        return len(self.members) + self.unnamed_members

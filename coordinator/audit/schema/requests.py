"""Events of committed offsets, and of requests that were rejected."""

from coordinator.audit.schema.event import AuditEvent
from coordinator.audit.schema.values import MemberRef, Requester, TopicPartitions
from coordinator.core.causes import Cause


class OffsetsCommitted(AuditEvent, frozen=True, kw_only=True, tag="offsets.committed"):
    """The number of offset commits of the group that were stored in an interval; not written if there were none.

    `interval_ms` is the length of the interval, which ends at `time_ms`. `commits` counts the requests and `partitions`
    the committed offsets in them. Commits of a transaction are counted when they are stored, whether or not the
    transaction is committed. Their records are in the group's partition of `__consumer_offsets`, from
    `first_log_offset` to `last_log_offset` inclusive. An interval that ends early, with a crash or the removal of the
    group, is not reported.
    """

    interval_ms: int
    commits: int
    partitions: int
    first_log_offset: int
    last_log_offset: int


class OffsetsExpired(AuditEvent, frozen=True, kw_only=True, tag="offsets.expired"):
    """Committed offsets expired (`offsets.retention.minutes`).

    If there are more than `PARTITIONS_NAMED_MAX`, `partitions` is empty and `unnamed_partitions` is their number.
    """

    partitions: TopicPartitions
    unnamed_partitions: int = 0


class OffsetsDeleted(AuditEvent, frozen=True, kw_only=True, tag="offsets.deleted"):
    """Committed offsets were deleted.

    Causes: `admin`, by OffsetDelete (KIP-496); `topic_deleted` and `group_removed`, together with their topic or group.
    `requested_by` is the client that deleted them or the group. `unnamed_partitions` is as in `offsets.expired`.
    `offsets`: topic → [partition, committed offset that was deleted (-1: none, a transaction had one pending)]; empty
    if `partitions` is. A topic without partitions was deleted while members of the group read it: nothing was committed
    in it.
    """

    partitions: TopicPartitions
    unnamed_partitions: int = 0
    requested_by: Requester | None = None
    cause: Cause = Cause.ADMIN
    offsets: dict[str, list[list[int]]] = {}


class OffsetsReset(AuditEvent, frozen=True, kw_only=True, tag="offsets.reset"):
    """Offsets were committed by a client that is no member to a group that has had members and is Empty.

    A client that assigns its partitions itself does so all the time. So a client that commits again within a minute is
    told of only if an offset goes back; its other commits are counted in `offsets.committed`.

    Or a member (`member`), a client that commits to a group that never had members, or a transaction when it is
    committed, set smaller offsets than before. Only these are told, and of the same client once in a minute. Of a
    transaction that was open when the group was loaded, it is not known who committed in it: `requested_by` is then
    without names.

    `partitions`: topic → [partition, committed offset before (-1: none), committed offset now]. If there are more than
    `PARTITIONS_NAMED_MAX`, it is empty and `unnamed_partitions` is their number.
    """

    requested_by: Requester
    partitions: dict[str, list[list[int]]]
    unnamed_partitions: int = 0
    member: MemberRef | None = None


class RequestRejected(AuditEvent, frozen=True, kw_only=True, tag="request.rejected"):
    """A request was answered with an error that its client cannot put right by sending it again.

    JoinGroup and SyncGroup with any error but MEMBER_ID_REQUIRED and REBALANCE_IN_PROGRESS; ConsumerGroupHeartbeat
    with any error; Heartbeat with FENCED_INSTANCE_ID, and with UNKNOWN_MEMBER_ID the first time that a member asks
    again after it was removed for its silence: its process lives; OffsetCommit and TxnOffsetCommit with
    FENCED_INSTANCE_ID, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION or STALE_MEMBER_EPOCH, and TxnOffsetCommit with
    INVALID_PRODUCER_EPOCH; DeleteGroups with NON_EMPTY_GROUP, whose `member` has no member id.
    Fetch, ListOffsets, OffsetFetch and OffsetCommit with UNSUPPORTED_VERSION: a client asked for `refused_version`, and
    `oldest_version` is the oldest that the server has. It was refused without an answer, at any connection, and
    `member` is a member with its client id and host. Such requests are gathered: `count` is in how many minutes, of
    this member.
    `error` is Kafka's name of it. `member` is the client that asked, under the member id that it sent. `holder` is the
    member that has the instance id, with FENCED_INSTANCE_ID and UNRELEASED_INSTANCE_ID. `count` is how often this
    happened with the same API, error, client id and instance id in this incarnation of the group, or since it was
    loaded: the event is written for the 1st, 10th, 100th, … time, and while it goes on at least every
    `REJECTION_APART_MS`.

    `request_generation_id` is the generation, or the member epoch, that the request named; null if its API names none.
    `transactional_id` is that of a TxnOffsetCommit. `protocol_type` and `protocols` are what a JoinGroup offered;
    `group_protocol_type` is that of the group, and `group_protocols` are the assignors that all its members have. At
    most `PROTOCOLS_NAMED_MAX` are named.

    `injected` is true if a fault that a test injected is the reason: with any error to any request that names the
    group, also to one that names no member (`member_id` is then empty). Each of these answers is written, and none is
    counted. An answer about a group that does not exist has no event.

    `muted_since_ms` is when the last throttle time of a client of the same client id and host began, in which nothing
    was read from one of its connections, as a quota was exceeded; told of UNKNOWN_MEMBER_ID, and null if none is known.
    """

    api: str
    error: str
    member: MemberRef
    holder: MemberRef | None = None
    count: int = 1
    injected: bool = False
    request_generation_id: int | None = None
    transactional_id: str = ""
    protocol_type: str = ""
    protocols: list[str] = []
    group_protocol_type: str = ""
    group_protocols: list[str] = []
    refused_version: int | None = None
    oldest_version: int | None = None
    muted_since_ms: int | None = None

"""What several events have: references to members, causes, snapshots; and the bounds of what events name."""

from typing import Final

import msgspec

from coordinator.core.causes import Cause

Record = tuple[bytes | None, bytes, tuple[tuple[str, bytes | None], ...]]
"""Key, value and headers of a record of the topic. Only the record of a `CoordinatorEvent` has no key."""

TopicPartitions = dict[str, list[int]]
"""Topic name → partition indexes, ascending."""

TOPICS_NAMED_MAX: Final = 1_000
TOPIC_IDS_NAMED_MAX: Final = 100
"""The largest number of topics of one subscription that an event names.

Each JoinGroup is an event, so a rebalance repeats the subscription once per member: 1,000 topics of 30 characters take
33 KB and 0.1 ms each time.
"""

PARTITIONS_NAMED_MAX: Final = 10_000
"""The largest number of partitions that the events of one generation name together, and one event about offsets.

A partition takes 4 bytes of a SyncGroup request, but 150 bytes of memory and 0.5 to 1 µs to compare with the previous
generation. The limit keeps this below 10 ms and 1.5 MiB per generation, however large the request is.
"""

TRIGGERS_NAMED_MAX: Final = 100
"""The largest number of triggers that an event names."""

MEMBERS_NAMED_MAX: Final = 100
"""The largest number of members that `pending_members`, `never_synced` and `group.held_by_cluster` name."""

REJECTION_APART_MS: Final = 600_000
"""While requests go on being rejected in the same way, there is an event of it at least this often, in ms."""

PROTOCOLS_NAMED_MAX: Final = 10
"""How many assignors of a rejected JoinGroup, and of its group, are named."""

WORKER_TASKS_NAMED_MAX: Final = 1_000
"""The largest number of connectors and tasks of one worker of Kafka Connect that an event names."""

CONNECTOR: Final = -1
"""The number among the tasks that a worker was to give up that stands for their connector itself."""

RESET_APART_MS: Final = 60_000
"""Commits of the same client that is no member, closer together than this, are one reset."""


LEFT_FOR_A_MOMENT: Final = -2
"""The member epoch of a static member that is closed and means to come back (KIP-848)."""


class MemberRef(msgspec.Struct, frozen=True):
    """The identity of a member.

    `client_software_name` and `client_software_version` are those that the client sent with ApiVersions (KIP-511). They
    are empty if it sent none, or if the group was loaded and no heartbeat of the member has come since:
    `__consumer_offsets` does not have them. Nor does it have `principal`, the one that the client joined as, or sent
    that heartbeat as (`User:alice`), which is empty, too, if the client's listener authenticates nobody.
    """

    member_id: str
    client_id: str = ""
    client_host: str = ""
    group_instance_id: str | None = None
    client_software_name: str = ""
    client_software_version: str = ""
    principal: str = ""


class Requester(msgspec.Struct, frozen=True):
    """The client that sent a request about a group without being the member that the request is about.

    `principal` is empty if the client's listener authenticates nobody.
    """

    client_id: str
    client_host: str
    principal: str = ""


class AbsentMember(msgspec.Struct, frozen=True):
    """A static member that is in a generation for which it did not join.

    `last_heard_ms` is when something of it last came (wall clock); null: not since its group was loaded.
    """

    member_id: str
    last_heard_ms: int | None = None


class DeniedRequests(msgspec.Struct, frozen=True):
    """Requests of a member that the authorizer refused, from `since_ms` on (wall clock). The names are Kafka's."""

    api: str
    operation: str
    resource_type: str
    resource_name: str
    since_ms: int
    count: int = 1


class Trigger(msgspec.Struct, frozen=True):
    """One thing that made a rebalance necessary, or that changed in its join phase who is in it.

    `member` is null if no member is behind it. `reason` is the text that the client sent (KIP-800).
    """

    cause: Cause
    member: MemberRef | None
    reason: str = ""
    at_ms: int = 0


class MemberSnapshot(msgspec.Struct, frozen=True):
    """A member as DescribeGroups shows it, with its assignment decoded.

    The assignment is empty unless the protocol type is "consumer".

    `unnamed_topics` and `unnamed_partitions` count those left out of `subscribed_topics` and `partitions` because they
    exceed the limits.
    """

    member: MemberRef
    subscribed_topics: list[str]
    partitions: TopicPartitions
    unnamed_topics: int = 0
    unnamed_partitions: int = 0


class MemberProgress(msgspec.Struct, frozen=True):
    """How far a member of a consumer group (KIP-848) is on the way to its target assignment.

    `member_epoch` is 0 for a member that was assigned nothing yet, and -2 for a static member that left for a moment.
    `member_state` is Kafka's: `STABLE`, `UNREVOKED_PARTITIONS`, `UNRELEASED_PARTITIONS`. `partition_count` counts the
    partitions that it may use, `revoking_count` those that it was asked to give up and has not given up; `revoking`
    names the latter, unless they are more than `PARTITIONS_NAMED_MAX`.
    """

    member_epoch: int
    member_state: str
    partition_count: int
    revoking: TopicPartitions = {}
    revoking_count: int = 0


class WorkerTasks(msgspec.Struct, frozen=True):
    """What a worker of Kafka Connect was given: `tasks` is connector → numbers, ascending.

    `revoked` is what it was to give up, for another worker to get it in the next rebalance; -1 is the connector itself.
    `config_offset` is up to where the leader had read the configurations. `delay_ms`: for so long the leader waits for
    workers that went, before it gives to others what these ran. If there are more than `WORKER_TASKS_NAMED_MAX`
    connectors and tasks, none is named, and `unnamed_tasks` is their number.
    """

    connectors: list[str]
    tasks: dict[str, list[int]]
    revoked: dict[str, list[int]]
    config_offset: int
    delay_ms: int
    unnamed_tasks: int = 0


class WaitedFor(msgspec.Struct, frozen=True):
    """Partitions of a target assignment that another member has not given up."""

    member: MemberRef
    partitions: TopicPartitions


class StoredState(msgspec.Struct, frozen=True):
    """The state of a group in `__consumer_offsets`, which is older than the group during a rebalance.

    `seq` is that of the last event that it includes.
    """

    seq: int
    generation_id: int
    state: str
    member_ids: list[str]

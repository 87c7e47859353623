"""Events of streams groups (KIP-1071): their topology, its internal topics, tasks, and shutdowns."""

from typing import Final

import msgspec

from coordinator.audit.schema.event import AuditEvent
from coordinator.audit.schema.values import MemberRef

STREAMS_TOPICS_NAMED_MAX: Final = 20
"""The largest number of topics that an event about a topology names."""
TASKS_NAMED_MAX: Final = 1_000
"""The largest number of tasks of a member that one `streams.tasks` names, active and standby together."""
TASK_MOVES_NAMED_MAX: Final = 100
"""The largest number of gained tasks, and of tasks that are waited for, that one `streams.tasks` names."""

READY: Final = "ready"
"""The status of a topology that can run."""


class StreamsTopology(AuditEvent, frozen=True, kw_only=True, tag="streams.topology"):
    """The topology of a streams group was compared with the topics of the cluster, with another outcome than before.

    `status`: `missing_source_topics`, `incorrectly_partitioned_topics`, `missing_internal_topics`: the topology cannot
    run (NotReady), and no member has tasks; `ready`: it can run again. `topics` are those that are missing or have the
    wrong number of partitions, at most `STREAMS_TOPICS_NAMED_MAX`; `unnamed_topics` are others. `detail` is what the
    members are told.
    """

    topology_epoch: int
    status: str
    topics: list[str]
    unnamed_topics: int
    detail: str


class StreamsInternalTopics(AuditEvent, frozen=True, kw_only=True, tag="streams.internal_topics"):
    """Internal topics of a streams group (changelogs, repartition topics) were created, or could not be.

    `failed`: topic → why. At most `STREAMS_TOPICS_NAMED_MAX` are named of each; `unnamed_topics` are others.
    """

    created: list[str]
    failed: dict[str, str]
    unnamed_topics: int


class StreamsShutdown(AuditEvent, frozen=True, kw_only=True, tag="streams.shutdown"):
    """A member asked that all members of the application end (SHUTDOWN_APPLICATION): they are told until all are gone.

    Kafka Streams does so if its handler of uncaught exceptions answers SHUTDOWN_APPLICATION.
    """

    member: MemberRef


class StreamsMemberTopology(AuditEvent, frozen=True, kw_only=True, tag="streams.member_topology"):
    """A member runs an older topology than the group has, or that of the group again.

    It is in the group, and is told STALE_TOPOLOGY in each answer as long as `topology_epoch` is less than
    `group_topology_epoch`; when both are the same it is told so no more.
    """

    member: MemberRef
    topology_epoch: int
    group_topology_epoch: int

    @property
    def is_stale(self) -> bool:
        return self.topology_epoch != self.group_topology_epoch


class GainedTask(msgspec.Struct, frozen=True):
    """An active task that a member has got.

    `before` is the member that ran it last; null: nobody did since the group was loaded. `was_standby`: the process had
    a standby task of it, so its state was there already.
    """

    subtopology_id: str
    task: int
    before: MemberRef | None
    was_standby: bool


class AwaitedTask(msgspec.Struct, frozen=True):
    """An active task that a member is to have, and that `holder` has not given up."""

    subtopology_id: str
    task: int
    holder: MemberRef


class StreamsTasks(AuditEvent, frozen=True, kw_only=True, tag="streams.tasks"):
    """A member of a streams group has other tasks than before, or waits for others.

    `active` and `standby`: subtopology → numbers of tasks, ascending; if they are more than `TASKS_NAMED_MAX`, none is
    named, and `unnamed_tasks` is their number. `gained` and `awaited` name at most `TASK_MOVES_NAMED_MAX` each;
    `unnamed_gained` are others.
    """

    member: MemberRef
    process_id: str
    active: dict[str, list[int]]
    standby: dict[str, list[int]]
    unnamed_tasks: int
    gained: list[GainedTask]
    unnamed_gained: int
    awaited: list[AwaitedTask]

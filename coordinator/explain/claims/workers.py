"""What the workers of a Kafka Connect cluster were given."""

import msgspec

from coordinator.audit.schema import MemberRef
from coordinator.explain.claims.claim import Claim

Task = tuple[str, int]
"""Connector and number; the number of the connector itself is `CONNECTOR` of the audit's schema."""


class WorkersRun(Claim, frozen=True):
    """The leader gave so many connectors and tasks to so many workers, by configurations up to these offsets."""

    workers: int
    connectors: int
    tasks: int
    config_offsets: tuple[int, int]
    """The smallest and the largest."""
    unnamed: int = 0
    """Connectors and tasks that are too many to be named, and counted nowhere else."""


class TasksOf(msgspec.Struct, frozen=True):
    """A worker and some connectors and tasks."""

    member: MemberRef
    tasks: tuple[Task, ...]


class WorkersGot(Claim, frozen=True):
    """What workers got that had not been theirs in the generation before; nothing: no worker got anything."""

    gains: tuple[TasksOf, ...]


class WorkersGiveUp(Claim, frozen=True):
    """What workers were told to give up, for the next rebalance to assign."""

    losses: tuple[TasksOf, ...]


class WorkersWait(Claim, frozen=True):
    """Until then the leader gives to nobody what workers ran that went (scheduled.rebalance.max.delay.ms)."""

    until_ms: int

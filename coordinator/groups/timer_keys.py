"""The keys of the timers of the group coordinator: what the wheel returns when one is due."""

from typing import NamedTuple

import msgspec


class SessionKey(NamedTuple):
    """Check whether the session of this member has expired."""

    group_id: str
    member_id: str


class CommitReportKey(msgspec.Struct, frozen=True):
    """Report the offset commits of a partition of __consumer_offsets to the audit topic."""

    partition: int


class AuditSnapshotKey(msgspec.Struct, frozen=True):
    """Write the next snapshots of groups to the audit topic."""


class HeldAuditKey(msgspec.Struct, frozen=True):
    """Append the audit records that shards hold back (`group.audit.linger.ms`)."""


class AuditCheckpointFileKey(msgspec.Struct, frozen=True):
    """Write the checkpoint file of the audit topic."""


class OffsetsCheckKey(msgspec.Struct, frozen=True):
    """Look for committed offsets of a partition of __consumer_offsets that are too old (KIP-211)."""

    partition: int
    group_ids: tuple[str, ...]
    """The groups that are still to be checked in this round; none: a round begins."""

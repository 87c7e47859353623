"""What the wheel hands back when a timer is due. One key, one meaning."""

from typing import NamedTuple


class SessionKey(NamedTuple):
    """Ask the session of this member whether its session ran out."""

    group_id: str
    member_id: str


class GroupTimerKey(NamedTuple):
    """Ask the group what follows now (`core.decision.next_deadline_ms`)."""

    group_id: str


class LoadRetryKey(NamedTuple):
    """Try again to load a partition of __consumer_offsets that could not be read or written."""

    partition: int


class CommitReportKey(NamedTuple):
    """Report the offset commits of a partition of __consumer_offsets to the audit topic."""

    partition: int


class AuditSnapshotKey(NamedTuple):
    """Write the next snapshots of groups to the audit topic."""


class AuditCheckpointFileKey(NamedTuple):
    """Write the checkpoint file of the audit topic."""


class OffsetsCheckKey(NamedTuple):
    """Look for committed offsets of a partition of __consumer_offsets that are too old (KIP-211)."""

    partition: int
    group_ids: tuple[str, ...]
    """The groups that are still to be looked at in this round; none: a round begins."""

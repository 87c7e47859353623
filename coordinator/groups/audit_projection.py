"""The audit of a shard: what happens to its groups, projected to the audit topic, and gone on with after a start."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from coordinator.audit.projector import AuditProjector
from coordinator.audit.resume import AuditReplay
from coordinator.audit.schema import CoordinatorEvent, Record
from coordinator.audit.snapshots import CHECKPOINT_RECORDS, MEMBERS_AT_ONCE
from coordinator.audit.world import Cluster, NoCluster
from coordinator.core.causes import Cause
from coordinator.core.groups.group import Group
from coordinator.log.config import LogConfig
from coordinator.runtime.slices import Steps
from coordinator.wall_time import ONE_CLOCK, WallTime


class AuditLog(Protocol):
    """The log of the audit of a shard."""

    @property
    def log(self) -> "EndedLog": ...

    def replay_offsets(self) -> list[int]:
        """Where to start to read: first a checkpoint if one is known, last the start of the log."""

    def replay_to(self, apply: Callable[[list[Record]], Steps[None]], from_offset: int) -> Steps[None]:
        """Have each batch applied, in order.

        Raises:
            StoreError: the log cannot be read.
        """

    def note_checkpoint(self, offset: int) -> bool:
        """Let later loads read from `offset` on; return False if they do already."""


class EndedLog(Protocol):
    """A log of which the end is known."""

    @property
    def log_end_offset(self) -> int: ...

    @property
    def config(self) -> LogConfig: ...


class AuditProjection(AuditProjector):
    """The projector of a shard, with the stream that it writes and reads."""

    def __init__(
        self,
        stream: AuditLog,
        wall: WallTime = ONE_CLOCK,
        *,
        node_id: int,
        coordinator_epoch: int = 0,
        cluster: Cluster | None = None,
        checkpoint_records: int = CHECKPOINT_RECORDS,
        members_at_once: int = MEMBERS_AT_ONCE,
    ) -> None:
        """Times of the audit are those of the `wall` clock."""
        super().__init__(
            node_id,
            coordinator_epoch,
            checkpoint_records=checkpoint_records,
            members_at_once=members_at_once,
            cluster=NoCluster() if cluster is None else cluster,
        )
        self.stream = stream
        self._wall = wall
        self._rebuild_replay = AuditReplay(0)
        """What the stream says of the groups that are being rebuilt."""

    def load(self, stored: Mapping[str, Group[Any]], now_ms: int, cause: Cause | None) -> Steps[None]:
        for from_offset in self.stream.replay_offsets():
            self.start_replay(from_offset)
            yield from self.stream.replay_to(self.apply, from_offset)
            if self.knows(stored):
                break
        end_offset = self.stream.log.log_end_offset
        resumed = yield from self.resume(stored, self._wall.at(now_ms), end_offset, cause)
        self.records.extend(resumed)

    def rebuild(self, stored: Mapping[str, Group[Any]]) -> Steps[None]:
        for from_offset in self.stream.replay_offsets():
            self._rebuild_replay = self.start_rebuild(from_offset)
            yield from self.stream.replay_to(self._rebuild_replay.apply, from_offset)
            if self._rebuild_replay.knows(stored):
                break

    def serve(self, key: str, state: Group[Any] | None, now_ms: int) -> None:
        at_ms = self._wall.at(now_ms)
        self.records.extend(self.resume_rebuilt(self._rebuild_replay, key, state, at_ms, Cause.INVARIANT_VIOLATED))

    # ---- records that no event causes (`ProjectionWrite`)

    def add_snapshots(self, groups: Mapping[str, Group[Any]], now_ms: int) -> None:
        """Add the next snapshots of a checkpoint."""
        self.records.extend(self.write_snapshots(groups, self._wall.at(now_ms)))

    def add_commits(
        self,
        groups: Mapping[str, Group[Any]],
        group_ids: Sequence[str],
        now_ms: int,
        interval_ms: int,
        first_log_offset: int,
        last_log_offset: int,
    ) -> None:
        """Add the reports of the offset commits of these groups in an interval."""
        at_ms = self._wall.at(now_ms)
        self.records.extend(
            self.write_commits(groups, group_ids, at_ms, interval_ms, first_log_offset, last_log_offset)
        )

    def add_about_coordinator(self, event: CoordinatorEvent, now_ms: int) -> None:
        """Add an event about the coordinator itself."""
        self.records.append(self.write_about_coordinator(event, self._wall.at(now_ms)))

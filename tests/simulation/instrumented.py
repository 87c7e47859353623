"""The product's server with its twins beside it: whatever happens to a shard, they learn of it."""

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Any, Final

from coordinator.audit.resume import AuditReplay
from coordinator.audit.schema import OffsetsCommitted, decode_event
from coordinator.audit.schema import Record as AuditRecord
from coordinator.audit.world import Cluster
from coordinator.broker.partitions import LEADER_EPOCH
from coordinator.core.causes import Cause
from coordinator.core.classic.describe import described
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.event import Event
from coordinator.core.groups.event import GroupEvent
from coordinator.core.groups.group import Group
from coordinator.core.groups.states import GroupState
from coordinator.core.offsets.events import OffsetsCommitted as CommitEvent
from coordinator.core.offsets.records import CommittedOffset
from coordinator.core.stored import Stored
from coordinator.groups.audit_checkpoints import AuditCheckpoints
from coordinator.groups.audit_projection import AuditProjection
from coordinator.groups.audit_stream import AuditStream
from coordinator.groups.offsets_stream import OffsetsStream
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.logger import logger, raised_of
from coordinator.runtime.interfaces import Replay, StoreError
from coordinator.runtime.slices import Steps, at_once
from coordinator.runtime.store import LogStore
from coordinator.wall_time import WallTime
from tests.model.memory_files import ProcessKilled
from tests.model.stored_log import stored_in
from tests.simulation.audit_reader import decoded
from tests.simulation.twins import InjectedDefect, ShardTwins

CHECKPOINT_RECORDS: Final = 20
MEMBERS_AT_ONCE: Final = 2
"""So few that checkpoints are frequent and take several turns."""
"""So few that much happens to the other groups of a partition while one is rebuilt."""


class InstrumentedStore(LogStore):
    """The product's store; its twins learn what is in the logs."""

    def __init__(
        self,
        offsets: PartitionLog,
        audit: AuditStream,
        twins: ShardTwins,
        appended: Callable[[PartitionLog], None],
        **settings: Any,
    ) -> None:
        super().__init__(OffsetsStream(offsets, LEADER_EPOCH), audit, appended=appended, **settings)
        self._offsets, self._audit = offsets, audit.log
        self._twins = twins

    def _append(self, projected: Sequence[Any], stored: Sequence[Stored], now_ms: int) -> StoreError | None:
        audit = list(projected)
        audit_end, stored_end = self._audit.log_end_offset, self._offsets.log_end_offset
        try:
            return super()._append(projected, stored, now_ms)
        except ProcessKilled:
            self._twins.in_flight = (list(stored), audit)
            raise
        finally:
            was_audited = self._audit.log_end_offset > audit_end
            was_stored = self._offsets.log_end_offset > stored_end
            assert was_audited or not audit or not was_stored, "stored, but not audited"
            if not self._twins.in_flight[0] and not self._twins.in_flight[1]:
                self._twins.appended(list(stored) if was_stored else [], audit if was_audited else [])

    def replay(self, replay: Replay, from_offset: int = 0) -> Steps[None]:
        if from_offset == 0:
            try:
                self._twins.found_stored(stored_in(self._offsets))
            except OSError as problem:
                raise StoreError(str(problem)) from problem
        return super().replay(replay, from_offset)


class InstrumentedStream(AuditStream):
    """The product's stream of the audit; its twins learn what is in the topic."""

    def __init__(
        self, log: PartitionLog, checkpoints: AuditCheckpoints, twins: ShardTwins, *, is_lingering: bool
    ) -> None:
        super().__init__(log, LEADER_EPOCH, checkpoints=checkpoints, is_lingering=is_lingering)
        self._twins = twins

    def replay(self, from_offset: int) -> Iterator[list[AuditRecord]]:
        """The twins see the whole topic, wherever the product reads from."""
        start = self.log.log_start_offset
        found = [record for records in super().replay(start) for record in records]
        self._twins.found_audited(found, start)
        return super().replay(from_offset)


class InstrumentedAudit(AuditProjection):
    """The product's audit; its twins see every event, and the groups of every load."""

    def __init__(self, stream: AuditStream, wall: WallTime, twins: ShardTwins, cluster: Cluster) -> None:
        super().__init__(
            stream,
            wall,
            node_id=1,
            checkpoint_records=CHECKPOINT_RECORDS,
            members_at_once=MEMBERS_AT_ONCE,
            cluster=cluster,
        )
        self._twins = twins

    def project(self, event: Event, group: Group, state_before: GroupState, generation_before: int) -> None:
        assert isinstance(event, GroupEvent), event
        self._twins.happened(event)
        super().project(event, group, state_before, generation_before)
        members, state = group.membership, self.groups.get(event.key)
        if not isinstance(members, ClassicGroup) or members.rebalance_reason is not None:
            pass  # DescribeGroups shows no consumer group; and a rebalance follows at once
        elif state is not None and state.seq:
            self._twins.shows(event.key, state.seq, decoded(described(members)))
        self._twins.break_invariant(event.key)

    def project_commit(
        self, group_id: str, member_id: str, offsets: Mapping[str, Mapping[int, CommittedOffset]], at_ms: int
    ) -> None:
        self._twins.happened(CommitEvent(group_id=group_id, at_ms=at_ms, offsets=offsets, member_id=member_id))
        super().project_commit(group_id, member_id, offsets, at_ms)
        self._twins.seen["steady commit"] += 1
        self._twins.break_invariant(group_id)

    def discard(self, group_id: str, count: int) -> None:
        self._twins.discarded(group_id)
        super().discard(group_id, count)

    def resume_rebuilt(
        self, replay: AuditReplay, group_id: str, group: Group[Any] | None, now_ms: int, cause: Cause
    ) -> list[AuditRecord]:
        self._twins.rebuilt(group_id, group)
        return super().resume_rebuilt(replay, group_id, group, now_ms, cause)

    def resume(
        self, groups: Mapping[str, Group[Any]], now_ms: int, end_offset: int, cause: Cause | None = None
    ) -> Generator[None, None, list[AuditRecord]]:
        self._check_replay(groups)
        records = yield from super().resume(groups, now_ms, end_offset, cause)
        self._twins.loaded(groups)
        return records

    def _check_replay(self, groups: Mapping[str, Group[Any]]) -> None:
        """Wherever the product began to read, it knows of each group what the whole history says."""
        self._twins.seen[
            "replay from a checkpoint" if self.replay.starts_at_checkpoint else "replay of a whole topic"
        ] += 1
        whole = AuditReplay(0)
        for start, end in pairwise([*self._twins.audit_batches, len(self._twins.audited)]):
            at_once(whole.apply(self._twins.audited[start:end]))
        for group_id, group in groups.items():
            expected, found = whole.cursors.get(group_id), self.replay.cursors.get(group_id)
            if expected is None or expected.state is GroupState.DEAD:
                assert found is None or found.state is GroupState.DEAD, group_id
                continue
            assert found is not None, group_id
            assert (found.seq, found.created_seq) == (expected.seq, expected.created_seq), group_id
            assert found.agrees_with(group) == expected.agrees_with(group), group_id
            if not self._twins.power_was_ever_lost:
                assert found.void_from(group) == expected.void_from(group), group_id

    def write_snapshots(self, groups: Mapping[str, Group[Any]], now_ms: int) -> list[AuditRecord]:
        before = self.checkpoint_offset
        records = super().write_snapshots(groups, now_ms)
        self._twins.seen["slice of a checkpoint"] += 1
        self._twins.seen["checkpoint"] += self.checkpoint_offset != before
        return records

    def write_commits(
        self,
        groups: Mapping[str, Group[Any]],
        group_ids: Iterable[str],
        now_ms: int,
        interval_ms: int,
        first_log_offset: int,
        last_log_offset: int,
    ) -> list[AuditRecord]:
        bounds = (interval_ms, first_log_offset, last_log_offset)
        records = super().write_commits(groups, group_ids, now_ms, *bounds)
        for _, value, _ in records:
            event = decode_event(value)
            assert isinstance(event, OffsetsCommitted)
            assert (event.commits, event.partitions) == self._twins.committed.pop(event.group_id)
        return records


class Defects:
    """Takes the exceptions that the product catches and logs, but those that the history asked for."""

    def __init__(self, defects: list[BaseException]) -> None:
        self._defects = defects

    def is_enabled_for(self, level: int) -> bool:
        return level >= logging.ERROR

    def write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        if level == "error" and "exc_info" in fields:
            raised = raised_of(fields["exc_info"])
            assert raised is not None
            if not isinstance(raised, InjectedDefect):
                self._defects.append(raised)


def defects_of(defects: list[BaseException]) -> AbstractContextManager[None]:
    """Within the block, exceptions that the product catches and logs are put into the list; other lines are dropped."""
    return logger.lines_to(Defects(defects))

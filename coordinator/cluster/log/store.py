"""The store of a shard whose logs are two partitions of the cluster: that of the audit, and that of the groups.

A load begins by taking over: from its fences on, this node is the only one that can append. It reads up to them.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any, Final

import msgspec

from coordinator.audit.schema import LeadershipTaken, Record
from coordinator.cluster.log.access import LogAccess, ProducerIdentity, Refused
from coordinator.cluster.log.cluster_log import NO_IDENTITY, ClusterLog, LogRefused
from coordinator.cluster.log.notes import Notes, Owner, checkpoint_record, fence_record
from coordinator.core.stored import Stored, StoredRecord
from coordinator.core.stored_batch import StoredBatch
from coordinator.logger import logger
from coordinator.runtime.interfaces import Replay, ReplayedLog, StoreError
from coordinator.runtime.slices import Steps, awaited
from coordinator.runtime.waiting_steps import WaitingSteps
from coordinator.wall_time import WallTime

RENEWAL_MS: Final = 6 * 3_600_000
"""How often a node takes a new producer epoch, and so writes to each partition that it leads. Brokers forget the epochs
of a partition without appends after a day (`producer.id.expiration.ms`), and the transaction coordinator a
transactional id after seven (`transactional.id.expiration.ms`)."""


class Queued(msgspec.Struct, frozen=True):
    """Something to be written, after all that was queued before it."""

    steps: Callable[[], Steps[None]]
    completed: Callable[[StoreError | None], None]


class ClusterStore:
    """Appends each batch to the audit first, then to the groups' log, each acknowledged before the next is sent.

    So the audit may have events of a batch that then fails, but it never lacks events that are stored.
    """

    def __init__(
        self,
        access: LogAccess,
        groups: ClusterLog,
        audit: ClusterLog,
        owner: Owner,
        *,
        transactional_id: str,
        audit_record: Callable[[LeadershipTaken], Record],
        may_lead: Callable[[], bool],
        fenced: Callable[[], None],
        now_ms: Callable[[], int],
        wall: WallTime,
        load_bytes: int,
        audit_compression: str = "none",
        appended: Callable[[float], None] = lambda ms: None,
    ) -> None:
        """`may_lead` is asked before the partition is taken over; `fenced` is called when another node has done so.

        `audit_record` makes the record that a takeover writes to the audit. `appended` is told how long each append
        took, in ms.
        """
        self._access = access
        self._groups = groups
        self._audit = audit
        self._owner = owner
        self._transactional_id = transactional_id
        self._audit_record = audit_record
        self._may_lead = may_lead
        self._fenced = fenced
        self._now_ms = now_ms
        self._wall = wall
        self._load_bytes = load_bytes
        self._audit_compression = audit_compression
        self._appended = appended
        self._identity = NO_IDENTITY
        self._next_identity: ProducerIdentity | None = None
        """A new epoch, whose first batch is the next one with records of the audit."""
        self._renewed_ms = 0
        self.notes: Notes = Notes()
        """What nodes have left for each other, since the last load."""
        self._queue: deque[Queued] = deque()
        self._running: WaitingSteps | None = None

    # ---- what a shard asks

    @property
    def batch_bytes_max(self) -> int:
        return self._groups.config.max_message_bytes

    @property
    def end_offset(self) -> int:
        return self._groups.log_end_offset

    def append(
        self,
        projected: Sequence[Any],
        stored: Sequence[Stored],
        now_ms: int,
        completed: Callable[[StoreError | None], None],
    ) -> None:
        at_ms = now_ms + self._wall.step_ms
        self._enqueue(Queued(partial(self._append, projected, stored, at_ms), completed))

    def prepare(self) -> Steps[None]:
        """Take the partition over. Raises StoreError: this node may not lead it, or the cluster refuses."""
        for completed in self.abandon():
            completed(StoreError(f"{self._groups.name}: the partition is loaded again"))
        yield from self._fence_previous_leader()

    def replay(self, replay: Replay[ReplayedLog], from_offset: int = 0) -> Steps[None]:
        """Apply what is stored, up to the fences of this node.

        Producers of other ids, as there are after a transactional id expired, are fenced when the log shows them.
        """
        notes = Notes() if from_offset == 0 else self.notes
        offset = max(from_offset, self._groups.log_start_offset)
        while True:
            end_offset = self._groups.log_end_offset
            yield from replay.read(notes.watching(self._groups), offset, self._load_bytes)
            offset = end_offset
            foreign = notes.to_fence(self._identity.producer_id)
            if not foreign:
                self.notes = notes
                return
            for identity in foreign:
                yield from self._fence(identity)

    def leave_note(self, record: StoredRecord, completed: Callable[[StoreError | None], None] | None = None) -> None:
        """Append a note, after what is queued, and apply it. `completed` is called as that of `append`."""

        def steps() -> Steps[None]:
            yield from self._groups.append([record], self._wall.at(self._now_ms()))
            self.notes.apply(*record)

        self._enqueue(Queued(steps, completed or _ignore))

    def note_audit_checkpoint(self, offset: int) -> None:
        """Leave a note for the next load."""
        self.notes.audit_checkpoint = offset
        self.leave_note(checkpoint_record(offset))

    @property
    def is_idle(self) -> bool:
        """Whether all that was asked for is acknowledged."""
        return self._running is None

    # ---- renewal

    def renew_if_due(self, begun: Callable[[LeadershipTaken], None]) -> None:
        """Get a new epoch if that is due; `begun` is told of it, and has to have this event appended to the audit.

        That append is the first batch of the epoch. The event is the projection's to write, as it counts its records.
        """
        before = self._identity
        if before is NO_IDENTITY or self._now_ms() - self._renewed_ms < RENEWAL_MS:
            return
        self._renewed_ms = self._now_ms()

        def given(identity: ProducerIdentity | Refused) -> None:
            if isinstance(identity, Refused):
                logger.warning("no new producer epoch", log=self._groups.name, problem=identity.problem)
            elif self._identity is before:
                self._next_identity = identity
                begun(self._leadership(identity, self._wall.at(self._now_ms())))

        self._access.init_producer_id(self._transactional_id, given)

    def abandon(self) -> list[Callable[[StoreError | None], None]]:
        """Write nothing more, as the partition is given up. Returns who waits for what was asked for."""
        running, self._running = self._running, None
        if running is not None:
            running.cancel()
        given_up = [queued.completed for queued in self._queue]
        self._queue.clear()
        self._identity, self._next_identity = NO_IDENTITY, None
        self._groups.abandon()
        self._audit.abandon()
        return given_up

    # ---- writing

    def _append(self, projected: Sequence[Record], stored: Sequence[Stored], at_ms: int) -> Steps[None]:
        began = perf_counter()
        if projected:
            renewed, self._next_identity = self._next_identity, None
            if renewed is not None:
                self._audit.use(renewed)
            yield from self._audit.append(projected, at_ms, self._audit_compression)
            if renewed is not None:
                yield from self._groups.begin(renewed, fence_record(renewed.producer_id, self._owner), at_ms)
                self._identity = renewed
        for batch in stored:
            assert isinstance(batch, StoredBatch) and batch.producer is None, "committed offsets are in the cluster"
            yield from self._groups.append(batch.records, at_ms)
        self._appended((perf_counter() - began) * 1000)

    def _fence_previous_leader(self) -> Steps[None]:
        """Both logs get a batch of a new epoch, after which no other node can append to them."""
        self._check_may_lead()
        identity: ProducerIdentity | Refused = yield from awaited(
            partial(self._access.init_producer_id, self._transactional_id)
        )
        if isinstance(identity, Refused):
            raise StoreError(f"{self._groups.name}: no producer epoch: {identity.problem}")
        self._check_may_lead()
        at_ms = self._wall.at(self._now_ms())
        yield from self._audit.begin(identity, self._audit_record(self._leadership(identity, at_ms)), at_ms)
        yield from self._groups.begin(identity, fence_record(identity.producer_id, self._owner), at_ms)
        for log in (self._audit, self._groups):
            yield from log.learn_start()
        self._identity, self._renewed_ms = identity, self._now_ms()

    def _leadership(self, identity: ProducerIdentity, at_ms: int) -> LeadershipTaken:
        return LeadershipTaken(
            time_ms=at_ms,
            node_id=self._owner.node_id,
            coordinator_epoch=self._owner.coordinator_epoch,
            partition=self._groups.partition,
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
        )

    def _fence(self, identity: ProducerIdentity) -> Steps[None]:
        """Refuse what another producer id may still send. It is known from the groups' log, and writes to both."""
        at_ms = self._wall.at(self._now_ms())
        yield from self._audit.fence(identity, self._audit_record(self._leadership(self._identity, at_ms)), at_ms)
        yield from self._groups.fence(identity, fence_record(identity.producer_id, self._owner), at_ms)

    def _check_may_lead(self) -> None:
        if not self._may_lead():
            raise StoreError(f"{self._groups.name}: this node does not lead the partition now")

    # ---- one after the other

    def _enqueue(self, queued: Queued) -> None:
        self._queue.append(queued)
        if self._running is None:
            self._run_next()

    def _run_next(self) -> None:
        if self._queue:
            self._running = WaitingSteps(self._queue[0].steps(), self._go_on)
            self._go_on()

    def _go_on(self) -> None:
        running = self._running
        if running is None:
            return
        problem: StoreError | None = None
        try:
            if not running.run(_never):
                return
        except StoreError as failure:
            problem = failure
        if running is not self._running:
            return  # the partition was given up by what the end of the append has caused
        self._running = None
        queued = self._queue.popleft()
        if isinstance(problem, LogRefused) and problem.is_fenced:
            self._fenced()
        queued.completed(problem)
        if self._running is None:
            self._run_next()


def _never() -> bool:
    return False


def _ignore(problem: StoreError | None) -> None:
    """A note that is lost costs the next load some time."""

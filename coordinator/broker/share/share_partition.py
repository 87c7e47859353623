"""A share partition: the records of a partition that a share group has in flight, and what is stored of them.

Counterpart in Kafka: `SharePartition`. A state is stored before it counts; the end of a lock counts at once, and is
stored after the fact.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from _wire.errors import ErrorCode, MalformedMessage
from coordinator.broker.share.acquisition import AcquisitionLimits, acquire
from coordinator.broker.share.fetched_batches import FetchedBatches
from coordinator.broker.share.in_flight import InFlightWindow
from coordinator.broker.share.partition_core import SharePartitionCore
from coordinator.broker.share.pieces import ACQUIRED, AVAILABLE
from coordinator.broker.share.record_counts import DISCONNECTED, RecordCounts
from coordinator.broker.share.release import NOT_ACQUIRED, acknowledge, complete, expire, release
from coordinator.broker.share.settings import EARLIEST, LATEST, RecordSettings
from coordinator.broker.share.share_partition_parts import Phase, ShareKey, SharePartitionParts
from coordinator.broker.share.share_states import BY_STRATEGY, Acquired, PartitionState, StateBatch
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.timestamps import offset_for_timestamp
from coordinator.logger import logger
from coordinator.runtime.pauses import in_steps
from coordinator.runtime.slices import Steps, at_once

if TYPE_CHECKING:
    from coordinator.broker.share.waiting import WaitingFetches

BATCHES_AT_ONCE: Final = 500
"""Acknowledgement batches of a request that are looked at in one step."""
RECORDS_AT_ONCE: Final = 4000
"""Records with types of their own that are looked at in one step, and changes that are completed in one."""

ENDED_ONE_BY_ONE: Final = 50
"""Locks that end together and are stored one by one, as Kafka stores all. The others are stored together."""

ERROR_OF_COORDINATOR: Final = {
    ErrorCode.NONE: ErrorCode.NONE,
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.GROUP_ID_NOT_FOUND: ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}
"""Error of the share coordinator → that of the client; any other is UNKNOWN_SERVER_ERROR."""
FENCING: Final = frozenset(
    {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
)
"""Errors after which what is in memory is given up: the next fetch reads what is stored."""


class SharePartition(SharePartitionCore):
    """One of them. `fenced` is called when what is in memory no longer holds; `waiting` are the fetches to wake."""

    def __init__(
        self,
        key: ShareKey,
        log: PartitionLog,
        parts: SharePartitionParts,
        fenced: "Callable[[SharePartition], None]",
        waiting: "WaitingFetches",
    ) -> None:
        super().__init__(key, log, parts, waiting)
        self._fenced: Final = fenced
        self.locks_ended = 0
        """Records whose locks have ended since it was loaded."""
        self._start_seen: tuple[int, int] | None = None
        """The start offset at the last look, and since when it had been seen there (wall clock)."""

    @property
    def settings(self) -> RecordSettings:
        return self._parts.settings.of(self.key.group_id)

    def standing_since_ms(self, wall_ms: int) -> int | None:
        """Since when each look at the start offset has found it where it is; None: the record there is done."""
        first = self.window.first_record()
        if self.phase is not Phase.ACTIVE or first is None or first[0] not in (AVAILABLE, ACQUIRED):
            self._start_seen = None
            return None
        if self._start_seen is None or self._start_seen[0] != self.window.start_offset:
            self._start_seen = self.window.start_offset, wall_ms
        return self._start_seen[1]

    # ------------------------------------------------------------------------------------------------------------ load

    def load(self) -> Steps[ErrorCode]:
        """Read what is stored of it; then it is active, or could not be loaded because of the error."""
        key = self.key
        found = yield from self._parts.states.read(key.group_id, key.topic_id, key.partition, self._leader_epoch)
        if isinstance(found, ErrorCode):
            error = ERROR_OF_COORDINATOR.get(found, UNKNOWN)
        else:
            error = yield from self._begin(found)
        if self.phase is Phase.LOADING:
            self.phase = Phase.ACTIVE if error is ErrorCode.NONE else Phase.GONE
            self.load_error = error
        return self.load_error

    def _begin(self, stored: PartitionState) -> Steps[ErrorCode]:
        start_offset: int | None = stored.start_offset
        if start_offset == BY_STRATEGY:
            try:
                start_offset = yield from self._start_by_strategy()
            except (OSError, MalformedMessage) as problem:
                self._parts.partitions.cannot_read(self.log, problem)
                return ErrorCode.KAFKA_STORAGE_ERROR
            if start_offset is None:
                return ErrorCode.OFFSET_NOT_AVAILABLE
        assert start_offset is not None
        try:
            self.window = InFlightWindow(start_offset, stored.batches)
        except ValueError as problem:
            logger.error("the stored state of a share partition is invalid", log=self.log.name, problem=str(problem))
            return UNKNOWN
        self._state_epoch = stored.state_epoch
        return ErrorCode.NONE

    def _start_by_strategy(self) -> Steps[int | None]:
        """Where the first fetch begins (`share.auto.offset.reset`); None: there is no such record yet.

        Raises:
            MalformedMessage: a batch of the log is damaged.
            OSError: the log cannot be read.
        """
        log, reset = self.log, self.settings.offset_reset
        if reset == LATEST:
            return log.high_watermark
        if reset == EARLIEST:
            return log.log_start_offset
        assert isinstance(reset, int)
        found = yield from in_steps(partial(offset_for_timestamp, log, max(self._parts.wall_ms() - reset, 0)))
        return None if found is None or found.offset >= log.high_watermark else found.offset

    def drop(self) -> None:
        """Nothing is acquired of it any more, and locks do not end."""
        self.phase = Phase.GONE
        self.stop_timer()

    # ----------------------------------------------------------------------------------------------------------- fetch

    def acquire(
        self,
        member: str,
        settings: RecordSettings,
        most: tuple[int, int, bool],
        fetch_offset: int,
        read: FetchedBatches,
        aborted: Sequence[tuple[int, int]],
    ) -> tuple[list[Acquired], int]:
        """Acquire records of what was read; `most` are max_records, batch_size, and whether it is a record limit."""
        if self.phase is not Phase.ACTIVE:
            return [], 0
        limits = AcquisitionLimits(*most, settings.delivery_count_limit, settings.record_locks_max)
        deadline_ms = self._parts.now_ms() + settings.lock_duration_ms
        acquired = acquire(self.window, member, limits, fetch_offset, read, deadline_ms, aborted)
        self.arm_timer()
        if acquired[0]:
            self.tally.of(member).deliver(acquired[0])
        return acquired

    def was_read(self, fetch_offset: int, read: FetchedBatches, target: int) -> None:
        """Batches were read from an offset on, for records up to `target`, and what could be acquired of them was."""
        self.reading.was_read(fetch_offset, read, target, self.window.next_fetch_offset())

    def out_of_range(self) -> None:
        """The log begins after the fetch offset: what lies before cannot be read any more."""
        if self.phase is Phase.ACTIVE:
            self.window.move_start(self.log.log_start_offset)

    # ----------------------------------------------------------------------------------------------------- acknowledge

    def acknowledge(
        self, member: str, batches: list[Any], counts: RecordCounts | None = None
    ) -> Steps[list[StateBatch] | ErrorCode]:
        """Change the states of the records of `batches` (AcknowledgementBatch); what is returned is to be stored.

        One batch that is wrong undoes all. `store` makes the changes count; until then nobody else sees them.
        """
        changes: list[StateBatch] = []
        settings = self.settings
        renewed_until_ms = self._parts.now_ms() + settings.lock_duration_ms if settings.may_renew else None
        limit = settings.delivery_count_limit
        for number, some in enumerate(_in_parts(batches)):
            if number:
                yield
            if self.phase is Phase.GONE:
                return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            problem = acknowledge(self.window, member, some, changes, limit, renewed_until_ms, counts)
            if problem:
                if problem == NOT_ACQUIRED:
                    self.tally.of(member).late += 1
                complete(self.window, changes, False, self._parts.now_ms(), limit)
                self.arm_timer()
                return ErrorCode.INVALID_RECORD_STATE if problem == NOT_ACQUIRED else ErrorCode.INVALID_REQUEST
        self.arm_timer()
        return changes

    def release(self, member: str, done: Callable[[ErrorCode], None], ended_by: int = DISCONNECTED) -> None:
        """Make available what a member has acquired; `done` is called when that is stored.

        `ended_by` tells why: CLOSED or DISCONNECTED (`record_counts`).
        """
        if self.phase is not Phase.ACTIVE:
            done(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return
        counts = RecordCounts()
        changes = release(self.window, member, self.settings.delivery_count_limit, counts, ended_by)
        self.store(changes, done, (member, counts))

    def store(
        self,
        changes: list[StateBatch],
        done: Callable[[ErrorCode], None],
        counted: tuple[str, RecordCounts] | None = None,
    ) -> None:
        """Store changes, and let them count or undo them; then `done` gets the error of the client.

        What is `counted` of a member is told if they are stored.
        """

        if changes:
            self.write(changes, partial(self.answered, changes, done, counted))
        else:
            self._completed(done, counted, ErrorCode.NONE)

    def answered(
        self,
        changes: list[StateBatch],
        done: Callable[[ErrorCode], None],
        counted: tuple[str, RecordCounts] | None,
        answer: ErrorCode,
    ) -> None:
        """The share coordinator has answered: the changes count, or are undone."""
        completed = partial(self._completed, done, counted)

        def failed(problem: Exception) -> None:
            logger.error("unhandled exception while a share partition is stored", problem=repr(problem))
            completed(UNKNOWN)

        steps = self._complete(changes, ERROR_OF_COORDINATOR.get(answer, UNKNOWN))
        if len(changes) <= RECORDS_AT_ONCE:
            try:
                outcome = at_once(steps)
            except Exception as problem:
                # A defect must not keep the share coordinator from answering other requests.
                failed(problem)
                return
            completed(outcome)
        else:
            self._parts.slices.start(steps, completed, failed)

    def _completed(
        self, done: Callable[[ErrorCode], None], counted: tuple[str, RecordCounts] | None, error: ErrorCode
    ) -> None:
        if error in FENCING:
            self._fenced(self)
        elif error is ErrorCode.NONE and counted is not None:
            member, counts = counted
            self.tally.of(member).add(counts)
            self._parts.tallies.total.add(counts)
        done(error)

    def _complete(self, changes: list[StateBatch], error: ErrorCode) -> Steps[ErrorCode]:
        now_ms, limit = self._parts.now_ms(), self.settings.delivery_count_limit
        for start in range(0, len(changes), RECORDS_AT_ONCE):
            if start:
                yield
            some = changes[start : start + RECORDS_AT_ONCE] if len(changes) > RECORDS_AT_ONCE else changes
            complete(self.window, some, error is ErrorCode.NONE, now_ms, limit)
        if self.phase is Phase.ACTIVE:
            self.arm_timer()
            if self.window.advance():
                self.waiting.wake(self)
        return error

    # ----------------------------------------------------------------------------------------------------------- locks

    def due(self, now_ms: int) -> None:
        """The earliest lock may have ended."""
        self.timer_fired()
        if self.phase is not Phase.ACTIVE:
            return
        limit, most, has_ended = self.settings.delivery_count_limit, 1, False
        for number in range(ENDED_ONE_BY_ONE + 1):
            if number == ENDED_ONE_BY_ONE:
                most = self.window.record_count + 1
            changes = expire(self.window, now_ms, limit, most, self.tally.of)
            if not changes:
                break
            has_ended = True
            self.locks_ended += sum([last - first + 1 for first, last, _, _ in changes])
            self.write(changes, self._expiry_stored)
        self.arm_timer()
        if has_ended:
            self.waiting.wake(self)

    def _expiry_stored(self, answer: ErrorCode) -> None:
        """That it could not be stored costs the delivery counts of a restart; the records are available either way."""
        if self.phase is Phase.ACTIVE:
            self.window.advance()


class _Part(NamedTuple):
    """A part of an acknowledgement batch that has very many types."""

    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


def _in_parts(batches: list[Any]) -> Iterator[list[Any]]:
    """The batches, as many at a time as are looked at in one step."""
    for start in range(0, len(batches), BATCHES_AT_ONCE):
        some: list[Any] = []
        for batch in batches[start : start + BATCHES_AT_ONCE] if start or len(batches) > BATCHES_AT_ONCE else batches:
            types = batch.acknowledge_types
            if len(types) <= RECORDS_AT_ONCE:
                some.append(batch)
                continue
            if some:
                yield some
                some = []
            for first in range(0, len(types), RECORDS_AT_ONCE):
                part = types[first : first + RECORDS_AT_ONCE]
                offset = batch.first_offset + first
                yield [_Part(offset, offset + len(part) - 1, part)]
        if some:
            yield some


UNKNOWN: Final = ErrorCode.UNKNOWN_SERVER_ERROR

"""Transactional producers: those that consume, transform and produce, and those that only write and commit offsets."""

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from _wire.errors import ErrorCode
from _wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from _wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from _wire.messages.end_txn import EndTxnRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from _wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from coordinator.core.topic_partition import TopicPartition
from tests.simulation.acknowledged import TRANSACTION_TIMEOUT_MS, Consumed, Transaction
from tests.simulation.calls import LOST
from tests.simulation.clients import Client
from tests.simulation.consumers import OUTPUT, SPARE, TRANSFERS, partitions_of
from tests.simulation.programs import TRANSIENT, Program, Steps, produce_request, produced
from tests.simulation.readers import FETCH_VERSION, READ_COMMITTED, fetch_request, visible_records

if TYPE_CHECKING:
    from tests.simulation.record_traffic import RecordTraffic

NOBODY: Final = 4
"""A commit of offsets by a producer whose group does not know it, of so many."""
ABORTS: Final = 3
"""An abort in place of a commit, of so many transactions."""
TRIES: Final = 3
RECORDS_AT_ONCE: Final = 3


class Versions:
    """Those of a client whose transactions have epochs of their own (KIP-890), or of an older one."""

    def __init__(self, *, bumps_epoch: bool) -> None:
        self.bumps_epoch = bumps_epoch
        self.produce = 12 if bumps_epoch else 9
        self.commit_offsets = 5 if bumps_epoch else 3
        self.end = 5 if bumps_epoch else 3
        self.initialize = 5 if bumps_epoch else 4


class TransactionalClient(Program):
    """The producer of a member of a group. Several members, or processes, may have the same transactional id."""

    def __init__(self, harness: "RecordTraffic", client: Client, transactional_id: str) -> None:
        self.client = client
        self.transactional_id = transactional_id
        self.versions = Versions(bumps_epoch=client.setup.bumps_epoch)
        self.acknowledged = harness.acknowledged
        self.producer_id = self.epoch = -1
        self.sequences: Counter[TopicPartition] = Counter()
        self.is_in_transaction = False
        """Whether it has read records, and has not come to the end of what it makes of them."""
        self.member: tuple[int, str, str | None] = (-1, "", None)
        """As which it has read the positions that it goes on from."""
        super().__init__(harness, f"{client.name}-{transactional_id}")

    @property
    def is_transfer(self) -> bool:
        """Whether the group commits its offsets only here, with what was made of the records before them."""
        return self.client.group_id == TRANSFERS

    def run(self) -> Steps[None]:
        while True:
            yield from self._initialize()
            positions: dict[TopicPartition, tuple[int, int]] = {}
            while (yield from self._transact(positions)):
                self.is_in_transaction = False
                yield None
            self.is_in_transaction = False

    def _initialize(self) -> Steps[None]:
        """Begin again. The transaction before is aborted, whatever it has."""
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS
        )
        while True:
            self.acknowledged.initialization_sent(self.transactional_id)
            response = yield from self.ask(request, self.versions.initialize)
            if response is not LOST and response.error_code == ErrorCode.NONE:
                break
            assert response is LOST or ErrorCode(response.error_code) in TRANSIENT, response
            yield None
        self.producer_id, self.epoch = response.producer_id, response.producer_epoch
        self.sequences.clear()
        self.acknowledged.initialized(self.transactional_id, self.producer_id, self.epoch)

    def _transact(self, positions: dict[TopicPartition, tuple[int, int]]) -> Steps[bool]:
        """One transaction; False if the producer has to begin again."""
        client, member = self.client, self.client.assigned_as
        if member != self.member:  # others may have gone on meanwhile with what was theirs
            self.member = member
            positions.clear()
        self.is_in_transaction = True
        read = (yield from self._read(positions)) if self.is_transfer else None
        if self.is_transfer and not read:
            return True
        transaction = self.acknowledged.begin(
            Transaction(client.name, self.transactional_id, self.producer_id, self.epoch, self.harness.server.now_ms)
        )
        is_alive = yield from self._write(transaction, read or [])
        commits = is_alive and self.value % ABORTS != 1
        if is_alive and (read or self.value % 2):
            is_alive, is_accepted = yield from self._commit_offsets(transaction, member, read or [])
            commits &= is_accepted or not self.is_transfer
        if not is_alive:
            return False
        is_over = yield from self._end(transaction, commits=commits)
        if not commits:
            positions.clear()
        return is_over

    # ---- reading

    def _read(self, positions: dict[TopicPartition, tuple[int, int]]) -> Steps[list[tuple[Consumed, list[bytes]]]]:
        """Some committed records of a partition that the member owns."""
        assigned = sorted(partitions_of(self.client.assigned))
        if not assigned or self.client.member_id == "":
            return []
        tp = assigned[self.value % len(assigned)]
        if tp not in positions:
            position = yield from self._position(tp)
            if position is None:
                return []
            positions[tp] = position
        offset, run = positions[tp]
        response = yield from self.ask(fetch_request(tp, offset, READ_COMMITTED), FETCH_VERSION)
        if response is LOST:
            return []
        ((partition,),) = (topic.partitions for topic in response.responses)
        if partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and offset < self.harness.log(tp).log_start_offset:
            self.acknowledged.began_again(self.client.group_id, [tp])
            positions[tp] = self.harness.log(tp).log_start_offset, self.acknowledged.runs[self.client.group_id, tp]
            return []
        if partition.error_code != ErrorCode.NONE:
            return []
        records, end = visible_records(partition, offset)
        records = records[:RECORDS_AT_ONCE]
        if not records:
            return []
        if len(records) == RECORDS_AT_ONCE:
            end = records[-1][0] + 1
        positions[tp] = end, run
        return [(Consumed(self.client.group_id, tp, run, offset, end), [value for _, value in records])]

    def _position(self, tp: TopicPartition) -> Steps[tuple[int, int] | None]:
        """Where the group goes on reading, once no transaction is open that may change it."""
        topics = [OffsetFetchRequestTopics(name=tp.topic, partition_indexes=[tp.partition])]
        group = OffsetFetchRequestGroup(group_id=self.client.group_id, member_id=None, topics=topics)
        response = yield from self.ask(OffsetFetchRequest(groups=[group], require_stable=True), 9)
        if response is LOST or response.groups[0].error_code != ErrorCode.NONE:
            return None
        ((partition,),) = (topic.partitions for topic in response.groups[0].topics)
        self.harness.seen[f"answer OffsetFetch partition {ErrorCode(partition.error_code).name}"] += 1
        if partition.error_code != ErrorCode.NONE:
            return None
        run = self.acknowledged.runs[self.client.group_id, tp]
        return max(partition.committed_offset, 0), run

    # ---- writing

    def _write(self, transaction: Transaction, read: list[tuple[Consumed, list[bytes]]]) -> Steps[bool]:
        values = [value for _, found in read for value in found] or [b"new"]
        for number, value in enumerate(values):
            topic = OUTPUT if read or (self.value + number) % 3 else SPARE
            tp = TopicPartition(topic, (self.value + number) % 2)
            self.harness.values += 1
            made = b"%s:%d:%s" % (self.name.encode(), self.harness.values, value)
            if not (yield from self._produce(transaction, tp, made)):
                return False
        return True

    def _produce(self, transaction: Transaction, tp: TopicPartition, value: bytes) -> Steps[bool]:
        if not self.versions.bumps_epoch and not (yield from self._add(tp)):
            return False
        request = produce_request(
            tp,
            value,
            self.harness.server.wall_ms,
            producer_id=self.producer_id,
            epoch=self.epoch,
            sequence=self.sequences[tp],
            transactional_id=self.transactional_id,
        )
        for _ in range(TRIES):
            transaction.uncertain.append((tp, value))
            error, offset = produced((yield from self.ask(request, self.versions.produce)))
            self.harness.seen[f"answer Produce in a transaction {error.name}"] += 1
            if error is ErrorCode.NONE:
                self.sequences[tp] += 1
                if tp.topic != SPARE:  # which may be deleted at any time
                    self.acknowledged.appended_in(transaction, tp, offset, value)
                return True
            if error not in TRANSIENT and error is not ErrorCode.REQUEST_TIMED_OUT:
                break
            yield None
        return False

    def _add(self, tp: TopicPartition) -> Steps[bool]:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=tp.topic, partitions=[tp.partition])],
        )
        for _ in range(TRIES):
            response = yield from self.ask(request, 3)
            if response is not LOST:
                error = ErrorCode(
                    response.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
                )
                if error not in TRANSIENT:
                    return error is ErrorCode.NONE
            yield None
        return False

    def _commit_offsets(
        self,
        transaction: Transaction,
        member: tuple[int, str, str | None],
        read: list[tuple[Consumed, list[bytes]]],
    ) -> Steps[tuple[bool, bool]]:
        """Whether the transaction can go on, and whether the offsets are part of it."""
        offsets = {each.tp: each.end for each, _ in read} or self.harness.next_offsets(self.client)
        if not self.versions.bumps_epoch:
            added = yield from self.ask_until_answered(
                AddOffsetsToTxnRequest(
                    transactional_id=self.transactional_id,
                    producer_id=self.producer_id,
                    producer_epoch=self.epoch,
                    group_id=self.client.group_id,
                ),
                3,
            )
            if added.error_code != ErrorCode.NONE:
                return False, False
        generation_id, member_id, instance_id = member
        if not self.is_transfer and self.value % NOBODY == 1:
            generation_id, member_id, instance_id = -1, "", None
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=self.client.group_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            generation_id=generation_id,
            member_id=member_id,
            group_instance_id=instance_id,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=tp.topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=tp.partition, committed_offset=offset, committed_metadata=f"x{offset}"
                        )
                    ],
                )
                for tp, offset in offsets.items()
            ],
        )
        for _ in range(TRIES):
            response = yield from self.ask(request, self.versions.commit_offsets)
            if response is not LOST:
                error = ErrorCode(response.topics[0].partitions[0].error_code)
                self.harness.seen[f"answer TxnOffsetCommit {error.name}"] += 1
                if error is ErrorCode.NONE:
                    transaction.consumed += [each for each, _ in read]
                    return True, True
                if error not in TRANSIENT:
                    return True, False
            yield None
        return False, False

    # ---- the end

    def _end(self, transaction: Transaction, *, commits: bool) -> Steps[bool]:
        """Ask until it is answered; False if the producer was fenced meanwhile."""
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commits,
        )
        transaction.asked = commits
        is_certain = True
        for _ in range(2 * TRIES):
            response: Any = yield from self.ask(request, self.versions.end)
            error = ErrorCode.REQUEST_TIMED_OUT if response is LOST else ErrorCode(response.error_code)
            self.harness.seen[f"answer EndTxn {error.name}"] += 1
            if error is ErrorCode.NONE:
                transaction.decide(commits)
                if self.versions.bumps_epoch:
                    self.harness.seen["a producer id changed"] += response.producer_id != self.producer_id
                    self.producer_id, self.epoch = response.producer_id, response.producer_epoch
                    self.sequences.clear()
                return True
            is_certain &= error is ErrorCode.CONCURRENT_TRANSACTIONS
            if error is not ErrorCode.REQUEST_TIMED_OUT and error not in TRANSIENT:
                if is_certain:
                    transaction.decide(False)
                return False
            yield None
        return False

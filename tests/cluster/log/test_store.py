"""A partition that several nodes want to write: who may, what is read, and what is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from _wire.batch_reader import parse_batch
from coordinator.audit.coordinator_events import coordinator_record
from coordinator.audit.schema import LeadershipTaken
from coordinator.cluster.log.access import ProducerIdentity, Refused
from coordinator.cluster.log.cluster_log import ClusterLog
from coordinator.cluster.log.notes import EPOCH_MAX, Owner, Rule, owned_record, rule_record
from coordinator.cluster.log.store import RENEWAL_MS, ClusterStore
from coordinator.cluster.log.writer import PartitionWriter
from coordinator.core.kinds.stored import StoredGroups
from coordinator.core.stored_batch import StoredBatch
from coordinator.groups.offsets_stream import GroupReplay
from coordinator.internal_topics import AUDIT_TOPIC, MEMBERSHIP_TOPIC
from coordinator.log.config import LogConfig
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.waiting_steps import WaitingSteps
from coordinator.wall_time import ONE_CLOCK
from tests.cluster.model_log import ModelAccess, ModelCluster

PARTITION = 3
TRANSACTIONAL_ID = "test-3"
AUDIT_RECORD = (b"g", b'{"kind":"x"}', ())


class Node:
    """One node, which may lead the partition as long as `may_lead`."""

    def __init__(self, cluster: ModelCluster, node_id: int, config: LogConfig | None = None) -> None:
        self.may_lead = True
        self.fences = 0
        self.now_ms = 1_000
        self.held: list[Callable[[], None]] | None = None
        """The calls that are held back, while that is no None."""
        access = ModelAccess(cluster, self._deliver)
        config = config or LogConfig()
        self.groups_log = ClusterLog(access, MEMBERSHIP_TOPIC, PARTITION, config)
        self.audit_log = ClusterLog(access, AUDIT_TOPIC, PARTITION, config)
        self.store = ClusterStore(
            access,
            self.groups_log,
            self.audit_log,
            Owner(node_id=node_id, coordinator_epoch=1),
            transactional_id=TRANSACTIONAL_ID,
            audit_record=lambda taken: coordinator_record(taken, taken.time_ms),
            may_lead=lambda: self.may_lead,
            fenced=self._fenced,
            now_ms=lambda: self.now_ms,
            wall=ONE_CLOCK,
            load_bytes=1 << 20,
        )

    def _deliver(self, call: Callable[[], None]) -> None:
        if self.held is None:
            call()
        else:
            self.held.append(call)

    def _fenced(self) -> None:
        self.fences += 1

    def run(self, steps: Any) -> None:
        """Take steps to their end. Raises what they raise."""
        work = WaitingSteps(steps, lambda: None)
        while not work.run(lambda: False):
            assert not work.is_waiting, "it waits for an answer that was held back"

    def lead(self) -> StoredGroups:
        """Take the partition over, and read it."""
        self.run(self.store.prepare())
        groups = StoredGroups()
        self.run(self.store.replay(GroupReplay(groups)))
        return groups

    def append(self, *keys: bytes, audit: bool = False) -> list[StoreError | None]:
        """Append a record for each key; the list gets the result when it is known."""
        results: list[StoreError | None] = []
        stored = [StoredBatch(None, [(b"\x00\x63" + key, b"v") for key in keys])] if keys else []
        self.store.append([AUDIT_RECORD] if audit else [], stored, self.now_ms, results.append)
        return results


@pytest.fixture
def cluster() -> ModelCluster:
    return ModelCluster()


def keys_of(cluster: ModelCluster, topic: str) -> list[bytes | None]:
    return [record.key for _, batch in cluster.partition(topic, PARTITION).batches for record in parse_batch(batch)[1]]


def test_a_takeover_writes_a_fence_to_both_logs_before_anything_is_read(cluster: ModelCluster) -> None:
    node = Node(cluster, 1)
    node.lead()
    for topic in (MEMBERSHIP_TOPIC, AUDIT_TOPIC):
        assert cluster.partition(topic, PARTITION).producers[100].epoch == 0, topic
        assert len(cluster.partition(topic, PARTITION).batches) == 1, topic


def test_the_node_before_is_refused_after_the_fence_of_the_next_one(cluster: ModelCluster) -> None:
    first, second = Node(cluster, 1), Node(cluster, 2)
    first.lead()
    assert first.append(b"a") == [None]
    second.lead()
    (problem,) = first.append(b"late")
    assert isinstance(problem, StoreError)
    assert "INVALID_PRODUCER_EPOCH" in str(problem)
    assert first.fences == 1
    assert b"\x00\x63late" not in keys_of(cluster, MEMBERSHIP_TOPIC)
    assert second.append(b"b") == [None]


def test_the_audit_of_the_node_before_is_refused_too(cluster: ModelCluster) -> None:
    first, second = Node(cluster, 1), Node(cluster, 2)
    first.lead()
    second.lead()
    assert isinstance(first.append(audit=True)[0], StoreError)


def test_what_the_node_before_sent_and_arrives_before_the_fence_is_read(cluster: ModelCluster) -> None:
    first, second = Node(cluster, 1), Node(cluster, 2)
    first.lead()
    first.held = []
    results = first.append(b"in flight")
    (sent,) = first.held
    sent()
    second.lead()
    assert results == [None]
    assert second.store.end_offset == cluster.partition(MEMBERSHIP_TOPIC, PARTITION).end_offset
    assert b"\x00\x63in flight" in keys_of(cluster, MEMBERSHIP_TOPIC)


def test_a_producer_id_of_before_an_expired_transactional_id_is_fenced(cluster: ModelCluster) -> None:
    first, second = Node(cluster, 1), Node(cluster, 2)
    first.lead()
    first.append(b"a")
    cluster.forget_transactional_id(TRANSACTIONAL_ID)
    second.lead()
    assert second.store.end_offset == cluster.partition(MEMBERSHIP_TOPIC, PARTITION).end_offset
    (problem,) = first.append(b"late")
    assert isinstance(problem, StoreError)
    assert b"\x00\x63late" not in keys_of(cluster, MEMBERSHIP_TOPIC)


def test_a_producer_id_is_fenced_once(cluster: ModelCluster) -> None:
    Node(cluster, 1).lead()
    cluster.forget_transactional_id(TRANSACTIONAL_ID)
    second = Node(cluster, 2)
    second.lead()
    batches = len(cluster.partition(MEMBERSHIP_TOPIC, PARTITION).batches)
    Node(cluster, 3).lead()
    assert len(cluster.partition(MEMBERSHIP_TOPIC, PARTITION).batches) == batches + 1


def test_a_fence_that_another_node_has_written_already_moves_no_end_back(cluster: ModelCluster) -> None:
    """It is answered as a duplicate of the first one. The number of an event is that of its place in the audit."""
    first, second, third = (Node(cluster, number) for number in (1, 2, 3))
    first.lead()
    cluster.forget_transactional_id(TRANSACTIONAL_ID)
    second.run(second.store.prepare())
    fenced = ProducerIdentity(100, EPOCH_MAX)
    second.run(second.audit_log.fence(fenced, (b"", b"", ()), 1_000))  # and then it stands still
    third.lead()
    assert third.audit_log.log_end_offset == cluster.partition(AUDIT_TOPIC, PARTITION).end_offset


def test_a_producer_id_is_fenced_that_has_written_nothing_but_its_own_fence(cluster: ModelCluster) -> None:
    first, second = Node(cluster, 1), Node(cluster, 2)
    first.lead()
    cluster.forget_transactional_id(TRANSACTIONAL_ID)
    second.lead()
    assert isinstance(first.append(b"late")[0], StoreError)
    assert b"\x00\x63late" not in keys_of(cluster, MEMBERSHIP_TOPIC)


def test_a_producer_id_of_before_an_expired_transactional_id_is_fenced_in_the_audit(cluster: ModelCluster) -> None:
    first, second = Node(cluster, 1), Node(cluster, 2)
    first.lead()
    cluster.forget_transactional_id(TRANSACTIONAL_ID)
    second.lead()
    assert isinstance(first.append(audit=True)[0], StoreError)
    assert b"g" not in keys_of(cluster, AUDIT_TOPIC)


def test_an_epoch_that_was_given_out_before_the_transactional_id_expired_is_fenced(cluster: ModelCluster) -> None:
    Node(cluster, 1).lead()
    late = PartitionWriter(cluster.init_producer_id(TRANSACTIONAL_ID))
    cluster.forget_transactional_id(TRANSACTIONAL_ID)
    Node(cluster, 2).lead()
    (fence,) = late.build([(b"late", b"v")], 1_000, 1 << 20)
    assert isinstance(cluster.partition(MEMBERSHIP_TOPIC, PARTITION).append(fence.data), Refused)


def test_a_node_that_may_not_lead_takes_nothing_over(cluster: ModelCluster) -> None:
    node = Node(cluster, 1)
    node.may_lead = False
    with pytest.raises(StoreError, match="does not lead"):
        node.lead()
    assert not cluster.partitions


def test_a_node_that_may_lead_no_more_when_it_has_its_epoch_writes_no_fence(cluster: ModelCluster) -> None:
    node = Node(cluster, 1)
    node.held = []
    work = WaitingSteps(node.store.prepare(), lambda: None)
    assert not work.run(lambda: False)
    node.may_lead = False
    node.held.pop()()
    with pytest.raises(StoreError, match="does not lead"):
        work.run(lambda: False)
    assert not cluster.partitions


def test_the_audit_is_acknowledged_before_the_groups_are_written(cluster: ModelCluster) -> None:
    node = Node(cluster, 1)
    node.lead()
    node.held = []
    results = node.append(b"a", audit=True)
    assert len(node.held) == 1
    node.held.pop()()
    assert len(node.held) == 1
    assert keys_of(cluster, AUDIT_TOPIC)[-1] == b"g"
    assert b"\x00\x63a" not in keys_of(cluster, MEMBERSHIP_TOPIC)
    assert results == []
    node.held.pop()()
    assert results == [None]


def test_appends_that_come_while_one_is_sent_follow_in_their_order(cluster: ModelCluster) -> None:
    node = Node(cluster, 1)
    node.lead()
    node.held = []
    first, second = node.append(b"1"), node.append(b"2")
    assert len(node.held) == 1
    node.held.pop()()
    assert (first, second) == ([None], [])
    node.held.pop()()
    assert second == [None]
    assert keys_of(cluster, MEMBERSHIP_TOPIC)[-2:] == [b"\x00\x631", b"\x00\x632"]


def test_what_is_too_large_for_one_batch_takes_several(cluster: ModelCluster) -> None:
    node = Node(cluster, 1, LogConfig(max_message_bytes=200))
    node.lead()
    before = len(cluster.partition(AUDIT_TOPIC, PARTITION).batches)
    results: list[StoreError | None] = []
    node.store.append([AUDIT_RECORD] * 20, [], node.now_ms, results.append)
    batches = [batch for _, batch in cluster.partition(AUDIT_TOPIC, PARTITION).batches[before:]]
    assert results == [None]
    assert len(batches) > 1
    assert all(len(batch) <= 200 for batch in batches)
    assert node.audit_log.log_end_offset == cluster.partition(AUDIT_TOPIC, PARTITION).end_offset


def test_a_new_epoch_is_taken_before_brokers_forget_the_old_one(cluster: ModelCluster) -> None:
    node = Node(cluster, 1)
    node.lead()
    begun: list[LeadershipTaken] = []
    node.store.renew_if_due(begun.append)
    assert not begun, "it is not due"
    node.now_ms += RENEWAL_MS
    node.store.renew_if_due(begun.append)
    (taken,) = begun
    assert (taken.producer_id, taken.producer_epoch) == (100, 1)
    assert node.append(b"before the first batch of the epoch") == [None]
    assert node.append(audit=True) == [None]
    for topic in (MEMBERSHIP_TOPIC, AUDIT_TOPIC):
        assert cluster.partition(topic, PARTITION).producers[100].epoch == 1, topic
    assert node.append(b"a", audit=True) == [None]
    node.store.renew_if_due(begun.append)
    assert len(begun) == 1


def test_an_epoch_that_comes_when_another_node_leads_is_not_used(cluster: ModelCluster) -> None:
    node = Node(cluster, 1)
    node.lead()
    node.now_ms += RENEWAL_MS
    node.held = []
    begun: list[LeadershipTaken] = []
    node.store.renew_if_due(begun.append)
    node.store.abandon()
    node.held.pop()()
    assert not begun


def test_notes_are_read_by_the_next_node(cluster: ModelCluster) -> None:
    first = Node(cluster, 1)
    first.lead()
    rule = Rule(is_adopted=True, at_ms=5, by="User:ops")
    for record in (rule_record("web-*", rule), owned_record("web-1", 7), owned_record("web-2", 8)):
        first.store.leave_note(record)
    first.store.leave_note(owned_record("web-2", None))
    first.store.note_audit_checkpoint(17)
    second = Node(cluster, 2)
    second.lead()
    for notes in (first.store.notes, second.store.notes):
        assert notes.rules == {"web-*": rule}
        assert notes.owned == {"web-1"}
        assert notes.audit_checkpoint == 17


def test_a_partition_that_is_given_up_tells_who_waits(cluster: ModelCluster) -> None:
    node = Node(cluster, 1)
    node.lead()
    node.held = []
    results: list[StoreError | None] = []
    node.store.leave_note(owned_record("g", 1), results.append)
    for completed in node.store.abandon():
        completed(StoreError("given up"))
    assert [str(result) for result in results] == ["given up"]
    for call in node.held:
        call()
    assert len(results) == 1


def test_sequence_numbers_wrap_as_kafkas_do() -> None:
    writer = PartitionWriter(ProducerIdentity(1, 0))
    writer._next_sequence = (1 << 31) - 1
    (built,) = writer.build([(b"a", b"1"), (b"b", b"2")], 1, 1_000)
    header, _ = parse_batch(built.data)
    assert header.base_sequence == (1 << 31) - 1
    (built,) = writer.build([(b"c", b"3")], 1, 1_000)
    assert parse_batch(built.data)[0].base_sequence == 1

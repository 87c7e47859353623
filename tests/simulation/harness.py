"""Runs the steps of histories: an instrumented server, its clients, and the invariants after each step."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Final

from _wire.messages.delete_groups import DeleteGroupsRequest
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from _wire.messages.sync_group import SyncGroupRequestAssignment
from _wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from coordinator.core.groups.states import GroupState
from coordinator.core.stored import Producer, TransactionMarker
from coordinator.core.topic_partition import TopicPartition
from tests.model.memory_files import ProcessKilled
from tests.simulation import invariants
from tests.simulation.clients import Client, Phase
from tests.simulation.consumers import PARTITIONS, PROTOCOLS, SUBSCRIPTIONS, assignment, partitions_of
from tests.simulation.extremes import EXTREMES, message_of, set_number
from tests.simulation.history import Step
from tests.simulation.instrumented import RECORD_BATCH_BYTES_MAX, config_of
from tests.simulation.server import unanswered
from tests.simulation.traffic import Traffic

COMMIT_VERSION: Final = 8
RETENTION_VERSION: Final = 4
NOBODY: Final = "nobody"
PRODUCERS: Final = 2
"""So few that several clients write in one transaction, and several transactions to one partition."""


TOO_MANY_PARTITIONS: Final = RECORD_BATCH_BYTES_MAX // 20


class Harness(Traffic):
    """Plays steps. Each public method of a client and a `value` is a kind of step; none fails for want of a client in
    the right state, so that any step can be left out of a history."""

    def play(self, step: Step) -> None:
        self.seen[f"step {step.kind}"] += 1
        kind: Callable[[Client, int], None] = getattr(self, step.kind)
        with self._surviving_death():
            kind(self.clients[step.who % len(self.clients)], step.value)
            if self.batch_left and step.kind != "batch":
                self.batch_left -= 1
            if not self.batch_left:
                self.server.is_batching = False
                self.server.end_iteration()
        self.raise_defects()
        if not self.server.is_batching:
            invariants.check(self)

    @contextmanager
    def _surviving_death(self) -> Iterator[None]:
        try:
            yield
        except ProcessKilled:
            self.seen["server died while writing"] += 1
            self._start_again()

    def raise_defects(self) -> None:
        """What the product caught and logged as its own defect is one for us too."""
        if self.defects:
            raise self.defects[0]

    # ---- clients

    def act(self, client: Client, value: int) -> None:
        """The client reads what came, and sends what a good client sends next."""
        if client.deaf_until_ms > self.server.now_ms:
            return
        client.read_answers()
        if client.under_way and client.last is not None and client.last.response is not None:
            self.close(client)  # what came again was answered; the answer to the first need not come
        if client.under_way:
            return
        if client.is_fenced:
            client.start()
        self.send(client, *client.next_message())

    def everybody(self, client: Client, value: int) -> None:
        """All clients act, `client` first."""
        first = self.clients.index(client)
        for each in self.clients[first:] + self.clients[:first]:
            self.act(each, 0)

    def heartbeat(self, client: Client, value: int) -> None:
        """One that says something wrong (`value`: what), or by who is no member yet, or beside a request under way."""
        message = client.heartbeat_message()
        if value in (1, 2):
            message.generation_id += (-1, 1)[value - 1]
        elif value == 3:
            message.group_instance_id = None if client.instance_id else "static-other"
        elif value == 4:
            message.member_id = NOBODY
        elif value == 5:
            group = self.group(client.group_id).membership
            message.generation_id = group.generation_id
            message.member_id = next(iter(group.pending_members), client.member_id)
        self.send(None, "Heartbeat", message, 4)

    def sync(self, client: Client, value: int) -> None:
        """One that says something wrong, or comes again, or with assignments of somebody who is no leader, or with one
        that no record batch holds (5)."""
        if value == 5:
            # Of a leader that has not assigned yet, if there is one: its group alone takes assignments.
            client = next(filter(self._is_about_to_assign, self.clients), client)
        message = client.sync_message()
        if value in (1, 2):
            message.generation_id += (-1, 1)[value - 1]
            message.assignments = []
        elif value == 5:
            assignment_bytes = bytes(RECORD_BATCH_BYTES_MAX)
            message.assignments = [SyncGroupRequestAssignment(member_id=client.member_id, assignment=assignment_bytes)]
        elif value == 3:
            message.protocol_name = "other"
        elif value == 4 and not message.assignments:
            everything = tuple(TopicPartition("t", index) for index in range(PARTITIONS["t"]))
            message.assignments = [
                SyncGroupRequestAssignment(member_id=each.member_id, assignment=assignment(everything))
                for each in self.clients
                if each.member_id
            ]
        self.send_beside(client, "SyncGroup", message, 5)

    def _is_about_to_assign(self, client: Client) -> bool:
        client.read_answers()
        group = self.group(client.group_id).membership
        return group.state is GroupState.COMPLETING_REBALANCE and group.leader == client.member_id

    def join(self, client: Client, value: int) -> None:
        """One that nothing asked for, or that says something wrong."""
        message, version = client.join_message(), client.setup.join_version
        if value == 1:
            message.member_id = ""
        elif value == 2:
            message.member_id = NOBODY
        elif value == 3:
            message.session_timeout_ms = 1
        elif value == 4:
            message.protocols = []
        elif value == 5 and client.instance_id is None:
            version = 0
        self.send_beside(client, "JoinGroup", message, version)

    def again(self, client: Client, value: int) -> None:
        """What the client sent last, once more on a second connection; the first one stays open."""
        if client.last is not None:
            self.send(client, client.last.api, client.last.message, client.last.version)

    def commit(self, client: Client, value: int) -> None:
        """A commit of the client (0), with a wrong generation (1), of nobody (2), with a long text (3), with a
        retention (4), of so many partitions that no record batch holds them (5)."""
        client.read_answers()
        if client.under_way:
            return
        message = self._commit_message(client)
        if value == 1:
            message.generation_id_or_member_epoch += 1
        elif value == 2:
            message.generation_id_or_member_epoch, message.member_id, message.group_instance_id = -1, "", None
        elif value == 3:
            message.topics[0].partitions[0].committed_metadata = "far too long"
        elif value == 4:
            message.retention_time_ms = 60_000
        elif value == 5:
            message.topics[0].partitions = [
                OffsetCommitRequestPartition(partition_index=index, committed_offset=self.commits)
                for index in range(TOO_MANY_PARTITIONS)
            ]
        self.send(client, "OffsetCommit", message, RETENTION_VERSION if value == 4 else COMMIT_VERSION)

    def _commit_message(self, client: Client) -> OffsetCommitRequest:
        """One that a member may send, of two of its partitions at most."""
        self.commits += 1
        owned = sorted(partitions_of(client.assigned)) or [TopicPartition("t", 0)]
        partitions: dict[str, list[OffsetCommitRequestPartition]] = {}
        for topic, index in owned[:2]:
            partition = OffsetCommitRequestPartition(partition_index=index, committed_offset=self.commits)
            partition.committed_metadata = f"m{self.commits}"
            partitions.setdefault(topic, []).append(partition)
        return OffsetCommitRequest(
            group_id=client.group_id,
            generation_id_or_member_epoch=client.generation_id,
            member_id=client.member_id,
            group_instance_id=client.instance_id,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=each) for topic, each in partitions.items()],
        )

    def extreme(self, client: Client, value: int) -> None:
        """A request of the client with one number at a limit."""
        client.read_answers()
        if client.under_way:
            return
        field, number = EXTREMES[value % len(EXTREMES)]
        message = message_of(client, field.api, self._commit_message(client))
        set_number(message, field, number)
        sender = None if field.api == "Heartbeat" else client
        self.send(sender, field.api, message, field.version)

    def commit_in_transaction(self, client: Client, value: int) -> None:
        """Positions of the client (0) or of nobody (1) that count when its producer's transaction is committed."""
        generation_id, member_id = (client.generation_id, client.member_id) if value == 0 else (-1, "")
        self.commits += 1
        topics = [
            TxnOffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    TxnOffsetCommitRequestPartition(
                        partition_index=index, committed_offset=self.commits, committed_metadata=f"x{self.commits}"
                    )
                ],
            )
            for topic, index in (sorted(partitions_of(client.assigned)) or [TopicPartition("t", 0)])[:1]
        ]
        producer = self._producer_of(client)
        message = TxnOffsetCommitRequest(
            group_id=client.group_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            generation_id=generation_id,
            member_id=member_id,
            group_instance_id=client.instance_id if member_id else None,
            topics=topics,
        )
        self.send(None, "TxnOffsetCommit", message, 3)

    def end_transaction(self, client: Client, value: int) -> None:
        """The client's producer commits (0) or aborts (1), in the partition of the client's group."""
        marker = TransactionMarker(self._producer_of(client), value == 0, coordinator_epoch=0)
        self.send(None, "complete transaction", marker, 1, group_id=client.group_id)

    def _producer_of(self, client: Client) -> Producer:
        return Producer(1 + self.clients.index(client) % PRODUCERS, 0)

    def delete_offsets(self, client: Client, value: int) -> None:
        """An administrator forgets the group's positions in one topic."""
        name = sorted(PARTITIONS)[value % len(PARTITIONS)]
        partitions = [OffsetDeleteRequestPartition(partition_index=index) for index in range(PARTITIONS[name])]
        topics = [OffsetDeleteRequestTopic(name=name, partitions=partitions)]
        self.send(None, "OffsetDelete", OffsetDeleteRequest(group_id=client.group_id, topics=topics), 0)

    def fetch(self, client: Client, value: int) -> None:
        """All committed offsets of the client's group."""
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=client.group_id, topics=None)])
        self.send(None, "OffsetFetch", request, 8, group_id=client.group_id)

    def leave(self, client: Client, value: int) -> None:
        """The client says goodbye alone (0, 1: in an old version), with others (2), or an administrator says it (3)."""
        if not client.member_id and client.instance_id is None:
            return
        goodbyes = [MemberIdentity(member_id=client.member_id, group_instance_id=client.instance_id)]
        if value == 2:
            others = [each for each in self.clients if each.group_id == client.group_id and each is not client]
            goodbyes += [
                MemberIdentity(member_id=each.member_id, group_instance_id=each.instance_id) for each in others
            ]
            goodbyes.append(goodbyes[0])
        elif value == 3 and client.instance_id is not None:
            goodbyes = [MemberIdentity(member_id="", group_instance_id=client.instance_id)]
        message = LeaveGroupRequest(group_id=client.group_id, member_id=client.member_id, members=goodbyes)
        self.send(None, "LeaveGroup", message, 1 if value == 1 else 5)
        if value != 3:
            self.close(client)
            client.start()

    def crash(self, client: Client, value: int) -> None:
        """The client's process dies; the next time it acts it is a new one."""
        self.close(client)
        client.start()

    def reconnect(self, client: Client, value: int) -> None:
        """The client's connections break; it remembers who it is."""
        self.close(client)

    def stall(self, client: Client, value: int) -> None:
        client.deaf_until_ms = self.server.now_ms + value

    def subscribe(self, client: Client, value: int) -> None:
        """Other topics, and so it joins anew."""
        client.topics = SUBSCRIPTIONS[value % len(SUBSCRIPTIONS)]
        if not client.under_way:
            client.phase = Phase.OUT

    def offer(self, client: Client, value: int) -> None:
        """Other protocols, and so it joins anew."""
        client.protocols = PROTOCOLS[value % len(PROTOCOLS)]
        if not client.under_way:
            client.phase = Phase.OUT

    # ---- administrators

    def delete(self, client: Client, value: int) -> None:
        self.send(
            None, "DeleteGroups", DeleteGroupsRequest(groups_names=[client.group_id]), 2, group_id=client.group_id
        )

    def describe(self, client: Client, value: int) -> None:
        request = DescribeGroupsRequest(groups=[client.group_id])
        self.send(None, "DescribeGroups", request, 6 if value else 5, group_id=client.group_id)

    # ---- time

    def wait(self, client: Client, value: int) -> None:
        self.end_batch()
        self.server.advance(value)

    def wait_for_deadline(self, client: Client, value: int) -> None:
        """Until the next timer is due, or a millisecond before (1) or after (2)."""
        self.end_batch()
        due_ms = self.server.wheel.next_deadline_ms() + (0, -1, 1)[value % 3]
        if due_ms > self.server.now_ms:
            self.server.advance(due_ms - self.server.now_ms)

    def stand_still(self, client: Client, value: int) -> None:
        """The coordinator does nothing for so long."""
        self.end_batch()
        self.server.stand_still(value)

    def batch(self, client: Client, value: int) -> None:
        """The next `value` steps are read in one turn of the loop: drained together, as one batch."""
        self.server.is_batching, self.batch_left = value > 0, value

    # ---- the disk and the server

    def fill_disk(self, client: Client, value: int) -> None:
        """Only `value` bytes more can be written; the write that does not fit is torn. Odd: nothing can be cut off."""
        self.server.disk.bytes_left, self.server.disk.truncate_fails = value, value % 2 == 1

    def break_reads(self, client: Client, value: int) -> None:
        self.server.disk.is_unreadable = True

    def heal(self, client: Client, value: int) -> None:
        self._repair()

    def _repair(self) -> None:
        """The disk and the coordinator have no defect any more."""
        self.server.disk.heal()
        for twins in self.server.twins:
            twins.breaking.clear()

    def break_group(self, client: Client, value: int) -> None:
        """The coordinator has a defect: the client's group breaks an invariant after `value` further events of it."""
        self.server.twins_of(client.group_id).breaking[client.group_id] = value

    def die_writing(self, client: Client, value: int) -> None:
        """The process will die when `value` bytes more are written."""
        self.server.disk.bytes_until_kill = value

    def kill(self, client: Client, value: int) -> None:
        """kill -9 and a new start, with another `group.max.size` if there is a `value`."""
        if value:
            self.server.config = config_of(self.setup._replace(max_size=value))
        self._start_again()

    def lose_power(self, client: Client, value: int) -> None:
        """What was not flushed is gone, but for some; `value` is the seed of how much."""
        random = Random(value)
        self.server.disk.lose_power(lambda size: random.choice((0, size, random.randint(0, size))))
        for twins in self.server.twins:
            twins.power_was_lost = twins.power_was_ever_lost = True
        self._start_again(power_was_lost=True)

    def set_wall_clock(self, client: Client, value: int) -> None:
        for twins in self.server.twins:
            twins.clock_was_set_back |= value < self.server.wall.step_ms
        self.server.set_wall_clock(value)

    def flush(self, client: Client, value: int) -> None:
        if not self.disk_is_faulty:
            self.server.flush()
            for twins in self.server.twins:
                twins.note_flushed()

    def stop(self, client: Client, value: int) -> None:
        """A clean stop and a start that trusts the logs."""
        if not self.disk_is_faulty:
            self.end_batch()
            self.server.stop()
            for twins in self.server.twins:
                twins.note_flushed()
            self._start_again(clean=True)

    def delete_old_audit(self, client: Client, value: int) -> None:
        """What retention does to the audit topic: the next start finds segments before the last checkpoint deleted."""
        if not self.disk_is_faulty:
            self.end_batch()
            self.server.flush()
            for twins in self.server.twins:
                twins.note_flushed()
            self.seen["segment of the audit deleted"] += self.server.delete_old_audit()
            self._start_again()

    @property
    def disk_is_faulty(self) -> bool:
        disk = self.server.disk
        return disk.bytes_left is not None or disk.bytes_until_kill is not None or disk.is_unreadable

    def _start_again(self, *, clean: bool = False, power_was_lost: bool = False) -> None:
        """All connections are gone, and all that was under way on them."""
        self.batch_left = 0
        self.ledger.server_died([each for each in unanswered(self.server.pending).values() if not each.is_closed])
        for client in self.clients:
            client.lose_connections(self.server.now_ms)
        self.newest.clear()
        self.closed.clear()
        self._repair()
        self.server.start(clean=clean)
        for group_id in self.group_ids:
            expired = self.server.twins_of(group_id).expired.pop(group_id, set())
            self.ledger.reload(group_id, self.group(group_id), expired, may_be_lost=power_was_lost)
        self.ledger.undecided = []
        for twins in self.server.twins:
            twins.power_was_lost = False
            twins.came_by.clear()

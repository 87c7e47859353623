"""The end of every history: correct clients must reach Stable; then all stop sending, and nothing may remain."""

import re
from typing import Final

from coordinator.core.consumer.group import NEVER, ConsumerGroup
from coordinator.core.consumer.kind import CONSUMER
from coordinator.core.groups.states import ASSIGNING, GroupState
from coordinator.core.topic_partition import TopicPartition
from tests.simulation import invariants
from tests.simulation.clients import Client, Phase
from tests.simulation.consumer_groups import used_by
from tests.simulation.consumer_members import Owned
from tests.simulation.consumers import PARTITIONS, PROTOCOLS, partitions_of
from tests.simulation.harness import Harness
from tests.simulation.history import Step
from tests.simulation.readers import read_partition
from tests.simulation.record_steps import CHECKED
from tests.simulation.server import unanswered

COMMIT: Final = 11
"""A value of steps at which transactions are committed, in the output topic."""
HEARTBEAT_MS: Final = 1_000
ROUNDS: Final = 120
"""Rounds of heartbeats: long enough for all session and rebalance timeouts."""
SILENCE_MS: Final = 400_000
"""Longer than the new member join timeout, which is the longest timeout of a silent client."""


def play(harness: Harness) -> None:
    harness.play(Step("heal"))
    harness.play(Step("batch", 0, 0))
    everybody_gets_to_work(harness)
    everybody_commits_a_transaction(harness)
    silence_ends_everything(harness)
    transactions_are_whole(harness)
    nothing_is_left(harness)
    transactions_are_whole(harness)


def everybody_gets_to_work(harness: Harness) -> None:
    """Clients that do what good clients do become one Stable group, and each partition has one owner."""
    harness.zombies.clear()
    for client in harness.clients:
        harness.reconnect(client, 0)
        harness.end_program(client)  # one amid a transaction gives up no partition
        client.deaf_until_ms, client.protocols = 0, PROTOCOLS[0]
        if client.modern is None:
            client.phase = Phase.OUT
        else:
            client.modern.dawdles_until_ms = 0
    for _ in range(ROUNDS):
        _good_clients_act(harness)
        if all(_works(harness, group_id) for group_id in harness.group_ids):
            break
    else:
        raise AssertionError("good clients did not get to work")
    for group_id in harness.group_ids:
        _check_shares(harness, group_id)


def _good_clients_act(harness: Harness) -> None:
    """A fenced client stays away: two with the same instance id would replace each other for ever."""
    for client in harness.clients:
        client.read_answers()
        if _waits_for_a_join(harness, client):
            client.phase = Phase.OUT
        if not client.is_fenced:
            harness.act(client, 0)
    harness.play(Step("wait", 0, HEARTBEAT_MS))


def _waits_for_a_join(harness: Harness, client: Client) -> bool:
    """Whether the group has members of the classic protocol alone, and is too large to become a classic group.

    As on Kafka their heartbeats compute no target assignment; somebody has to join.
    """
    group = harness.server.coordinator.shard_of(client.group_id).machine.groups.get(client.group_id)
    if group is None or group.kind is not CONSUMER or client.modern is not None:
        return False
    consumer = group.membership
    return consumer.state is ASSIGNING and consumer.classic_count == len(consumer.members)


def _at_work(harness: Harness, group_id: str) -> list[Client]:
    return [
        client
        for client in harness.clients
        if client.group_id == group_id and not (client.is_fenced or client.is_refused)
    ]


def _works(harness: Harness, group_id: str) -> bool:
    clients = _at_work(harness, group_id)
    group = harness.server.coordinator.shard_of(group_id).machine.groups.get(group_id)
    if group is None or group.membership.state != GroupState.STABLE:
        return not clients
    if group.kind is CONSUMER:
        return _works_as_consumer_group(harness, group.membership, clients)
    return group.membership.members.keys() == {client.member_id for client in clients} and all(
        client.phase is Phase.WORKING and client.generation_id == group.membership.generation_id for client in clients
    )


def _works_as_consumer_group(harness: Harness, group: ConsumerGroup, clients: list[Client]) -> bool:
    """Each client knows what the coordinator lets it use, and the coordinator all topics and subscriptions."""
    topics = harness.server.environment.topics
    is_resolved = group.patterns.keys() == group.pattern_subscribers.keys()
    if not is_resolved or (group.patterns and group.resolved_version < topics.created_version):
        return False
    if group.members and group.checked_version != topics.topics_version:
        return False
    if not all(client.modern is None or client.modern.has_said_all for client in clients):
        return False
    return group.members.keys() == {client.member_id for client in clients} and all(
        client.generation_id == group.members[client.member_id].current.epoch
        and used_by(harness, client) == _assigned(group, client.member_id)
        for client in clients
    )


def _assigned(group: ConsumerGroup, member_id: str) -> Owned:
    assigned = group.members[member_id].current.assigned
    return frozenset((topic_id, index) for topic_id, indexes in assigned.items() for index in indexes)


def _check_shares(harness: Harness, group_id: str) -> None:
    clients = _at_work(harness, group_id)
    group = harness.server.coordinator.shard_of(group_id).machine.groups.get(group_id)
    if group is not None and group.kind is CONSUMER:
        _check_shares_of_consumer_group(harness, group.membership, clients)
        return
    owned = [partition for client in clients for partition in partitions_of(client.assigned)]
    assert len(owned) == len(set(owned)), "a partition has two owners"
    if all(client.instance_id is None for client in clients):
        # A static member that comes back with another subscription takes over its old share, without a rebalance.
        topics = {topic for client in clients for topic in client.topics}
        assert sorted(owned) == sorted((topic, index) for topic in topics for index in range(PARTITIONS[topic]))


def _check_shares_of_consumer_group(harness: Harness, group: ConsumerGroup, clients: list[Client]) -> None:
    """Each partition of each topic that somebody subscribes to has one owner.

    As on Kafka, what a classic leader assigned is the target of a group that was upgraded until the next epoch. If a
    static member changed the protocol before the leader assigned anything, that is nothing. And a member that joins
    with an empty subscription does not change whether all members subscribe to the same: a target that is due then may
    give it partitions, which nobody owns until the next epoch.
    """
    if group.target_computed_ms == NEVER:
        return
    image = harness.server.node.storage.image
    names = {topic for client in clients for topic in client.topics if topic in image.topics}
    patterns = {client.pattern for client in clients if client.modern is not None and client.pattern}
    names |= {topic for topic in image.topics for pattern in patterns if re.fullmatch(pattern, topic)}
    owned = [each for client in clients for each in used_by(harness, client)]
    wanted = [(image.topic_id(name), index) for name in names for index in range(image.partition_count(name))]
    given_to_nobody = {
        (topic_id, index)
        for member_id, member in group.members.items()
        if not member.metadata.topics and not member.metadata.pattern
        for topic_id, indexes in group.target(member_id).items()
        for index in indexes
    }
    unowned = set(wanted) - set(owned)
    assert len(owned) == len(set(owned)), (group.group_id, "no partition has two owners")
    assert set(owned) <= set(wanted), (group.group_id, "what is owned is subscribed to")
    assert unowned == given_to_nobody & set(wanted), (group.group_id, "each partition has one owner")


def everybody_commits_a_transaction(harness: Harness) -> None:
    """Producers that go on come to a transaction that is committed, whatever others have left."""
    if not harness.has_spare_topic:
        harness.play(Step("delete_topic"))
    began = len(harness.acknowledged.transactions)
    at_work = [each for group_id in harness.group_ids for each in _at_work(harness, group_id)]
    # Of those with the same transactional id one: they fence each other.
    left = {each.name: each for each in {each.setup.transactional_id: each for each in at_work}.values()}
    for number in range(ROUNDS):
        harness.plain_producer.step(number // 3)  # a record may take two steps
        for client in left.values():
            harness.transact(client, COMMIT)
        done = {
            transaction.client_name for transaction in harness.acknowledged.transactions[began:] if transaction.outcome
        }
        for name in [name for name, each in left.items() if name in done or not partitions_of(each.assigned)]:
            del left[name]
        if not left:
            return
        _good_clients_act(harness)
    if any(not _has_hanging_transaction(harness, client) for client in left.values()):
        raise AssertionError(f"no committed transaction of {', '.join(left)}")


def _has_hanging_transaction(harness: Harness, client: Client) -> bool:
    """Whether a power loss took the transaction from its coordinator and left its offsets in the group.

    As on Kafka they stay pending until somebody aborts the transaction.
    """
    group = harness.server.coordinator.shard_of(client.group_id).machine.groups.get(client.group_id)
    return harness.acknowledged.was_lost and group is not None and group.offsets.pending is not None


def transactions_are_whole(harness: Harness) -> None:
    """No transaction is open, and readers see exactly what was acknowledged."""
    server, acknowledged = harness.server, harness.acknowledged
    transactions = server.node.data_plane.transactions
    if acknowledged.was_lost:
        return
    assert transactions.counts()[1:3] == (0, 0), "a transaction is open forever, or its markers are being written"
    visible: set[tuple[TopicPartition, bytes]] = set()
    for tp in CHECKED:
        acknowledged.check_read(tp, read_partition(harness, tp, 0), is_committed=False)
        committed = read_partition(harness, tp, 1)
        acknowledged.check_read(tp, committed, is_committed=True)
        log = harness.log(tp)
        assert log.last_stable_offset == log.log_end_offset, f"a transaction is open forever in {tp}"
        visible.update((tp, value) for _, value in committed)
    acknowledged.check_committed(visible)
    for (group_id, tp), end in acknowledged.check_exactly_once(visible).items():
        group = server.coordinator.shard_of(group_id).machine.groups.get(group_id)
        committed_offset = None if group is None else group.offsets.get(tp)
        assert group is None or committed_offset is None or committed_offset.offset == end, (group_id, tp, end)


def silence_ends_everything(harness: Harness) -> None:
    """All clients stop sending: sessions expire, waiting requests are answered, groups become Empty."""
    harness.play(Step("wait", 0, SILENCE_MS))
    for shard in harness.server.coordinator.shards:
        assert shard.is_active
        assert {group.membership.state for group in shard.machine.groups.values()} <= {GroupState.EMPTY}
    assert len(harness.server.sessions) == 0
    coordinator = harness.server.coordinator
    left = len(coordinator.shards) + coordinator.audit.running_timers + harness.server.node.running_timers
    assert harness.server.wheel.pending == left, "only looks at the age of offsets and timers of the audit are left"
    for client in harness.clients:
        harness.crash(client, 0)
    assert not unanswered(harness.server.pending), "a request of a group that is gone"


def nothing_is_left(harness: Harness) -> None:
    for number in range(len(harness.clients)):
        harness.play(Step("delete", number))
    assert all(shard.machine.groups == {} for shard in harness.server.coordinator.shards)
    harness.play(Step("kill"))
    assert all(shard.machine.groups == {} for shard in harness.server.coordinator.shards)
    invariants.check(harness)

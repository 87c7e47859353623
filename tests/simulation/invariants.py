"""What must hold whenever nothing is queued. Each function is one rule and is named in the report of a failure."""

from collections.abc import Collection, Mapping, Set
from typing import TYPE_CHECKING

from coordinator.core.classic.describe import described
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.classic.rebalance import advance, next_deadline_ms
from coordinator.core.consumer.checks import CHECKS
from coordinator.core.consumer.kind import CONSUMER
from coordinator.core.decision import OperationContext
from coordinator.core.groups.states import GroupState
from coordinator.core.offsets.records import CommittedOffset
from coordinator.core.topic_partition import TopicPartition
from coordinator.groups.audit_schedule import audit_of
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.runtime.shard import Shard
from tests.simulation import consumer_groups
from tests.simulation.audit_reader import decoded
from tests.simulation.client_view import Positions, committed_offsets
from tests.simulation.clients import Request
from tests.simulation.consumers import partitions_of
from tests.simulation.server import AUDIT, unanswered
from tests.simulation.twins import session_timeout_ms

if TYPE_CHECKING:
    from tests.simulation.harness import Harness
    from tests.simulation.traffic import Traffic


def check(harness: "Harness") -> None:
    stable_offsets_stop_at_open_transactions(harness)
    if harness.setup.is_durable and not harness.server.loop.is_idle:
        return  # the groups are ahead of what is acknowledged, until a flush has ended
    for shard in harness.server.coordinator.shards:
        if shard.is_active:
            twins_are_equal(harness, shard)
            the_audit_tells_where_groups_are(harness, shard)
            failed_groups_are_rebuilt_in_time(harness, shard)
        else:
            assert shard.machine.groups == {}, "nothing is served before it is loaded"
            assert not shard.failed_keys.by_key, "a load brings all groups back"
        for group in shard.machine.groups.values():
            if group.kind is CONSUMER:
                consumer_groups.check(harness, group)
            else:
                counts_are_what_they_count(group.membership)
                states_say_who_waits(group.membership)
                nothing_more_follows(harness, group.membership)
                every_member_has_a_session_and_nobody_else(harness, group.membership)
            check_offsets(harness, group.group_id, committed_offsets(group))
    what_is_acknowledged_has_a_group(harness)
    who_waits_is_known(harness)
    no_timer_is_lost_or_left(harness)


def twins_are_equal(harness: "Harness", shard: Shard[GroupStateMachine]) -> None:
    """Replaying the events gives the groups; loading their records gives what is durable of them."""
    twins = harness.server.twins[shard.partition]
    assert shard.machine.groups == twins.replayed
    assert shard.machine.groups.keys() == twins.durable.groups.keys() - shard.failed_keys.by_key.keys()
    for group_id, whole in shard.machine.groups.items():
        assert twins.durable.groups[group_id].offsets == whole.offsets, group_id
        stored, group = twins.durable.groups[group_id].membership, whole.membership
        if whole.kind is CONSUMER:
            assert CHECKS.durable_part(stored) == CHECKS.durable_part(group), group_id
        elif group.state in (GroupState.STABLE, GroupState.EMPTY):
            assert durable_part(stored) == durable_part(group), group_id
        assert stored.generation_id <= group.generation_id, group_id


def failed_groups_are_rebuilt_in_time(harness: "Harness", shard: Shard[GroupStateMachine]) -> None:
    """A group that failed is not served, and has a timer until its rebuild begins."""
    for group_id, failed in shard.failed_keys.by_key.items():
        assert group_id not in shard.machine.groups
        assert harness.server.sessions.members(group_id) == []
        assert harness.server.timers.deadline_ms(group_id) == (None if failed.is_due else failed.rebuild_ms), group_id


def durable_part(group: ClassicGroup) -> object:
    members = [
        (
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            member.session_timeout_ms,
            # As on Kafka -1 is read back as the session timeout, for the sake of values without the field.
            member.session_timeout_ms if member.rebalance_timeout_ms == -1 else member.rebalance_timeout_ms,
            member.metadata_for(group.protocol_name),
            member.assignment,
        )
        for member in group.members.values()
    ]
    where = (group.state, group.state_since_ms, group.generation_id, group.leader, group.static_members)
    return *where, group.protocol_type, group.protocol_name, members


def the_audit_tells_where_groups_are(harness: "Harness", shard: Shard[GroupStateMachine]) -> None:
    readers = harness.server.twins[shard.partition].readers
    audit = audit_of(shard)
    if shard.local is not None and shard.local.held:
        return
    assert audit.next_offset == harness.server.logs[AUDIT, shard.partition].log_end_offset
    assert audit.groups.keys() == shard.machine.groups.keys(), "nothing is remembered of a group that is gone"
    live = {group_id for group_id, reader in readers.items() if reader.state != "Dead"}
    assert shard.machine.groups.keys() == live - shard.failed_keys.by_key.keys()
    for group_id, whole in shard.machine.groups.items():
        audited, group = readers[group_id], whole.membership
        assert (audited.state, audited.generation_id) == (group.state, group.generation_id), group_id
        assert audited.members == group.members.keys(), group_id
        assert audited.is_consumer == (whole.kind is CONSUMER), group_id
        if whole.kind is CONSUMER:
            consumer_groups.the_audit_tells_who_may_use_what(harness, group, audited)
            continue
        assert audited.describe() == decoded(described(group)), group_id
        if group.state is GroupState.STABLE:
            owned = {member_id: flat_assignment(member.assignment) for member_id, member in group.members.items()}
            assert {member_id: audited.owned.get(member_id, frozenset()) for member_id in owned} == owned, group_id


def flat_assignment(assignment: bytes) -> frozenset[tuple[str, int]]:
    return frozenset((topic, index) for topic, index in partitions_of(assignment))


def counts_are_what_they_count(group: ClassicGroup) -> None:
    members = group.members.values()
    assert group.awaiting_join_count == sum(member.awaiting_join is not None for member in members)
    counted: dict[str, int] = {}
    for member in members:
        for name in {protocol.name for protocol in member.protocols}:
            counted[name] = counted.get(name, 0) + 1
    assert group.protocol_support == counted
    instances = {member.group_instance_id: member.member_id for member in members if member.group_instance_id}
    assert group.static_members == instances
    assert group.pending_sync <= group.members.keys()
    assert not group.pending_members.keys() & group.members.keys()
    assert (group.leader in group.members) if group.members else group.leader is None


def states_say_who_waits(group: ClassicGroup) -> None:
    members = group.members.values()
    if any(member.awaiting_join is not None for member in members):
        assert group.state is GroupState.PREPARING_REBALANCE
    if any(member.awaiting_sync is not None for member in members):
        assert group.state is GroupState.COMPLETING_REBALANCE
    assert members or group.state in (GroupState.EMPTY, GroupState.PREPARING_REBALANCE)
    assert not members or group.state is not GroupState.EMPTY
    assert (group.rebalance is not None) == (group.state is GroupState.PREPARING_REBALANCE)
    if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
        names = [{protocol.name for protocol in member.protocols} for member in members]
        assert all(group.protocol_name in name for name in names)


def nothing_more_follows(harness: "Harness", group: ClassicGroup) -> None:
    server = harness.server
    assert group.rebalance_reason is None
    context = OperationContext(None, 0, "", "", server.environment, server.now_ms, server.now_ms)
    assert not advance(group, context).events
    rebalance = group.rebalance
    if rebalance is not None and not rebalance.from_empty and not rebalance.completion_deferred:
        waits = [member.awaiting_join is not None for member in group.members.values()]
        assert group.pending_members or not all(waits), "all have joined, and the generation did not start"
    deadline_ms = next_deadline_ms(group)
    assert server.timers.deadline_ms(group.group_id) == deadline_ms
    assert deadline_ms is None or deadline_ms > server.now_ms


def every_member_has_a_session_and_nobody_else(harness: "Harness", group: ClassicGroup) -> None:
    sessions, now_ms, twins = harness.server.sessions, harness.server.now_ms, harness.server.twins_of(group.group_id)
    with_session = sessions.members(group.group_id)
    assert set(with_session) == group.members.keys() | group.pending_members.keys()
    for member_id in with_session:
        deadline_ms, longest_ms = sessions.deadline_ms(group.group_id, member_id), session_timeout_ms(group, member_id)
        member = group.members.get(member_id)
        if member is not None and not member.is_new and (member.awaiting_join or member.awaiting_sync) is not None:
            continue  # it counts as alive, and gets a session of its new length when it is answered
        assert deadline_ms is not None
        assert longest_ms is not None
        until_ms = twins.first_session_until_ms.get((group.group_id, member_id), 0)
        assert now_ms < deadline_ms <= max(now_ms + longest_ms, until_ms), (group.group_id, member_id)


def check_offsets(traffic: "Traffic", group_id: str, found: Mapping[TopicPartition, CommittedOffset]) -> None:
    """What was acknowledged is there, but for what became too old, and nothing else."""
    acknowledged = _still_acknowledged(traffic, group_id, found)
    assert acknowledged.keys() == found.keys(), group_id
    for where, said in acknowledged.items():
        assert said.is_as(found[where]), (group_id, where, said, found[where])


def check_fetched(
    traffic: "Traffic",
    request: Request,
    found: Mapping[TopicPartition, tuple[int, str]],
    unstable: Set[TopicPartition],
) -> None:
    """The same for an answer to OffsetFetch: offset and metadata of each partition that has one.

    Those that an open transaction may change are left out if only stable offsets were requested.
    """
    group_id = request.group_id
    held_back = traffic.ledger.held_back_partitions(group_id) if request.message.require_stable else set()
    assert unstable <= held_back, (group_id, "unstable without an open transaction", unstable - held_back)
    acknowledged = _still_acknowledged(traffic, group_id, found.keys() | unstable)
    expected = {where: (said.offset, said.metadata) for where, said in acknowledged.items() if where not in held_back}
    assert expected == found, group_id


def _still_acknowledged(traffic: "Traffic", group_id: str, found: Collection[TopicPartition]) -> Positions:
    traffic.ledger.expired(group_id, traffic.server.twins_of(group_id).expired.pop(group_id, set()), found)
    return traffic.ledger.acknowledged[group_id]


def what_is_acknowledged_has_a_group(harness: "Harness") -> None:
    for group_id in harness.group_ids:
        shard = harness.server.coordinator.shard_of(group_id)
        if shard.is_active and group_id not in shard.machine.groups and group_id not in shard.failed_keys.by_key:
            check_offsets(harness, group_id, {})


def who_waits_is_known(harness: "Harness") -> None:
    """A request is answered at once or waits in the group, unless a newer one replaced it."""
    pending = unanswered(harness.server.pending)
    waiting = {number: each for number, each in pending.items() if isinstance(each, Request)}
    delayed = {
        request_id
        for shard in harness.server.coordinator.shards
        for group in shard.machine.groups.values()
        for _, _, request_id in group.kind.waiting_requests(group.membership)
    }
    assert delayed <= waiting.keys() | harness.closed, "a request that waits in a group has no receiver"
    for request_id in waiting.keys() - delayed:
        message = waiting[request_id].message
        newest = harness.newest.get((message.group_id, waiting[request_id].api, message.member_id))
        assert newest is not None, f"{waiting[request_id].api} {request_id} was forgotten"
        assert newest is not waiting[request_id], f"{newest.api} {request_id} was forgotten"


def no_timer_is_lost_or_left(harness: "Harness") -> None:
    """Each session has one timer (but for members that wait: they count as alive), each group those its state wants."""
    server = harness.server
    sessions = len(server.sessions)
    wanted, waiting, unloaded = server.coordinator.audit.running_timers + server.node.running_timers, 0, 0
    for shard in server.coordinator.shards:
        wanted += 1  # its next look at the age of offsets, or its next try to load
        unloaded += not shard.is_active
        wanted += sum(not failed.is_due for failed in shard.failed_keys.by_key.values())
        for group in shard.machine.groups.values():
            wanted += group.kind.next_deadline_ms(group.membership) is not None
            if group.kind is CONSUMER:
                continue
            members = group.membership.members.values()
            waiting += sum((member.awaiting_join or member.awaiting_sync) is not None for member in members)
    known = sum(len(server.sessions.members(group_id)) for group_id in harness.group_ids)
    assert known == sessions, "a session of a group that is not there"
    assert sessions - waiting <= server.wheel.pending - wanted <= sessions + unloaded


def stable_offsets_stop_at_open_transactions(harness: "Harness") -> None:
    """No reader of committed records gets past the first record of a transaction that cannot have ended."""
    if harness.acknowledged.was_lost or harness.disk_is_faulty:
        return
    for transaction in harness.acknowledged.open_at(harness.server.now_ms):
        for tp, first_offset in transaction.first_offsets.items():
            stable = harness.log(tp).last_stable_offset
            assert stable is None or stable <= first_offset, (tp, stable, transaction)

"""A simulated run in which every kind of audit event occurs: the examples of docs/audit.md."""

from typing import Any, Final, get_args

from coordinator.audit import schema
from coordinator.core.kinds import operations
from coordinator.core.share_records import EndedRecords, FirstRecord, MemberReport, PartitionReport, RecordsReport
from tests.audit.consumer_stories import named
from tests.audit.stories import Partitions, subscription, sync
from tests.core.consumer.world import World
from tests.core.share.world import ShareWorld
from tests.core.streams.world import NO_TASKS, StreamsWorld, named_world, part, topology
from tests.simulation.simulation import GROUP_ID, SESSION_TIMEOUT_MS, Sent, Simulation

MINUTE_MS: Final = 60_000
DAY_MS: Final = 24 * 60 * MINUTE_MS
IDENTITY: Final[dict[str, Any]] = {"time_ms": 0, "node_id": 1, "coordinator_epoch": 0}


UNSEEN: Final = schema.GroupUnseen(
    group_id="billing",
    seq=48,
    created_seq=1,
    time_ms=1_767_225_640_000,
    node_id=1,
    coordinator_epoch=0,
    generation_id_before=7,
    generation_id=7,
    state_before="Stable",
    state="Stable",
    because="node_away",
    from_ms=1_767_225_626_000,
    until_ms=1_767_225_640_000,
    by_node=2,
)
"""Only nodes that watch a group tell of it."""


def examples() -> dict[str, bytes]:
    """Kind → the last event of that kind, as JSON."""
    sim = Simulation({"offsets.retention.minutes": "60"}, checkpoint_records=40)
    sim.coordinator.announce(schema.CoordinatorStarted(software_version="1.0.0", **IDENTITY))
    sim.end_iteration()
    _consume(sim)
    _restart_in_a_rebalance(sim)
    _fence(sim)
    _administer(sim)
    sim.coordinator.report(
        schema.CoordinatorPaused(from_ms=sim.now_ms - 5_750, until_ms=sim.now_ms, pause_kind="suspended", **IDENTITY)
    )
    sim.coordinator.report(schema.CoordinatorUnavailable(from_ms=sim.now_ms - 4_200, until_ms=sim.now_ms, **IDENTITY))
    sim.coordinator.report(schema.LeadershipTaken(partition=0, producer_id=4_000, producer_epoch=7, **IDENTITY))
    sim.coordinator.report(
        schema.AuthorizationDenied(
            number=1,
            principal="User:alice",
            client_id="billing-1",
            client_host="/10.0.0.1",
            api="JoinGroup",
            operation="READ",
            resource_type="GROUP",
            resource_name="billing",
            rule="DefaultDeny",
            suppressed=41,
            **IDENTITY,
        )
    )
    sim.coordinator.report(
        schema.GroupHeldByCluster(
            group_id="billing",
            members=[schema.MemberRef("billing-1-6d0a5e8e-0b1f-4c7f-8f6a-0c8f3c1f7a11", "billing-1", "/10.0.0.1")],
            since_ms=sim.now_ms - 60_000,
            **IDENTITY,
        )
    )
    sim.coordinator.stop(sim.now_ms, schema.CoordinatorStopped(**IDENTITY))
    watched = {"group.unseen": schema.encode_event(UNSEEN)}
    return (
        watched
        | _last_of_each_kind(_streams_group())
        | _last_of_each_kind(_share_group())
        | _last_of_each_kind(_consumer_group())
        | _last_of_each_kind(sim)
    )


def _last_of_each_kind(sim: Simulation) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for key, value, _ in sim.replay_audit():
        decode = schema.decode_event if key is not None else schema.decode_coordinator_event
        found[str(decode(value).__struct_config__.tag)] = value
    return found


def _consumer_group() -> World:
    """An empty classic group becomes a consumer group; its second member waits for the first one."""
    world = named(World(topics={"orders": 3}))
    (member_id,) = world.stable_with("billing-1")
    world.leave(member_id)
    world.enter("billing-2", pattern="ord.*")
    world.beat("billing-2", 2)
    world.advance(1_000)
    world.enter("billing-3", "orders")
    world.advance(200)
    world.beat("billing-2", 3)
    world.beat("billing-3", 4)
    return world


def _share_group() -> ShareWorld:
    """Records of one member were delivered again, and one of them as often as may be."""
    world = ShareWorld(topics={"orders": 3})
    named(world)
    world.share_enter("billing-1", "orders")
    counts = schema.ShareRecordCounts(
        acquired=1_204, delivered_again=4, accepted=1_200, lock_ended=5, archived=1, late=1
    )
    ended = EndedRecords(4_711, 4_711, 5, "lock_ended", "billing-1")
    first = FirstRecord(world.now_ms - 2 * MINUTE_MS, 4, "billing-1")
    topic_id = world.environment.topics.topic_id("orders")
    partition = PartitionReport(topic_id, 0, counts, 4_712, 500, 12, first, (ended,))
    member = MemberReport("billing-1", counts)
    report = RecordsReport(MINUTE_MS, 30_000, 5, counts, (partition,), 0, (member,), 0)
    world.submit(operations.REPORT_SHARE_RECORDS, GROUP_ID, report, Sent(), "", 0)
    return world


def _streams_group() -> StreamsWorld:
    """A member of an older version waits for the task of another one, the source topic is gone, and all are to end."""
    world = named_world(topics={"orders": 2})
    parts = part("0", "orders", changelogs=["counts-store-changelog"])
    counts = topology(parts, epoch=1)
    world.streams_enter("word-count-1", runs=counts)
    world.advance(100)
    world.streams_beat("word-count-1", 2)
    world.streams_enter("word-count-2", runs=topology(parts, epoch=0))
    world.streams_beat("word-count-1", 3, owned=({"0": [0, 1]}, NO_TASKS))
    world.streams_beat("word-count-2", 4)
    world.fixed.delete("orders")
    world.streams_beat("word-count-1", 3, shuts_down=True)
    return world


def _assign(sim: Simulation, plan: dict[str, Partitions]) -> None:
    leader = sim.group.leader
    for member_id in sorted(sim.group.members, key=lambda each: each != leader):
        instance_id = sim.group.members[member_id].group_instance_id
        metadata = subscription("orders")
        sim.join("again", member_id, metadata=metadata, instance_id=instance_id, version=5)
        sim.advance(40)
    sync(sim, dict(plan))


def _consume(sim: Simulation) -> None:
    """Two consumers; one goes silent, and a third one comes; the generation after that is superseded."""
    sim.join("billing-1", metadata=subscription("orders"), reason="first start")
    (first,) = sim.group.members
    sync(sim, {first: {"t": [0, 1]}})
    sim.join("billing-2", metadata=subscription("orders"))
    second = list(sim.group.members)[1]
    _assign(sim, {first: {"t": [0]}, second: {"t": [1]}})
    sim.commit(first, generation_id=sim.group.generation_id, offset=40)
    for _ in range(4):
        sim.advance(SESSION_TIMEOUT_MS // 4)
        sim.heartbeat(first)
    sim.join("billing-3", metadata=subscription("orders"))
    sim.join("billing-1", first, metadata=subscription("orders"))
    sim.leave(list(sim.group.members)[1])
    _assign(sim, {first: {"t": [0, 1]}})
    sim.advance(MINUTE_MS // 12)


def _restart_in_a_rebalance(sim: Simulation) -> None:
    for _ in range(9):
        for member_id in list(sim.group.members):
            sim.heartbeat(member_id)
        sim.advance(SESSION_TIMEOUT_MS - 1)
    sim.join("billing-4", metadata=subscription("orders"))
    sim.restart()


def _fence(sim: Simulation) -> None:
    with sim.one_turn():
        for member_id in list(sim.group.members):
            sim.leave(member_id)
    for name, topic in (("till-a", "orders"), ("till-b", "refunds")):
        sim.join(name, instance_id="till", version=5, metadata=subscription(topic))
        if name == "till-a":
            (old,) = sim.group.members
            sync(sim, {old: {}})
    sim.heartbeat(old, instance_id="till")


def _administer(sim: Simulation) -> None:
    for member_id in list(sim.group.members):
        sim.leave(member_id, client_id="admin")
    sim.commit(offset=7)
    sim.advance(2 * DAY_MS)
    sim.commit(offset=8)
    sim.delete_group()


def missing() -> set[str]:
    """Kinds without an example."""
    kinds = (*get_args(schema.AnyAuditEvent), *get_args(schema.AnyCoordinatorEvent))
    return {str(kind.__struct_config__.tag) for kind in kinds} - set(examples())

"""Whole nodes, and clients that join a group at the cluster: the audit says so, until they have left."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from _wire.batch_reader import parse_records
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from coordinator.audit.schema import CoordinatorPaused, GroupHeldByCluster, decode_coordinator_event
from coordinator.cluster.brokers.tasks import completed
from coordinator.cluster.held_groups import CHECK_SECONDS
from coordinator.cluster.sentinels.membership import INSTANCE_ID, JOIN_VERSION_MAX, LEAVE_VERSION
from coordinator.core.kinds import operations
from coordinator.core.partitioning import partition_for
from coordinator.internal_topics import AUDIT_TOPIC
from tests.cluster.simulation.cluster import PARTITIONS, TOPIC, Waiting
from tests.cluster.simulation.playing import abandon, seeded
from tests.cluster.simulation.world import World
from tests.simulation.consumers import subscription
from tests.simulation.instrumented import defects_of
from tests.simulation.reproducible import reproducible

GROUP: Final = "a"
SESSION_MS: Final = 1_800_000
"""Longer than a test: the members at the cluster send no heartbeats."""
TAKES_OVER_MS: Final = 20_000
COMMITS_MS: Final = 10_000
PAUSED_MS: Final = 9_000
"""Longer than a lease."""
CHECKED_MS: Final = (CHECK_SECONDS + 5) * 1_000


@pytest.fixture
def world() -> Iterator[World]:
    defects: list[BaseException] = []
    with defects_of(defects), reproducible(), seeded(1):
        world = World(1)
        world.add_node()
        world.run(TAKES_OVER_MS)
        yield world
        abandon(world)
    assert not defects


def ask(world: World, operation: Any, request: Any, client_id: str, version: int, answered_ms: int = 3_000) -> Any:
    """Ask the cluster itself; the answer comes within `answered_ms`."""
    answers: list[Any] = []
    waiting = Waiting(answers.append, lambda error: error)
    world.cluster.groups.submit(operation, GROUP, request, waiting, client_id, version)
    world.run(answered_ms)
    (answer,) = answers
    return answer


def join_at_cluster(world: World, client_id: str) -> None:
    request = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=SESSION_MS,
        group_instance_id=client_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription((TOPIC,)))],
    )
    assert ask(world, operations.JOIN_GROUP, request, client_id, JOIN_VERSION_MAX).error_code == 0


def leave_at_cluster(world: World, instance_id: str) -> None:
    request = LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(group_instance_id=instance_id)])
    assert ask(world, operations.LEAVE_GROUP, request, "admin", LEAVE_VERSION, answered_ms=1).error_code == 0


def told(world: World) -> list[GroupHeldByCluster]:
    return told_of(world, GroupHeldByCluster)


def told_of(world: World, kind: type[Any]) -> list[Any]:
    batches = world.cluster.log.partition(AUDIT_TOPIC, partition_for(GROUP, PARTITIONS)).batches
    records = [record for _, batch in batches for record in parse_records(batch)]
    events = [decode_coordinator_event(record.value or b"") for record in records if record.key is None]
    return [event for event in events if isinstance(event, kind)]


def clients_of(event: GroupHeldByCluster) -> list[str]:
    return [member.client_id for member in event.members]


def test_a_group_that_stays_with_the_cluster_is_told_by_each_node_until_it_is_taken_in(world: World) -> None:
    join_at_cluster(world, "billing-1")
    world.run(2 * CHECKED_MS)
    (first,) = told(world)
    assert (first.node_id, clients_of(first), first.is_owned) == (0, ["billing-1"], False)

    world.nodes[0].kill()
    world.add_node()
    world.run(TAKES_OVER_MS + CHECKED_MS)
    _, again = told(world)
    assert (again.node_id, clients_of(again), again.since_ms) == (1, ["billing-1"], first.since_ms)

    leave_at_cluster(world, "billing-1")
    world.run(3 * CHECKED_MS)
    *_, over = told(world)
    assert (len(told(world)), over.member_count) == (3, 0)
    node = world.nodes[1].node
    assert node is not None
    assert not node.home.ownership.notes_of(partition_for(GROUP, PARTITIONS)).held


def test_a_node_that_was_away_tells_again_what_another_one_may_have_told_otherwise(world: World) -> None:
    join_at_cluster(world, "billing-1")
    world.run(CHECKED_MS)
    assert len(told(world)) == 1
    world.pause_soon(world.nodes[0], 0, PAUSED_MS)
    world.run(PAUSED_MS + TAKES_OVER_MS + CHECKED_MS)
    first, again = told(world)
    assert (first.members, first.since_ms) == (again.members, again.since_ms)


def test_a_group_that_is_with_the_cluster_already_is_given_back(world: World) -> None:
    join_at_cluster(world, "billing-1")
    node = world.nodes[0].node
    assert node is not None
    changes = node.home.changes
    answers = []
    for asked in (lambda: changes.would(GROUP, False), lambda: changes.change("ops", GROUP, False)):
        task = world.nodes[0].loop.create_task(completed(asked()))
        world.run(3_000)
        answers.append(task.result())
    for answer in answers:
        (group,) = answer.groups
        assert (answer.error_code, group.group_id, group.members) == (0, GROUP, [])


def test_a_pause_past_the_lease_is_told_once_the_partition_is_its_own_again(world: World) -> None:
    client = world.add_client(is_classic=True)
    while client.group_id != GROUP:
        client = world.add_client(is_classic=True)
    world.run(TAKES_OVER_MS)
    world.pause_soon(world.nodes[0], 0, PAUSED_MS)
    world.run(PAUSED_MS + TAKES_OVER_MS)
    pauses = told_of(world, CoordinatorPaused)
    assert [pause.until_ms - pause.from_ms for pause in pauses] == [PAUSED_MS]


def test_members_at_both_places_are_told_as_soon_as_a_member_commits(world: World) -> None:
    client = world.add_client(is_classic=True)
    while client.group_id != GROUP:
        client = world.add_client(is_classic=True)
    world.run(TAKES_OVER_MS)
    assert client.generation > 0
    leave_at_cluster(world, INSTANCE_ID)
    join_at_cluster(world, "billing-1")
    world.run(COMMITS_MS)
    assert world.clock.now_ms() - world.began_ms < CHECK_SECONDS * 1_000, "no check has been made yet"
    (event,) = told(world)
    assert (clients_of(event), event.is_owned) == (["billing-1"], True)

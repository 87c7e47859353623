"""Members of the classic protocol in consumer groups, and groups that change their protocol with their members."""

from typing import Any

import pytest

from _wire.errors import NONE, ErrorCode
from coordinator.core.assignment import decode_assignment
from coordinator.core.causes import Cause
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.consumer.conversion_events import GroupDowngraded
from coordinator.core.consumer.events import ConsumerMemberRemoved
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.groups.states import PREPARING_REBALANCE, STABLE
from tests.core.consumer.classic_bytes import assignment, subscription
from tests.core.consumer.world import World
from tests.simulation.simulation import Sent


def join(world: World, member_id: str, **changes: Any) -> Sent:
    """JoinGroup version 3 of a classic member that subscribes to `t` unless said otherwise."""
    changes = {"metadata": subscription("t")} | changes
    return world.join(member_id or "classic", member_id, **changes)


def sync(world: World, member_id: str, generation_id: int) -> dict[str, list[int]] | ErrorCode:
    sent = world.sync(member_id, {}, generation_id=generation_id)
    return decode_assignment(sent.response.assignment) if sent.error is NONE else sent.error


def classic_group(*, user_data: bytes | None = None, settings: dict[str, str] | None = None) -> tuple[World, str]:
    """A Stable classic group with one member, which has all partitions of `t`."""
    world = World(settings)
    joined = join(world, "").response
    world.sync(joined.member_id, {joined.member_id: assignment({"t": [0, 1, 2]}, user_data)})
    return world, joined.member_id


def mixed_group(settings: dict[str, str] | None = None) -> World:
    """A consumer group with the consumer `a` and the classic member `b`, each with what it is to have."""
    world = World(settings)
    world.enter("a")
    assert join(world, "b").error is NONE
    world.beat("a", 2, owned={"t": [0, 1, 2]})
    world.beat("a", 2, owned=world.assigned("a"))
    assert join(world, "b").error is NONE
    sync(world, "b", 3)
    assert world.consumer.state is STABLE
    return world


# ---- empty groups


def test_an_empty_consumer_group_becomes_a_classic_one_with_its_offsets() -> None:
    world = World()
    world.enter("a")
    world.commit_offsets("a", 2, {0: 5})
    world.depart("a")
    assert join(world, "").response.generation_id == 1
    assert isinstance(world.whole_group.membership, ClassicGroup)
    assert world.offsets.by_topic["t"][0].offset == 5
    world.restart()
    assert isinstance(world.whole_group.membership, ClassicGroup)
    assert world.offsets.by_topic["t"][0].offset == 5


def test_an_empty_classic_group_becomes_a_consumer_group_with_its_offsets() -> None:
    world = World()
    world.commit_offsets("", -1, {0: 5}, version=8)
    assert world.enter("a").member_epoch == 2
    world.restart()
    assert world.assigned("a") == {"t": [0, 1, 2]}
    assert world.offsets.by_topic["t"][0].offset == 5


def test_a_pending_member_of_the_classic_group_is_forgotten() -> None:
    world = World()
    assert world.join("c", version=9, metadata=subscription("t")).error is ErrorCode.MEMBER_ID_REQUIRED
    assert world.enter("a").member_epoch == 2
    assert world.sessions.members("orders") == ["a"]


# ---- up


def test_a_classic_group_is_upgraded_with_its_members() -> None:
    world, classic_id = classic_group()
    joined = world.enter("a")
    assert (joined.member_epoch, world.given(joined)) == (2, {})
    assert world.consumer.members[classic_id].is_classic
    assert world.assigned(classic_id) == {"t": [0, 1, 2]}
    assert world.heartbeat(classic_id, generation_id=1).error is ErrorCode.REBALANCE_IN_PROGRESS
    world.restart()
    assert world.consumer.members[classic_id].is_classic


@pytest.mark.parametrize(
    ("settings", "user_data", "why"),
    [
        ({"group.consumer.migration.policy": "disabled"}, None, "the migration policy does not allow it."),
        ({"group.consumer.migration.policy": "downgrade"}, None, "the migration policy does not allow it."),
        ({}, b"data of an assignor", " by range has user data of its assignor, which would be lost."),
    ],
)
def test_a_classic_group_that_cannot_be_upgraded(settings: dict[str, str], user_data: bytes | None, why: str) -> None:
    world, classic_id = classic_group(user_data=user_data, settings=settings)
    answer = world.enter("a")
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert (answer.error_message or "").endswith(why)
    assert isinstance(world.whole_group.membership, ClassicGroup)
    assert world.heartbeat(classic_id).error is NONE


def test_requests_that_wait_in_the_classic_group_are_answered() -> None:
    world, classic_id = classic_group()
    waiting = world.join("other", metadata=subscription("t"))
    assert not waiting.answered
    assert world.enter("a").error_code == NONE
    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS
    (waiting_id,) = world.consumer.members.keys() - {classic_id, "a"}
    assert waiting.response.member_id == waiting_id, "it joins again as the member that the group has"
    assert classic_id in world.consumer.members


# ---- members of the classic protocol


def test_a_classic_member_joins_and_gets_what_is_free() -> None:
    world = World()
    world.enter("a")
    joined = join(world, "b").response
    assert (joined.generation_id, joined.leader, joined.members, joined.protocol_name) == (3, "", [], "range")
    assert sync(world, "b", 3) == {}
    assert world.heartbeat("b", generation_id=3).error is NONE
    world.beat("a", 2, owned={"t": [0, 1, 2]})
    world.beat("a", 2, owned=world.assigned("a"))
    assert world.heartbeat("b", generation_id=3).error is ErrorCode.REBALANCE_IN_PROGRESS
    assert join(world, "b").response.generation_id == 3
    assert sync(world, "b", 3) == world.assigned("b") != {}


def test_a_classic_member_gives_partitions_up_when_it_joins_without_them() -> None:
    world, classic_id = classic_group()
    world.enter("a")
    owned = {"t": [0, 1, 2]}
    first = join(world, classic_id, metadata=subscription("t", owned=owned)).response
    assert first.generation_id == 1
    kept = sync(world, classic_id, 1)
    assert isinstance(kept, dict)
    assert len(kept["t"]) < 3
    assert join(world, classic_id, metadata=subscription("t", owned=kept)).response.generation_id == 2
    assert world.beat("a", 2).member_epoch == 2
    assert world.assigned("a")


def test_version_0_of_a_subscription_waits_for_no_revocation() -> None:
    world, classic_id = classic_group()
    world.enter("a")
    assert join(world, classic_id, metadata=subscription("t", version=0)).response.generation_id == 2


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"protocols": ("other",)}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"metadata": b"?"}, ErrorCode.UNKNOWN_SERVER_ERROR),
        ({"instance_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_join_that_is_rejected(changes: dict[str, Any], error: ErrorCode) -> None:
    world = mixed_group()
    before = len(world.written())
    rejected = join(world, "c", **changes)
    assert (rejected.error, rejected.response.member_id) == (error, "")
    assert len(world.written()) == before
    assert "c" not in world.consumer.members


def test_migration_may_be_disabled() -> None:
    world = World({"group.consumer.migration.policy": "disabled"})
    world.enter("a")
    assert join(world, "b").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_member_id_that_is_handed_out_leaves_nothing_behind() -> None:
    world = World()
    world.enter("a")
    required = world.join("b", version=9, metadata=subscription("t"))
    assert required.error is ErrorCode.MEMBER_ID_REQUIRED
    assert len(world.consumer.members) == 1
    assert join(world, required.response.member_id, version=9).error is NONE


def test_requests_of_classic_members_are_checked() -> None:
    world = mixed_group()
    assert world.heartbeat("b", generation_id=9).error is ErrorCode.ILLEGAL_GENERATION
    assert world.heartbeat("a", generation_id=3).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat("x", generation_id=3).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert sync(world, "b", 2) is ErrorCode.ILLEGAL_GENERATION
    assert sync(world, "a", 3) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.commit_offsets("b", 9, {0: 1}, version=8) == {ErrorCode.ILLEGAL_GENERATION}
    assert world.commit_offsets("b", 3, {0: 1}, version=8) == {NONE}


def test_a_classic_member_that_does_not_follow_a_rebalance_is_removed() -> None:
    world = mixed_group()
    world.enter("c")
    assert world.heartbeat("b", generation_id=3).error is ErrorCode.REBALANCE_IN_PROGRESS
    for _ in range(6):
        world.advance(9_000)
        world.heartbeat("b", generation_id=3)
        world.beat("a", world.epoch("a"), owned=world.assigned("a"))
    assert "b" in world.consumer.members
    world.advance(9_000)
    assert "b" not in world.consumer.members
    causes = {event.member_id: event.cause for event in world.events if isinstance(event, ConsumerMemberRemoved)}
    assert causes["b"] is Cause.REBALANCE_TIMEOUT


def test_a_classic_member_that_does_not_sync_is_removed() -> None:
    world = World()
    world.enter("a")
    join(world, "b", rebalance_timeout_ms=5_000)
    world.advance(5_000)
    (removed,) = [event for event in world.events if isinstance(event, ConsumerMemberRemoved)]
    assert (removed.member_id, removed.cause) == ("b", Cause.SYNC_TIMEOUT)


def test_a_classic_member_that_syncs_stays() -> None:
    world = World()
    world.enter("a")
    join(world, "b", rebalance_timeout_ms=5_000)
    sync(world, "b", 3)
    world.advance(6_000)
    assert "b" in world.consumer.members


def test_a_heartbeat_of_the_new_protocol_makes_a_classic_member_one() -> None:
    world = mixed_group()
    assert world.beat("b", 3).error_code == NONE
    assert not world.consumer.members["b"].is_classic
    assert world.consumer.classic_count == 0
    assert world.heartbeat("b", generation_id=3).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_administrator_removes_members_of_both_protocols() -> None:
    world = mixed_group()
    world.enter("c")
    sent = world.leave("a", "nobody", client_id="admin")
    assert [ErrorCode(member.error_code) for member in sent.response.members] == [NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert list(world.consumer.members) == ["b", "c"]


# ---- down


def test_a_group_is_downgraded_when_its_last_consumer_leaves() -> None:
    world = mixed_group()
    assert world.depart("a") == NONE
    group = world.whole_group.membership
    assert isinstance(group, ClassicGroup)
    assert (group.state, group.generation_id) == (PREPARING_REBALANCE, 3)
    assert world.sessions.members("orders") == ["b"]
    (downgraded,) = [event for event in world.events if isinstance(event, GroupDowngraded)]
    assert [(each.member_id, each.cause) for each in downgraded.departed] == [("a", Cause.MEMBER_LEFT)]
    assert join(world, "b").response.generation_id == 4
    assert world.beat("a", 3).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_is_downgraded_when_the_session_of_its_last_consumer_ends() -> None:
    world = mixed_group()
    for _ in range(8):
        world.advance(6_000)
        if isinstance(world.whole_group.membership, ConsumerGroup):
            world.heartbeat("b", generation_id=3)
    assert isinstance(world.whole_group.membership, ClassicGroup)
    world.restart()
    assert isinstance(world.whole_group.membership, ClassicGroup)


def test_without_downgrade_it_stays_a_consumer_group() -> None:
    world = mixed_group({"group.consumer.migration.policy": "upgrade"})
    world.depart("a")
    assert list(world.consumer.members) == ["b"]
    assert world.heartbeat("b", generation_id=3).error is NONE, "nobody has computed a target yet"
    assert join(world, "b").response.generation_id == 4
    assert sync(world, "b", 4) == {"t": [0, 1, 2]}


def test_a_static_consumer_that_comes_back_with_the_classic_protocol_downgrades_without_a_rebalance() -> None:
    world = World()
    world.enter("a", instance_id="i")
    world.depart("a", -2, "i")
    joined = join(world, "", instance_id="i").response
    group = world.whole_group.membership
    assert isinstance(group, ClassicGroup)
    assert (group.state, group.generation_id, joined.generation_id) == (STABLE, 2, 2)
    assert world.heartbeat(joined.member_id, generation_id=2, instance_id="i").error is NONE
    assert decode_assignment(group.members[joined.member_id].assignment) == {"t": [0, 1, 2]}


def test_the_generation_after_a_downgrade_with_another_subscription_is_the_one_after_the_group_epoch() -> None:
    world = World()
    world.enter("a", instance_id="i")
    world.depart("a", -2, "i")
    join(world, "", instance_id="i", metadata=subscription("u"))
    group = world.whole_group.membership
    assert isinstance(group, ClassicGroup)
    assert (group.state, group.generation_id) == (PREPARING_REBALANCE, 2)
    joined = join(world, next(iter(group.members)), instance_id="i", metadata=subscription("u"))
    assert joined.response.generation_id == 3


def test_a_static_classic_member_comes_back_as_a_consumer() -> None:
    world = World()
    joined = join(world, "", instance_id="i").response
    world.sync(joined.member_id, {joined.member_id: assignment({"t": [0, 1, 2]})})
    back = world.enter("a", instance_id="i")
    assert (back.member_epoch, world.given(back)) == (1, {"t": [0, 1, 2]})
    assert list(world.consumer.members) == ["a"]
    world.restart()
    assert world.assigned("a") == {"t": [0, 1, 2]}


def test_what_is_known_of_the_clients_is_kept_in_both_directions() -> None:
    """It is not stored: a change of the protocol is no restart."""
    world = World()
    world.client_software = "librdkafka"
    joined = join(world, "").response
    world.sync(joined.member_id, {joined.member_id: assignment({"t": [0, 1, 2]})})
    joined_ms = world.now_ms
    world.advance(1_000)
    world.client_software = "apache-kafka-java"
    world.enter("a")
    upgraded = world.consumer.members
    assert {each.client_software_name for each in upgraded.values()} == {"librdkafka", "apache-kafka-java"}
    assert upgraded[joined.member_id].joined_ms == joined_ms
    world.depart("a")
    (downgraded,) = world.whole_group.membership.members.values()
    assert (downgraded.client_software_name, downgraded.joined_ms) == ("librdkafka", joined_ms)

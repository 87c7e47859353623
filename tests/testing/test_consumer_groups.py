"""The test kit with consumer groups (KIP-848) and mixed ones, by stock consumers of confluent-kafka."""

import pytest

from coordinator.audit import schema
from coordinator.core.causes import Cause
from coordinator.faults.specs import FaultError
from coordinator.testing import Coordinator, WaitTimeout
from tests.testing.rdkafka import consuming
from tests.waiting import wait_for

SECONDS = 20


@pytest.fixture
def topic(server: Coordinator) -> str:
    server.create_topic("orders", partitions=4)
    return "orders"


def test_a_consumer_group_is_seen_by_the_calls_of_a_classic_one(server, topic):
    assert (server.group("billing").kind, server.group("billing").state) == ("", "Dead")
    server.produce(topic, ["a", "b", "c"])
    with consuming(server.bootstrap, [topic], "billing", 2) as (one, another):
        group = server.group("billing").wait_for("Stable", members=2, partitions=4)
        assert (group.kind, group.protocol_name, group.leader) == ("consumer", "", "")
        assert {member.client_id for member in group.members} == {one.client_id, another.client_id}
        shared = sorted(index for member in group.members for index in (member.partitions or {})[topic])
        assert shared == [0, 1, 2, 3]
        assert set(server.group("billing").assignment) == {member.member_id for member in group.members}
        committed = wait_for(lambda: server.group("billing").committed_offsets, SECONDS, "a commit")
        assert committed.keys() == {topic}
        assert server.group("billing").generation == group.generation_id
    after = server.group("billing").wait_for("Empty")
    assert (after.kind, after.generation_id > group.generation_id) == ("consumer", True)
    server.assert_rebalances("billing", at_least=2, causes={"new_member", "metadata_changed", "member_left"})


def test_a_wait_in_vain_says_the_group_epoch(server, topic):
    with consuming(server.bootstrap, [topic], "billing"):
        epoch = server.group("billing").wait_for("Stable", members=1, partitions=4).generation_id
        with pytest.raises(WaitTimeout, match=f"it is Stable in group epoch {epoch} with 4 partitions assigned to 1"):
            server.group("billing").wait_for(members=7, timeout=0.05)


def test_a_classic_group_and_a_mixed_one_say_their_kind(server, topic):
    with consuming(server.bootstrap, [topic], "billing", protocol="classic", heartbeat_interval_ms=100):
        assert server.group("billing").wait_for("Stable", members=1, partitions=4).kind == "classic"
        with consuming(server.bootstrap, [topic], "billing"):
            mixed = server.group("billing").wait_for("Stable", members=2, partitions=4, timeout=SECONDS)
            assert mixed.kind == "consumer"
            assert [len((member.partitions or {})[topic]) for member in mixed.members] == [2, 2]
        assert server.group("billing").wait_for("Stable", members=1, partitions=4, timeout=SECONDS).kind == "classic"


def test_an_error_makes_a_consumer_rejoin_though_its_heartbeats_are_steady(server, topic):
    with consuming(server.bootstrap, [topic], "billing") as (one,):
        server.group("billing").wait_for("Stable", members=1, partitions=4)
        fault = server.faults.answer(
            "ConsumerGroupHeartbeat", "FENCED_MEMBER_EPOCH", group="billing", member=one.client_id, times=1
        )
        wait_for(lambda: fault.hits, SECONDS, "the fenced heartbeat")
        rejected = [event for event in server.events("billing") if isinstance(event, schema.RequestRejected)]
        assert [(each.api, each.error, each.injected) for each in rejected] == [
            ("ConsumerGroupHeartbeat", "FENCED_MEMBER_EPOCH", True)
        ]
        server.group("billing").wait_for("Stable", members=1, partitions=4)


def test_heartbeats_are_held_and_the_group_waits_for_the_member(server, topic):
    with consuming(server.bootstrap, [topic], "billing") as (one,):
        epoch = server.group("billing").wait_for("Stable", members=1, partitions=4).generation_id
        barrier = server.faults.hold("ConsumerGroupHeartbeat", member=one.client_id)
        barrier.wait_for(1)
        with consuming(server.bootstrap, [topic], "billing", client_id="late"):
            held_up = server.group("billing").wait_for("Reconciling", members=2, generation=epoch + 1)
            assert held_up.partition_count == 4, "the member that is held keeps what it has"
            assert barrier.release() == 1
            server.group("billing").wait_for("Stable", members=2, partitions=4)


def test_an_answer_that_is_lost_is_made_good_by_the_next_heartbeat(server, topic):
    """The consumer repeats its heartbeat with the epoch before."""
    with consuming(server.bootstrap, [topic], "billing") as (one,):
        server.group("billing").wait_for("Stable", members=1, partitions=4)
        fault = server.faults.close("ConsumerGroupHeartbeat", when="after", member=one.client_id, times=1)
        wait_for(lambda: fault.hits, SECONDS, "the lost answer")
        server.faults.rebalance("billing", reason="drill")
        server.group("billing").wait_for("Stable", members=1, partitions=4)
    assert not one.errors or all(not error.fatal() for error in one.errors)


def test_a_late_answer_comes_by_the_clock_of_the_server(server, topic):
    with consuming(server.bootstrap, [topic], "billing") as (one,):
        server.group("billing").wait_for("Stable", members=1, partitions=4)
        fault = server.faults.delay("ConsumerGroupHeartbeat", ms=3_600_000, member=one.client_id, times=1)
        wait_for(lambda: fault.hits, SECONDS, "the delayed heartbeat")
        server.advance(seconds=3_600)
        server.group("billing").wait_for("Stable", members=1, partitions=4)


def test_a_jump_ends_the_session_of_a_silent_consumer_and_keeps_the_others(server, topic):
    with consuming(server.bootstrap, [topic], "billing", 2) as (one, another):
        server.group("billing").wait_for("Stable", members=2, partitions=4)
        barrier = server.faults.hold("ConsumerGroupHeartbeat", member=another.client_id)
        barrier.wait_for(1)
        server.advance(seconds=45, silent=[another.client_id])
        left = server.group("billing").wait_for("Stable", members=1, partitions=4)
        assert [member.client_id for member in left.members] == [one.client_id]
        server.assert_rebalances("billing", causes={"new_member", "metadata_changed", "session_expired"})
        barrier.remove()
        server.group("billing").wait_for("Stable", members=2, partitions=4, timeout=SECONDS)


def test_a_jump_ends_the_time_to_give_up_partitions(server, topic):
    """A member that is heard and does not revoke is removed after its rebalance timeout, as on Kafka."""
    with consuming(server.bootstrap, [topic], "billing", max_poll_interval_ms=60_000) as (one,):
        epoch = server.group("billing").wait_for("Stable", members=1, partitions=4).generation_id
        barrier = server.faults.hold("ConsumerGroupHeartbeat", member=one.client_id)
        barrier.wait_for(1)
        with consuming(server.bootstrap, [topic], "billing", client_id="late") as (late,):
            server.group("billing").wait_for("Reconciling", members=2, generation=epoch + 1)
            barrier.release(1)
            barrier.wait_for(1)  # it was asked to revoke, and its next heartbeat would say that it has
            server.advance(seconds=60)
            server.group("billing").wait_for(members=1)
            assert server.group("billing").members[0].client_id == late.client_id
            barrier.remove()
            server.group("billing").wait_for("Stable", members=2, partitions=4, timeout=SECONDS)
    removed = next(event for event in server.events("billing") if isinstance(event, schema.MemberRemoved))
    assert (removed.member.client_id, removed.cause) == (one.client_id, Cause.REBALANCE_TIMEOUT)


def test_an_expired_consumer_comes_back(server, topic):
    with consuming(server.bootstrap, [topic], "billing", 2) as (one, _):
        epoch = server.group("billing").wait_for("Stable", members=2, partitions=4).generation_id
        server.faults.expire("billing", one.client_id)
        server.group("billing").wait_for("Stable", members=2, partitions=4, generation=epoch + 1, timeout=SECONDS)
    server.assert_rebalances("billing", causes={"new_member", "metadata_changed", "fault", "member_left"})


def test_a_forced_rebalance_raises_the_group_epoch_and_moves_nothing(server, topic):
    with consuming(server.bootstrap, [topic], "billing", 2):
        before = server.group("billing").wait_for("Stable", members=2, partitions=4)
        server.faults.rebalance("billing", reason="drill")
        after = server.group("billing").wait_for("Stable", members=2, generation=before.generation_id + 1)
        assert {member.member_id: member.partitions for member in after.members} == {
            member.member_id: member.partitions for member in before.members
        }
        assert 'a test injected a fault, saying "drill"' in server.why("billing", after.generation_id)


def test_a_full_consumer_group_takes_nobody_more(server, topic):
    with consuming(server.bootstrap, [topic], "billing"):
        server.group("billing").wait_for("Stable", members=1, partitions=4)
        fault = server.faults.fill("billing")
        with consuming(server.bootstrap, [topic], "billing", client_id="late"):
            wait_for(lambda: fault.hits, SECONDS, "a refused member")
            assert len(server.group("billing").members) == 1
    told = next(event for event in server.events("billing") if isinstance(event, schema.RequestRejected))
    assert (told.api, told.error, told.injected) == ("ConsumerGroupHeartbeat", "GROUP_MAX_SIZE_REACHED", True)


def test_a_group_that_is_full_by_its_own_setting_is_not_told_as_a_fault():
    with Coordinator({"group.consumer.max.size": 1}) as small:
        small.create_topic("orders")
        with consuming(small.bootstrap, ["orders"], "billing"):
            small.group("billing").wait_for("Stable", members=1, partitions=1)
            fault = small.faults.fill("billing")
            with consuming(small.bootstrap, ["orders"], "billing", client_id="late"):
                wait_for(lambda: fault.hits, SECONDS, "a refused member")
            told = next(event for event in small.events("billing") if isinstance(event, schema.RequestRejected))
            assert not told.injected


def test_nobody_fences_a_member_of_a_consumer_group(server, topic):
    with consuming(server.bootstrap, [topic], "billing", group_instance_id="i"):
        server.group("billing").wait_for("Stable", members=1, partitions=4)
        with pytest.raises(FaultError, match="answered UNRELEASED_INSTANCE_ID"):
            server.faults.fence("billing", "i")


def test_a_fault_finds_a_static_consumer_by_its_instance_id(server, topic):
    with consuming(server.bootstrap, [topic], "billing", group_instance_id="i"):
        server.group("billing").wait_for("Stable", members=1, partitions=4)
        fault = server.faults.throttle("ConsumerGroupHeartbeat", ms=1, member="i", times=1)
        wait_for(lambda: fault.hits, SECONDS, "a throttled heartbeat")


def test_a_consumer_group_goes_on_after_a_restart(server, topic):
    with consuming(server.bootstrap, [topic], "billing", 2):
        before = server.group("billing").wait_for("Stable", members=2, partitions=4)
        server.restart()
        after = server.group("billing").wait_for("Stable", members=2, partitions=4, timeout=SECONDS)
        assert after.generation_id >= before.generation_id

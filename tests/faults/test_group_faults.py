"""Faults of groups: each goes the way of its real cause, and the audit tells it."""

import pytest

from _wire.errors import ErrorCode
from _wire.messages.join_group import JoinGroupRequest
from coordinator.audit import schema
from coordinator.core.causes import Cause
from coordinator.faults.specs import FaultError
from coordinator.testing import Coordinator
from tests.faults.routes import routes_of
from tests.testing.consumers import consumers
from tests.wire_client import WireClient, join_request


def test_a_member_expires_as_if_it_had_been_silent(server):
    with WireClient(server.bootstrap, "c") as client:
        member_id = client.join_alone("g")
        fault = server.faults.expire("g", "c")
        server.group("g").wait_for("Empty")
        (removed,) = (event for event in server.events("g") if isinstance(event, schema.MemberRemoved))
        assert (removed.cause, removed.reason, removed.member.member_id) == (Cause.FAULT, "expire", member_id)
        assert client.heartbeat_error("g", member_id) == ErrorCode.UNKNOWN_MEMBER_ID
        assert 'a test injected a fault at c (127.0.0.1), saying "expire"' in server.why("g", 2)
        assert fault.hits == 1
    server.assert_rebalances("g", at_most=2, causes={"new_member", "fault"})


def test_a_stock_consumer_comes_back_after_it_was_expired(server):
    server.create_topic("orders", partitions=2)
    with consumers(server.bootstrap, "orders", "billing", 2):
        before = server.group("billing").wait_for("Stable", members=2)
        server.faults.expire("billing", before.members[0].member_id)
        after = server.group("billing").wait_for("Stable", members=2, generation=before.generation_id + 1)
        assert before.members[0].member_id not in {member.member_id for member in after.members}
    server.assert_rebalances("billing", at_least=1, causes={"fault", "new_member", "leader_rejoined", "member_left"})


def test_a_forced_rebalance_keeps_the_members(server):
    server.create_topic("orders", partitions=2)
    with consumers(server.bootstrap, "orders", "billing", 2):
        before = server.group("billing").wait_for("Stable", members=2)
        server.faults.rebalance("billing", reason="drill")
        after = server.group("billing").wait_for("Stable", members=2, generation=before.generation_id + 1)
        assert {member.member_id for member in after.members} == {member.member_id for member in before.members}
    started = [event for event in server.events("billing") if isinstance(event, schema.RebalanceStarted)]
    assert (Cause.FAULT, "drill") in [(each.cause, each.reason) for each in started]


def test_a_fenced_instance_is_told_who_took_its_place(server):
    with WireClient(server.bootstrap, "c") as client:
        member_id = client.join_alone("g", instance_id="i")
        server.faults.fence("g", "i")
        request = join_request("g", member_id, instance_id="i")
        assert client.request(request, 5).error_code == ErrorCode.FENCED_INSTANCE_ID
        (replaced,) = (event for event in server.events("g") if isinstance(event, schema.StaticMemberReplaced))
        assert (replaced.old_member_id, replaced.member.client_id) == (member_id, "fault")
        assert (replaced.cause, replaced.reason) == (Cause.FAULT, "fence")
        assert server.group("g").state == "Stable"


def test_a_fenced_instance_whose_group_rebalances_gives_the_fault_as_the_cause(server):
    """The leader waits for its SyncGroup, so the client that takes its place cannot have its assignment."""
    with WireClient(server.bootstrap, "c") as client:
        client.request(join_request("g", instance_id="i"), 5)
        server.group("g").wait_for("CompletingRebalance")
        server.faults.fence("g", "i")
        server.group("g").wait_for(generation=2)
    started = [event for event in server.events("g") if isinstance(event, schema.RebalanceStarted)]
    assert [each.cause for each in started] == [Cause.NEW_MEMBER, Cause.FAULT]
    assert 'a test injected a fault at i (127.0.0.1), saying "fence"' in server.why("g", 2)


def test_a_static_member_that_comes_back_by_itself_is_no_fault(server):
    with WireClient(server.bootstrap, "c") as client:
        client.join_alone("g", instance_id="i")
        client.request(join_request("g", instance_id="i"), 5)
    (replaced,) = (event for event in server.events("g") if isinstance(event, schema.StaticMemberReplaced))
    assert replaced.cause is Cause.STATIC_REPLACED


@pytest.mark.parametrize("error", ["NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"])
def test_a_partition_of_groups_is_unavailable_and_comes_back(server, error):
    with WireClient(server.bootstrap) as client:
        member_id = client.join_alone("g")
        fault = server.faults.unavailable("g", error)
        joined = client.request(join_request("g"), 3)
        assert joined.error_code == ErrorCode[error]
        with pytest.raises(FaultError, match="the partition of group g is not served"):
            server.faults.unavailable("g")
        fault.remove()
        server.group("g").wait_for("Stable", members=1)
        assert client.heartbeat_error("g", member_id) == 0


def test_a_partition_of_groups_comes_back_after_its_time(server):
    with WireClient(server.bootstrap) as client:
        member_id = client.join_alone("g")
        fault = server.faults.unavailable("g", seconds=30)
        assert client.heartbeat_error("g", member_id) == ErrorCode.NOT_COORDINATOR
        server.advance(seconds=30)
        server.group("g").wait_for("Stable", members=1)
        assert client.heartbeat_error("g", member_id) == 0
        fault.remove()
        assert client.heartbeat_error("g", member_id) == 0


def test_a_rebalance_that_an_unavailable_partition_cuts_off_is_told(server):
    with WireClient(server.bootstrap) as client:
        client.join_alone("g")
        client.send(join_request("g"), 3)
        server.group("g").wait_for("PreparingRebalance")
        server.faults.unavailable("g").remove()
        server.group("g").wait_for("Stable", members=1)
        loaded = [event for event in server.events("g") if isinstance(event, schema.GroupLoaded)]
        assert [each.cause for each in loaded] == [Cause.FAULT]


def test_each_group_of_an_unavailable_partition_is_told_though_nothing_was_cut_off(server):
    with WireClient(server.bootstrap) as client:
        member_id = client.join_alone("g")
        server.faults.unavailable("g").remove()
        server.group("g").wait_for("Stable", members=1)
        assert client.heartbeat_error("g", member_id) == 0
    (loaded,) = (event for event in server.events("g") if isinstance(event, schema.GroupLoaded))
    assert (loaded.cause, loaded.state, loaded.lost, loaded.void_from_seq) == (Cause.FAULT, "Stable", False, loaded.seq)
    assert "generation 1 began" in server.why("g")


def test_a_full_group_takes_nobody_more(server):
    with WireClient(server.bootstrap) as client, WireClient(server.bootstrap, "new") as another:
        client.join_alone("g")
        client.join_alone("other")
        fault = server.faults.fill("g")
        assert another.request(join_request("g"), 3).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
        assert another.request(join_request("fresh"), 3).error_code == ErrorCode.NONE
        assert fault.hits == 1
        (told,) = (event for event in server.events("g") if isinstance(event, schema.RequestRejected))
        assert (told.api, told.error, told.injected) == ("JoinGroup", "GROUP_MAX_SIZE_REACHED", True)
        fault.remove()
        another.send(join_request("g"), 3)
        server.group("g").wait_for(members=2)


def test_a_full_group_counts_only_whom_it_refuses(server):
    with WireClient(server.bootstrap) as client, WireClient(server.bootstrap, "new") as another:
        member_id = client.join_alone("g")
        fault = server.faults.fill("g", size=2)
        another.send(join_request("g"), 3)
        server.group("g").wait_for("PreparingRebalance", members=2)
        assert client.request(join_request("g", member_id), 3).generation_id == 2
        assert fault.hits == 0


def test_a_member_that_a_smaller_group_has_no_room_for_is_removed_by_the_fault(server):
    with WireClient(server.bootstrap, "one") as one, WireClient(server.bootstrap, "two") as two:
        first = one.join_alone("g")
        late = two.send(join_request("g"), 3)
        server.group("g").wait_for("PreparingRebalance", members=2)
        server.faults.fill("g", size=1)
        assert one.request(join_request("g", first), 3).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
        assert server.group("g").state == "PreparingRebalance"  # a rejection alone does not end the join phase
        server.advance(seconds=300)  # the rebalance timeout: nobody else is waited for
        assert two.receive(late).generation_id == 2
    removed = next(event for event in server.events("g") if isinstance(event, schema.MemberRemoved))
    assert (removed.cause, removed.member.member_id) == (Cause.FAULT, first)


def test_a_group_that_is_full_by_its_own_setting_is_not_told_as_a_fault():
    with Coordinator({"group.max.size": 1}) as small, WireClient(small.bootstrap) as client:
        client.join_alone("g")
        small.faults.fill("g", size=1)
        assert client.request(join_request("g"), 3).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
        (told,) = (event for event in small.events("g") if isinstance(event, schema.RequestRejected))
        assert not told.injected


def test_a_fault_that_does_not_fit_the_group_is_refused(server):
    with WireClient(server.bootstrap, "c") as client:
        client.join_alone("g")
        for inject, message in (
            (lambda: server.faults.expire("h", "c"), "there is no group h"),
            (lambda: server.faults.expire("g", "d"), "group g has no member d; its members: c-"),
            (lambda: server.faults.fence("g", "i"), "group g has no instance i; its instances: none"),
            (lambda: server.faults.fill("h"), "there is no group h"),
        ):
            with pytest.raises(FaultError) as failed:
                inject()
            assert message in str(failed.value)
    server.advance(seconds=60)
    with pytest.raises(FaultError, match="group g is Empty: only one with a generation can rebalance"):
        server.faults.rebalance("g")


def test_without_a_fault_a_request_passes_none():
    """But for the note of who spoke on which connection, the handlers are those of a server."""
    from coordinator.testing.presence import SPEAKING

    with Coordinator() as server:
        routes = routes_of(server)
    wrapped = {route.api.name for route in routes if "Presence" in repr(route.handler)}
    assert wrapped == set(SPEAKING)


def test_a_hostile_join_stays_harmless_under_a_full_group(server):
    with WireClient(server.bootstrap, "c") as client:
        client.join_alone("g")
        server.faults.fill("g", size=1)
        refused = client.request(JoinGroupRequest(group_id="g", member_id="x", session_timeout_ms=10_000), 3)
        assert refused.error_code in (ErrorCode.GROUP_MAX_SIZE_REACHED, ErrorCode.UNKNOWN_MEMBER_ID)
        assert server.group("g").state == "Stable"

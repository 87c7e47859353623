"""Faults of requests: which requests they take, what becomes of the answers, and that nothing is left of them."""

import threading
import time
from collections import Counter

import pytest

from _wire.errors import ErrorCode
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from _wire.messages.metadata import MetadataRequest
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from _wire.records import build_batch
from coordinator.audit import schema
from coordinator.client.wire import ClientError
from coordinator.faults.specs import FaultError
from coordinator.testing import Coordinator, WaitTimeout
from tests.faults.routes import routes_of
from tests.testing.consumers import consumers
from tests.wire_client import ConnectionClosed, WireClient, join_request, produce_request


def alone(server: Coordinator, group_id: str = "g", client_id: str = "c") -> tuple[WireClient, str]:
    client = WireClient(server.bootstrap, client_id)
    return client, client.join_alone(group_id)


def beat(group_id: str, member_id: str) -> HeartbeatRequest:
    return HeartbeatRequest(group_id=group_id, generation_id=1, member_id=member_id)


def faulty(server: Coordinator) -> set[str]:
    """The APIs that have the step of the faults in their chain."""
    routes = routes_of(server)
    return {route.api.name for route in routes if "_through" in repr(route.handler)}


# ---- which requests


def test_an_error_is_answered_without_the_group_and_told_as_injected(server):
    client, member_id = alone(server)
    with client:
        fault = server.faults.answer("Heartbeat", "ILLEGAL_GENERATION", group="g", times=2)
        answers = [client.heartbeat_error("g", member_id) for _ in range(3)]
        assert answers == [ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION, ErrorCode.NONE]
        fault.remove()
        assert fault.hits == 2
        assert told(server, "g") == [("Heartbeat", "ILLEGAL_GENERATION", member_id)] * 2
        assert server.group("g").state == "Stable"


def test_an_error_of_a_produce_without_acknowledgements_closes_its_connection(server):
    """Kafka's ProduceRequest.getErrorResponse is null then: an answer would be taken for that to the next request."""
    records = build_batch([(None, b"value", ())], timestamp_ms=1)
    with WireClient(server.bootstrap) as client:
        client.create_topic("t", 1)
        server.faults.answer("Produce", "NOT_LEADER_OR_FOLLOWER", times=2)
        (answered,) = client.request(produce_request("t", records), 9).responses
        assert answered.partition_responses[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        client.socket.sendall(client.frame(produce_request("t", records, acks=0), 9)[0])
        with pytest.raises(ConnectionClosed):
            client.request(MetadataRequest(topics=[]), 1)


def told(server: Coordinator, group_id: str) -> list[tuple[str, str, str]]:
    """API, error and member id of each injected error that the audit of a group tells."""
    rejected = (event for event in server.events(group_id) if isinstance(event, schema.RequestRejected))
    return [(each.api, each.error, each.member.member_id) for each in rejected if each.injected]


def test_an_error_to_a_request_that_names_no_member_is_told_in_each_group_that_it_names(server):
    for group_id in ("a", "b"):
        client, _ = alone(server, group_id)
        client.socket.close()
    with WireClient(server.bootstrap, "admin") as client:
        server.faults.answer("DescribeGroups", "COORDINATOR_NOT_AVAILABLE", group="b")
        server.faults.answer("FindCoordinator", "COORDINATOR_NOT_AVAILABLE")
        client.request(DescribeGroupsRequest(groups=["a", "b", "b", "nobody"]), 5)
        client.request(FindCoordinatorRequest(key="a"), 1)
        client.request(FindCoordinatorRequest(key_type=1, coordinator_keys=["a"]), 4)  # a transaction of this name
    described = ("DescribeGroups", "COORDINATOR_NOT_AVAILABLE", "")
    assert told(server, "a") == [described, ("FindCoordinator", "COORDINATOR_NOT_AVAILABLE", "")]
    assert told(server, "b") == [described]
    (rejected,) = (event for event in server.events("b") if isinstance(event, schema.RequestRejected))
    assert (rejected.member.client_id, rejected.member.client_host) == ("admin", "/127.0.0.1")


def test_an_error_to_a_leavegroup_is_told_of_each_member_that_it_names(server):
    client, member_id = alone(server)
    with client:
        server.faults.answer("LeaveGroup", "COORDINATOR_NOT_AVAILABLE", member=member_id)
        members = [MemberIdentity(member_id=member_id), MemberIdentity(group_instance_id="i")]
        client.request(LeaveGroupRequest(group_id="g", members=members), 4)
        assert told(server, "g") == [("LeaveGroup", "COORDINATOR_NOT_AVAILABLE", each) for each in (member_id, "")]
        assert server.group("g").state == "Stable"


def test_an_error_about_a_group_that_does_not_exist_is_counted_and_makes_no_group(server):
    """Its events begin with its creation, without a gap."""
    with WireClient(server.bootstrap, "c") as client:
        fault = server.faults.answer("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS", group="g", nth=1)
        assert client.request(join_request("g"), 3).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert fault.hits == 1 and server.events("g") == [] and server.group("g").state == "Dead"
        client.join_alone("g")
        events = server.events("g")
        assert isinstance(events[0], schema.GroupCreated) and events[0].seq == events[0].created_seq
        assert [event.seq for event in events] == list(range(events[0].seq, events[0].seq + len(events)))


def test_an_error_while_the_partition_of_its_group_is_unavailable_is_answered_once(server):
    client, member_id = alone(server)
    with client:
        server.faults.unavailable("g")
        server.faults.answer("Heartbeat", "ILLEGAL_GENERATION")
        assert client.heartbeat_error("g", member_id) == ErrorCode.ILLEGAL_GENERATION
        server.faults.clear()
        server.group("g").wait_for("Stable")
        assert client.heartbeat_error("g", member_id) == ErrorCode.NONE
        assert told(server, "g") == []


def test_a_real_rejection_is_not_told_as_injected(server):
    client, _ = alone(server)
    with client:
        assert client.request(SyncGroupRequest(group_id="g", generation_id=9, member_id="x"), 3).error_code == 25
        (rejected,) = (event for event in server.events("g") if isinstance(event, schema.RequestRejected))
        assert not rejected.injected


@pytest.mark.parametrize(
    ("where", "hit"),
    [
        ({}, [1, 1, 1, 1]),
        ({"nth": 2}, [0, 1, 0, 0]),
        ({"times": 3}, [1, 1, 1, 0]),
        ({"group": "another"}, [0, 0, 0, 0]),
        ({"member": "c"}, [1, 1, 1, 1]),
        ({"member": "d"}, [0, 0, 0, 0]),
        ({"leader": True}, [1, 1, 1, 1]),
        ({"leader": False}, [0, 0, 0, 0]),
    ],
)
def test_a_fault_takes_the_requests_that_it_names(server, where, hit):
    client, member_id = alone(server)
    with client:
        server.faults.answer("Heartbeat", "UNKNOWN_MEMBER_ID", **where)
        assert [bool(client.heartbeat_error("g", member_id)) for _ in range(4)] == [bool(each) for each in hit]


def test_chance_repeats_with_its_seed(server):
    client, member_id = alone(server)

    def played(seed: int) -> list[int]:
        fault = server.faults.answer("Heartbeat", "UNKNOWN_MEMBER_ID", probability=0.5, seed=seed)
        found = [client.heartbeat_error("g", member_id) for _ in range(40)]
        fault.remove()
        return found

    with client:
        assert played(1) == played(1) != played(2)
        assert 5 < Counter(played(1))[0] < 35


def test_a_fault_ends_after_its_time_on_the_servers_clock(server):
    client, member_id = alone(server)
    with client:
        server.faults.answer("Heartbeat", "UNKNOWN_MEMBER_ID", seconds=5)
        assert client.heartbeat_error("g", member_id) == ErrorCode.UNKNOWN_MEMBER_ID
        server.advance(seconds=5)
        assert client.heartbeat_error("g", member_id) == ErrorCode.NONE


def test_requests_about_several_groups_match_each_of_them(server):
    with WireClient(server.bootstrap) as client:
        server.faults.answer("DescribeGroups", "COORDINATOR_NOT_AVAILABLE", group="b")
        server.faults.answer("FindCoordinator", "COORDINATOR_NOT_AVAILABLE", group="b")
        found = client.request(DescribeGroupsRequest(groups=["a", "b"]), 5).groups
        assert [each.error_code for each in found] == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
        assert client.request(FindCoordinatorRequest(key="b"), 1).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert client.request(FindCoordinatorRequest(key="a"), 1).error_code == ErrorCode.NONE


# ---- what becomes of the answer


def test_a_delay_is_over_when_the_servers_clock_says_so(server):
    client, member_id = alone(server)
    with client:
        server.faults.delay("Heartbeat", ms=60_000)
        sent = client.send(beat("g", member_id), 3)
        client.socket.settimeout(0.05)
        with pytest.raises(ClientError, match="did not respond within"):
            client.receive(sent)
        client.socket.settimeout(10)
        server.advance(seconds=60)
        assert client.receive(sent).error_code == 0


def test_a_dropped_answer_never_comes_though_the_request_counted(server):
    with WireClient(server.bootstrap) as client:
        fault = server.faults.drop("JoinGroup", group="g")
        client.send(join_request("g"), 3)
        server.group("g").wait_for("CompletingRebalance", members=1)
        client.socket.settimeout(0.05)
        with pytest.raises(ClientError, match="did not respond within"):
            client.read_frame()
        assert fault.hits == 1


@pytest.mark.parametrize(("when", "state"), [("before", "Dead"), ("after", "CompletingRebalance")])
def test_a_connection_is_closed_before_or_after_the_request_counts(server, when, state):
    with WireClient(server.bootstrap) as client:
        server.faults.close("JoinGroup", when=when)
        with pytest.raises(ConnectionClosed):
            client.request(join_request("g"), 3)
    assert server.group("g").state == state


def test_a_throttle_is_in_the_answer(server):
    client, member_id = alone(server)
    with client:
        server.faults.throttle("Heartbeat", ms=1_234, times=1)
        assert client.request(beat("g", member_id), 3).throttle_time_ms == 1_234
        assert client.request(beat("g", member_id), 3).throttle_time_ms == 0


def test_an_api_that_is_answered_at_once_can_be_delayed_too(server):
    with WireClient(server.bootstrap) as client:
        server.faults.delay("Metadata", ms=1)
        server.faults.throttle("Metadata", ms=7)
        assert client.request(MetadataRequest(topics=[]), 8).throttle_time_ms == 7


# ---- barriers


def test_the_leaders_syncgroup_is_held_until_the_barrier_is_released(server):
    with WireClient(server.bootstrap) as client:
        barrier = server.faults.hold("SyncGroup", group="g", leader=True)
        joined = client.request(join_request("g"), 3)
        assignment = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"all")
        request = SyncGroupRequest(group_id="g", generation_id=1, member_id=joined.member_id, assignments=[assignment])
        sent = client.send(request, 3)
        assert barrier.wait_for(1) == 1
        assert server.group("g").state == "CompletingRebalance"
        assert barrier.release() == 1
        assert client.receive(sent).assignment == b"all"
        assert server.group("g").state == "Stable"
        assert (barrier.waiting, barrier.hits) == (0, 1)


def test_a_barrier_lets_as_many_go_on_as_it_is_told(server):
    clients = [WireClient(server.bootstrap, f"c{each}") for each in range(3)]
    barrier = server.faults.hold("Metadata")
    sent = [client.send(MetadataRequest(topics=[]), 8) for client in clients]
    assert barrier.wait_for(3) == 3
    assert barrier.release(2) == 2
    assert barrier.waiting == 1
    assert barrier.release() == 1
    for client, each in zip(clients, sent, strict=True):
        client.receive(each)
        client.request(MetadataRequest(topics=[]), 8)  # it is open now
        client.socket.close()
    assert barrier.waiting == 0


def test_a_request_of_a_client_that_is_gone_is_not_let_through(server):
    client = WireClient(server.bootstrap)
    barrier = server.faults.hold("JoinGroup")
    client.send(join_request("g"), 3)
    barrier.wait_for(1)
    client.socket.close()
    with WireClient(server.bootstrap) as another:  # the server has seen the first one go when this is answered
        another.request(MetadataRequest(topics=[]), 8)
    assert barrier.waiting == 0
    assert barrier.release() == 0
    assert server.group("g").state == "Dead"


def test_a_wait_at_a_barrier_in_vain_names_it(server):
    barrier = server.faults.hold("SyncGroup", group="g")
    with pytest.raises(WaitTimeout, match=r"^waited 0.01 s for 1 request to be held by hold api=SyncGroup group=g; 0"):
        barrier.wait_for(1, timeout=0.01)


# ---- nothing is left


def test_a_chain_has_the_step_of_the_faults_as_long_as_there_is_one(server):
    assert faulty(server) == set()
    faults = [
        server.faults.answer("Heartbeat", "UNKNOWN_MEMBER_ID"),
        server.faults.delay("Heartbeat", ms=1),
        server.faults.hold("JoinGroup"),
    ]
    assert faulty(server) == {"JoinGroup", "Heartbeat"}
    for fault in faults:
        fault.remove()
    assert faulty(server) == set()


def test_a_fault_that_was_never_hit_fails_on_request(server):
    server.faults.answer("SyncGroup", "ILLEGAL_GENERATION", group="g", nth=3)
    with pytest.raises(AssertionError) as failed:
        server.faults.assert_all_hit()
    (message,) = failed.value.args
    assert message == "1 fault was never hit: answer api=SyncGroup group=g nth=3 error=ILLEGAL_GENERATION"
    server.faults.clear()
    server.faults.assert_all_hit()


@pytest.mark.parametrize(
    ("inject", "message"),
    [
        (lambda faults: faults.answer("Heartbeat", "NONE"), "'NONE' is no error of Kafka's protocol; "),
        (lambda faults: faults.answer("Heartbeat", "UNKNOWN_MEMBER"), "; did you mean 'UNKNOWN_MEMBER_ID'?"),
        (lambda faults: faults.answer("Heartbeat", 25), "answer: error=25: expected `str`, got `int`"),
        (
            lambda faults: faults.answer("heartbeet", "UNKNOWN_MEMBER_ID"),
            "no API 'heartbeet' is served; did you mean 'H",
        ),
        (lambda faults: faults.drop("Shout"), "no API 'Shout' is served; there are AddOffsetsToTxn, "),
        (lambda faults: faults.drop(None), "drop: missing required field `api`"),
        (lambda faults: faults.delay("Fetch", ms=-1), "delay: ms=-1: expected `int` >= 1"),
        (lambda faults: faults.delay("Fetch", ms="1"), "delay: ms='1': expected `int`, got `str`"),
        (lambda faults: faults.drop("Fetch", probability=2), "drop: probability=2: expected `float` <= 1.0"),
        (lambda faults: faults.drop("Fetch", probability=0), "drop: probability=0: expected `float` > 0.0"),
        (lambda faults: faults.drop("Fetch", nth=0), "drop: nth=0: expected `int` >= 1"),
        (lambda faults: faults.drop("Fetch", seconds=float("nan")), "drop: seconds=nan: expected `float` > 0.0"),
        (lambda faults: faults.drop("Fetch", grup="g"), "drop: contains unknown field `grup`; there are api, group, m"),
        (lambda faults: faults.close("Fetch", when="never"), "close: when='never': expected before or after"),
        (lambda faults: faults.unavailable("g", "NONE"), "error='NONE': expected NOT_COORDINATOR or COORDINATOR_LOAD_"),
        (lambda faults: faults.hold("Fetch").release(0), "count=0: expected a whole number from 1 on"),
        (lambda faults: faults.add({"do": ["drop"]}), "there is no fault ['drop']; there are answer, "),
        (lambda faults: faults.add({"do": "burn"}), "there is no fault 'burn'; there are answer, delay, "),
    ],
)
def test_a_fault_that_cannot_be_is_refused_in_one_line(server, inject, message):
    with pytest.raises(FaultError) as failed:
        inject(server.faults)
    assert message in str(failed.value) and "\n" not in str(failed.value)


def test_a_stock_client_rides_out_each_error_once(server):
    """Each retriable error, once, in each API of its way into the group."""
    server.create_topic("orders", partitions=2)
    server.produce("orders", [str(each) for each in range(10)])
    for api, error in (
        ("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
        ("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("SyncGroup", "REBALANCE_IN_PROGRESS"),
        ("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS"),
    ):
        server.faults.answer(api, error, nth=1)
    with consumers(server.bootstrap, "orders", "billing") as (member,):
        deadline = time.monotonic() + 20
        while len(set(member.values)) < 10:
            assert time.monotonic() < deadline and member.problem is None, (member.values, member.problem)
            threading.Event().wait(0.01)
    server.faults.assert_all_hit()

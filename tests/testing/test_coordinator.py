"""The coordinator of a test in its own process: what it answers, how its clock jumps, and what is left of it."""

import gc
import socket
import subprocess
import sys
import threading
import time

import pytest

from coordinator.audit import schema
from coordinator.config.key import ConfigError
from coordinator.testing import Coordinator, TestingError, WaitTimeout
from tests.testing.consumers import consumers
from tests.waiting import wait_for
from tests.wire_client import WireClient, join_request


def wire_member(server: Coordinator, group_id: str, timeout_ms: int = 10_000) -> tuple[WireClient, str]:
    client = WireClient(server.bootstrap, f"client-of-{group_id}")
    return client, client.join_alone(group_id, session_timeout_ms=timeout_ms)


def test_members_share_what_was_produced_and_their_commits_are_seen(server):
    server.create_topic("orders", partitions=4)
    placed = server.produce("orders", ["1", "2", "3", "4", "5"])
    assert [partition for partition, _ in placed] == [0, 1, 2, 3, 0]
    with consumers(server.bootstrap, "orders", "billing", 2):
        group = server.group("billing")
        group.wait_for("Stable", members=2, partitions=4)
        assert sorted(len(each["orders"]) for each in group.assignment.values()) == [2, 2]
        assert {member.client_id for member in group.members} == {"billing-1", "billing-2"}
        assert group.state == "Stable"
    assert group.wait_for("Empty").members == ()
    assert sum(group.committed_offsets["orders"].values()) == 5


def test_keys_choose_the_partition_of_kafkas_producer(server):
    """Expected: Utils.toPositive(Utils.murmur2(key)) % 6, of kafka-clients 4.3.1."""
    from kafka.partitioner.default import murmur2

    server.create_topic("orders", partitions=6)
    keys = ["", "a", "ab", "abc", "abcd", "customer-42", "ключ"]
    placed = server.produce("orders", keys, keys=keys)
    assert [partition for partition, _ in placed] == [(murmur2(key.encode()) & 0x7FFFFFFF) % 6 for key in keys]


def test_the_events_and_the_story_of_a_group_are_at_hand(server):
    client, _ = wire_member(server, "g")
    client.socket.close()
    kinds = [type(event) for event in server.events("g")]
    assert kinds[:2] == [schema.GroupCreated, schema.MemberJoined]
    assert "because" in server.why("g") and "joined" in server.why("g")
    assert server.events("another") == []
    with pytest.raises(TestingError, match=r"^group another has not rebalanced$"):
        server.why("another")
    with pytest.raises(TestingError, match=r"^group g has no generation 7; it has 1 to 1$"):
        server.why("g", generation=7)


def test_a_check_of_rebalances_that_fails_tells_why_each_generation_began(server):
    client, _ = wire_member(server, "g", timeout_ms=5_000)
    client.socket.close()
    server.advance(seconds=5)
    server.assert_rebalances("g", at_most=2, at_least=2, causes={"new_member", "session_expired"})
    server.assert_rebalances("g", at_most=1, causes={"session_expired"}, after_generation=1)
    with pytest.raises(AssertionError) as failed:
        server.assert_rebalances("g", at_most=1)
    assert str(failed.value).startswith("group g rebalanced 2 times, and at most 1 was expected:\n  generation 1 began")
    assert "was silent for 5 s, its session timeout" in str(failed.value)
    with pytest.raises(AssertionError, match=r"because of session_expired, and the expected causes are new_member:"):
        server.assert_rebalances("g", causes={"new_member"})
    with pytest.raises(AssertionError, match="rebalanced 2 times, and at least 3 was expected:"):
        server.assert_rebalances("g", at_least=3)
    with pytest.raises(TestingError, match=r"^there is no cause 'bored'; the causes are new_member, "):
        server.assert_rebalances("g", causes={"bored"})


def test_a_wait_in_vain_says_how_the_group_is(server):
    with pytest.raises(WaitTimeout, match=r"^waited 0.01 s for group g to have Stable; it does not exist$"):
        server.group("g").wait_for("Stable", timeout=0.01)
    client, member_id = wire_member(server, "g")
    with client, pytest.raises(WaitTimeout) as failed:
        server.group("g").wait_for("Stable", members=3, timeout=0.01)
    assert str(failed.value) == (
        "waited 0.01 s for group g to have Stable, 3 members;"
        f" it is Stable in generation 1 with 0 partitions assigned to 1 member: {member_id}"
    )
    with pytest.raises(TestingError, match=r"^there is no state 'stable'; the states are Empty, "):
        server.group("g").wait_for("stable")


def test_a_wait_is_for_the_generation_or_a_later_one_and_for_the_number_of_partitions(server):
    client, member_id = wire_member(server, "g")
    with client:
        client.request(join_request("g", member_id), 3)
        group = server.group("g")
        assert group.wait_for(generation=1).generation_id == group.wait_for(generation=2).generation_id == 2
        with pytest.raises(WaitTimeout, match=r"waited 0.01 s for group g to have generation 3; it is Completing"):
            group.wait_for(generation=3, timeout=0.01)
        with pytest.raises(WaitTimeout, match="to have 1 partition assigned; it is"):
            group.wait_for(partitions=1, timeout=0.01)
        assert group.wait_for(partitions=0, members=1).leader == member_id


# ---- time


def test_the_clock_goes_on_after_a_jump(server):
    def now_ms() -> int:
        found: int = server._node.ask(lambda control: control._now_ms()).result()
        return found

    before_ms = now_ms()
    server.advance(seconds=60)
    after_ms = now_ms()
    assert 60_000 <= after_ms - before_ms < 70_000
    wait_for(lambda: now_ms() > after_ms, 10, "the clock to go on")


def test_a_jump_ends_the_session_of_a_client_that_is_gone_and_of_no_other(server):
    lost, _ = wire_member(server, "lost")
    kept, kept_id = wire_member(server, "kept")
    lost.socket.close()
    with kept:
        server.group("lost").wait_for("Stable")
        server.advance(seconds=45)
        assert server.group("lost").state == "Empty"
        assert server.group("kept").describe().members[0].member_id == kept_id
        assert kept.heartbeat_error("kept", kept_id) == 0


def test_a_connected_client_can_be_said_to_be_silent(server):
    client, member_id = wire_member(server, "g")
    with client:
        server.advance(seconds=45, silent=[member_id])
        assert server.group("g").state == "Empty"
    with pytest.raises(TestingError, match=r"^no member of any group is named nobody$"):
        server.advance(seconds=1, silent=["nobody"])
    with pytest.raises(TestingError, match="give a list"):
        server.advance(seconds=1, silent="g")


def test_each_timer_of_a_jump_fires_at_its_own_time(server):
    """The session ends after 5 s, the rebalance that follows is told at that time, not at the end of the jump."""
    client, _ = wire_member(server, "g", timeout_ms=5_000)
    client.socket.close()
    server.advance(seconds=3600)
    (removed,) = (event for event in server.events("g") if isinstance(event, schema.MemberRemoved))
    joined = next(event for event in server.events("g") if isinstance(event, schema.MemberJoined))
    assert 5_000 <= removed.time_ms - joined.time_ms < 8_000
    assert removed.last_heard_ms is not None and removed.time_ms - removed.last_heard_ms == 5_000


def test_committed_offsets_expire_in_a_jump(server):
    server.create_topic("orders")
    server.produce("orders", ["1"])
    with consumers(server.bootstrap, "orders", "billing"):
        server.group("billing").wait_for("Stable", members=1)
        wait_for(lambda: server.group("billing").committed_offsets, 10, "a commit")
    server.group("billing").wait_for("Empty")
    server.advance(seconds=8 * 24 * 3600)
    assert server.group("billing").state == "Dead"


def test_a_jump_with_too_many_timers_stops_and_says_so(server, monkeypatch):
    monkeypatch.setattr("coordinator.testing.control.DEADLINES_AT_ONCE_MAX", 3)
    client, member_id = wire_member(server, "g", timeout_ms=1_000)
    with client:
        with pytest.raises(TestingError, match=r"cannot advance by 60 s at once: more than 3 timers are due"):
            server.advance(seconds=60)
        assert client.heartbeat_error("g", member_id) == 0


@pytest.mark.parametrize("seconds", [-1, 1e12, float("nan")])
def test_a_jump_is_bounded(server, seconds):
    with pytest.raises(TestingError, match="366 days"):
        server.advance(seconds)


# ---- restarts, errors, what is left


@pytest.mark.parametrize("clean", [False, True])
def test_a_restart_keeps_topics_groups_the_port_and_the_clock(server, clean):
    server.create_topic("orders", partitions=3)
    bootstrap = server.bootstrap
    client, member_id = wire_member(server, "g")
    server.advance(seconds=5)
    before_ms = server.events("g")[-1].time_ms
    server.restart(clean=clean)
    assert server.bootstrap == bootstrap
    with WireClient(bootstrap) as again:
        assert again.heartbeat_error("g", member_id) == 0
    server.advance(seconds=60)
    assert server.group("g").wait_for("Empty").generation_id == 2
    assert server.events("g")[-1].time_ms >= before_ms + 10_000
    server.produce("orders", ["1"], partition=2)
    client.socket.close()


def test_settings_have_kafkas_names(server):
    with Coordinator({"group.max.size": 1, "auto.create.topics.enable": False}) as small:
        client, _ = wire_member(small, "g")
        client.socket.close()
    with pytest.raises(ConfigError, match=r"unknown setting 'group.max.sizes'; did you mean 'group.max.size'"):
        Coordinator({"group.max.sizes": 1})
    with pytest.raises(TestingError, match=r"^log.dirs cannot be set"):
        Coordinator({"log.dirs": "x"})


def test_bad_calls_get_one_line(server):
    for call, message in (
        (lambda: server.produce("nowhere", ["1"]), "there is no topic nowhere; create_topic() makes it"),
        (lambda: server.produce("nowhere", "1"), "values is one value"),
        (lambda: server.produce("nowhere", ["1"], keys=[]), "1 values and 0 keys"),
        (lambda: server.produce("nowhere", [1]), "1 is neither text nor bytes nor None"),
        (lambda: server.create_topic("a/b"), "cannot create topic"),
        (lambda: server.create_topic("none", partitions=0), "cannot create topic none"),
        (lambda: server.create_topic("none", partitions="1"), "partitions='1': expected a whole number from -1 on"),
        (lambda: server.create_topic("many", partitions=10**9), "cannot create topic many"),
        (lambda: server.create_topic(None), "the name of a topic is text, not None"),
        (lambda: server.produce("nowhere", ["1"], partition="0"), "partition='0': expected a whole number from 0 on"),
        (lambda: server.group(None), "the id of a group is text, not None"),
        (lambda: server.group("g").wait_for(members="3"), "members='3': expected a whole number from 0 on"),
        (lambda: server.group("g").wait_for(generation=-1), "generation=-1: expected a whole number from 0 on"),
        (lambda: server.group("g").wait_for("Stable", timeout="1"), "timeout='1': expected a number of seconds"),
        (lambda: server.faults.hold("Fetch").wait_for(0), "requests=0: expected a whole number from 1 on"),
        (lambda: server.advance("45"), "seconds='45': expected a number of seconds"),
        (lambda: server.assert_rebalances("g"), "nothing is expected: give at_most, at_least or causes"),
        (lambda: server.assert_rebalances("g", at_most=-1), "at_most=-1: expected a whole number from 0 on"),
        (server.start, "started once"),
    ):
        with pytest.raises(TestingError) as failed:
            call()
        assert message in str(failed.value) and "\n" not in str(failed.value)
    server.create_topic("orders")
    with pytest.raises(TestingError, match="cannot produce to partition 5 of orders"):
        server.produce("orders", ["1"], partition=5)
    with pytest.raises(TestingError, match="cannot produce to partition 0 of orders"):
        server.produce("orders", ["1" * 2_000_000])


def test_nothing_is_left_of_it():
    threads = threading.active_count()
    with Coordinator() as server:
        host, _, port = server.bootstrap.rpartition(":")
        assert threading.active_count() == threads + 1
    assert threading.active_count() == threads
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), 1)
    with pytest.raises(TestingError, match="does not run"):
        server.group("g").state  # noqa: B018
    server.stop()
    gc.collect()


def test_a_start_takes_milliseconds():
    took = []
    for _ in range(5):
        began = time.perf_counter()
        with Coordinator():
            took.append(time.perf_counter() - began)
    assert min(took) < 0.05, took


def test_what_it_logs_goes_to_the_logger_of_the_standard_library():
    """With the level and the handlers of the application."""
    script = (
        "import logging\n"
        "from coordinator.testing import Coordinator\n"
        "logging.basicConfig(level='INFO', format='%(name)s %(message)s')\n"
        "with Coordinator() as c:\n"
        "    logging.getLogger('application').info('of the application')\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=20)
    assert "coordinator serving bootstrap='127.0.0.1:" in run.stderr
    assert "application of the application" in run.stderr
    assert run.stdout == ""


def test_a_port_in_use_is_said():
    with Coordinator() as server:
        port = int(server.bootstrap.rpartition(":")[2])
        another = Coordinator(port=port)
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}"):
            another.start()
    another.stop()

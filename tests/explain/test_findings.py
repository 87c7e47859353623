"""Each finding from a history that deserves it, and none from a healthy group."""

import pytest

from coordinator.explain.claims.findings import Kind
from coordinator.explain.facts import RETURN_MS
from tests.audit.stories import sync
from tests.explain.consumers import Consumers


def test_a_healthy_group_has_no_findings():
    group = Consumers().group_of("a")
    for name in ("b", "c"):
        group.join(name)
        group.settle()
        group.quiet(1_000)
    group.quiet(300_000)
    assert group.findings() == {}


def test_a_flapping_member():
    group = Consumers().group_of("a", "b")
    for _ in range(3):
        group.leave("b", "consumer poll timeout has expired.")
        group.settle()
        group.quiet(5_000)
        group.join("b")
        group.settle()
    found = group.findings()[Kind.FLAPPING_MEMBER]
    assert found.headline == "b (127.0.0.1) comes and goes: it left or was removed, and came back, 3 times in 10 s"
    assert len(found.evidence) == 3


def test_a_storm():
    group = Consumers().group_of("a", "b")
    for _ in range(6):
        group.join("b", topics=("t", "u"))
        group.settle()
        group.join("b", topics=("t",))
        group.settle()
        group.quiet(10_000)
    assert group.findings()[Kind.REBALANCE_STORM].headline.startswith("a storm: 12 rebalances in 50 s from ")


def test_members_that_start_one_after_the_other_are_no_storm():
    group = Consumers(partitions=12).group_of("m0")
    for number in range(1, 10):
        group.join(f"m{number}")
        group.settle()
    assert Kind.REBALANCE_STORM not in group.findings()


def test_a_rolling_restart_without_static_membership():
    group = Consumers().group_of("a", "b", "c")
    group.quiet(1_000)
    for name in ("a", "b", "c"):
        group.leave(name, "the consumer is being closed")
        group.settle()
        group.quiet(4_000)
        group.join(name)
        group.settle()
    found = group.findings()
    assert found[Kind.ROLLING_RESTART].headline == (
        "a rolling restart without static membership: 3 members left and came back in 12 s"
    )
    assert found[Kind.ROLLING_RESTART].evidence[0] == "it took 6 rebalances"
    assert Kind.FLAPPING_MEMBER not in found


def test_members_that_share_a_client_id_do_not_flap_when_each_is_restarted_once():
    group = Consumers()
    for name in ("a", "b", "c"):
        group.join(name, client_id="app")
        group.settle()
    for name in ("a", "b", "c"):
        group.leave(name, "the consumer is being closed")
        group.settle()
        group.quiet(4_000)
        group.join(name)
        group.settle()
    found = group.findings()
    assert Kind.FLAPPING_MEMBER not in found
    assert Kind.ROLLING_RESTART in found


def test_a_rolling_restart_of_static_members_is_none():
    group = Consumers()
    for name in ("a", "b"):
        group.join(name, instance_id=name)
    group.settle()
    for name in ("a", "b"):
        group.ids.pop(name)
        group.quiet(1_000)
        group.join(name)
    assert group.findings() == {}


@pytest.mark.parametrize(("by_the_same_connection", "commits"), [(True, False), (True, True), (False, False)])
def test_a_session_timeout_that_is_shorter_than_the_pauses(by_the_same_connection, commits):
    group = Consumers().group_of("a", "b")
    for _ in range(2):
        removed_id = group.ids["b"]
        group.vanish("b")
        group.settle()
        group.quiet(2_000)
        if by_the_same_connection:
            group.sim.connections[removed_id] = group.sim.connections["b"]
        # It lives: it learns so that it was removed.
        if commits:
            group.sim.commit(removed_id, generation_id=group.sim.group.generation_id)
        else:
            group.sim.heartbeat(removed_id)
        group.join("b")
        group.settle()
    found = group.findings()[Kind.SHORT_SESSION_TIMEOUT]
    if by_the_same_connection:
        assert found.headline == "b (127.0.0.1) pauses longer than its session timeout of 10 s, and comes back"
        assert found.advice.startswith("raise session.timeout.ms above 12")
    else:  # another process may have joined
        assert found.headline == "b (127.0.0.1) is silent longer than its session timeout of 10 s, and comes back"
        assert found.advice.startswith("if it was not restarted, raise session.timeout.ms above 12")


def crash_and_come_back(group: Consumers, name: str, times: int) -> None:
    for _ in range(times):
        group.quiet(3_000)
        group.crash(name)
        group.settle()
        group.quiet(2_000)
        group.join(name)
        group.settle()


def test_a_crash_loop():
    group = Consumers().group_of("a", "b")
    crash_and_come_back(group, "b", 2)
    found = group.findings()
    loop = found[Kind.CRASH_LOOP]
    assert loop.headline == (
        "b (127.0.0.1) was gone without leaving the group 2 times in 15 s, and came back under a new member id in"
        " between: each time its process ended, or its connection was closed"
    )
    assert loop.evidence == (
        "22:13:23 its connection closed; removed 22:13:33; back 12 s after that",
        "22:13:38 its connection closed; removed 22:13:48; back 12 s after that",
    )
    assert loop.about == "b (127.0.0.1)"
    assert "look at why its process ends" in loop.advice
    assert "raise" not in loop.advice
    assert Kind.SHORT_SESSION_TIMEOUT not in found


def test_members_that_the_coordinator_did_not_hear_have_no_short_session_timeout():
    group = Consumers().group_of("a", "b")
    for _ in range(2):
        group.sim.stand_still(11_000)
        for name in ("a", "b"):
            del group.ids[name]
        group.join("a")
        group.settle()
        group.join("b")
        group.settle()
    assert {Kind.SHORT_SESSION_TIMEOUT, Kind.CRASH_LOOP} & group.findings().keys() == set()


def test_a_crash_loop_is_no_flapping_beside():
    group = Consumers().group_of("a", "b")
    crash_and_come_back(group, "b", 3)
    assert Kind.CRASH_LOOP in group.findings()
    assert Kind.FLAPPING_MEMBER not in group.findings()


def test_a_crash_loop_whose_restarts_are_put_off():
    """More than the minute in which a client counts as back."""
    group = Consumers().group_of("a", "b")
    for _ in range(2):
        group.crash("b")
        group.settle()
        group.quiet(160_000)
        group.join("b")
        group.settle()
    loop = group.findings()[Kind.CRASH_LOOP]
    assert loop.evidence[0] == "22:13:20 its connection closed; removed 22:13:30"


def test_one_crash_is_no_loop():
    group = Consumers().group_of("a", "b")
    crash_and_come_back(group, "b", 1)
    assert Kind.CRASH_LOOP not in group.findings()


def test_a_host_that_dies_once_with_several_clients_of_one_name_is_no_loop():
    group = Consumers().group_of("a")
    for name in ("b", "c"):
        group.join(name, client_id="app")
        group.settle()
    for name in ("b", "c"):
        group.sim.disconnect(group.ids[name])
    group.quiet(10_001, "b", "c")
    for name in ("b", "c"):
        del group.ids[name]
    group.settle()
    for name in ("d", "e"):
        group.join(name, client_id="app")
        group.settle()
    assert Kind.CRASH_LOOP not in group.findings()


def test_two_crashes_with_long_in_between_are_no_loop():
    group = Consumers().group_of("a", "b")
    crash_and_come_back(group, "b", 1)
    group.quiet(11 * 60_000)
    crash_and_come_back(group, "b", 1)
    assert Kind.CRASH_LOOP not in group.findings()


def test_silences_of_which_the_connection_is_unknown_may_be_restarts():
    group = Consumers().group_of("a", "b")
    for _ in range(2):
        connection = group.sim.group.members[group.ids["b"]].client_connection
        assert connection is not None
        connection.close(None)
        group.vanish("b")
        group.settle()
        group.quiet(2_000)
        group.join("b")
        group.settle()
    found = group.findings()[Kind.SHORT_SESSION_TIMEOUT]
    assert found.headline == "b (127.0.0.1) is silent longer than its session timeout of 10 s, and comes back"
    assert found.evidence[-1] == "whether its connection stayed open is unknown: it may have been restarted"
    assert found.advice.startswith("if it was not restarted, raise session.timeout.ms above 12")


def test_a_member_that_crashed_for_good_pauses_for_no_finding():
    group = Consumers().group_of("a")
    for name in ("b", "c"):
        group.join(name, client_id="app")
        group.settle()
    for name in ("b", "c"):
        group.vanish(name)
        group.settle()
    assert Kind.SHORT_SESSION_TIMEOUT not in group.findings()


def test_one_slow_rejoiner():
    group = Consumers(partitions=12).group_of("a", "slow")
    for number in range(3):
        group.join(f"m{number}")
        group.settle({"a": 50, "slow": 3_000})
    found = group.findings()[Kind.SLOW_REJOINER]
    assert found.headline == "slow (127.0.0.1) held up 3 of 4 rebalances, by up to 3 s"


def test_an_eager_assignor_where_nothing_moves():
    group = Consumers().group_of("a", "b")
    for _ in range(3):
        leader = next(name for name, id_ in group.ids.items() if id_ == group.sim.group.leader)
        group.join(leader)
        group.settle({name: 100 for name in group.ids})
    found = group.findings()[Kind.EAGER_WITHOUT_NEED]
    assert found.headline == (
        "3 rebalances stopped all members although no partition had to move: the assignor range is eager"
    )


@pytest.mark.parametrize("protocol", ["cooperative-sticky", "an-assignor-of-their-own"])
def test_an_assignor_that_is_not_known_to_be_eager_and_moves_nothing_is_no_finding(protocol):
    group = Consumers(protocol=protocol).group_of("a", "b")
    for _ in range(3):
        leader = next(name for name, id_ in group.ids.items() if id_ == group.sim.group.leader)
        group.join(leader)
        group.settle({name: 100 for name in group.ids})
    assert group.findings() == {}


@pytest.mark.parametrize(("partitions", "idle"), [(3, None), (2, "1 member of 3 has"), (1, "2 members of 3 have")])
def test_members_beyond_the_partitions(partitions, idle):
    group = Consumers(partitions).group_of("a", "b", "c")
    found = group.findings().get(Kind.IDLE_MEMBERS)
    assert (found and found.headline.split(" nothing")[0]) == idle


def test_a_member_without_partitions_of_its_own_topics_is_found_beside_topics_with_many():
    group = Consumers()
    for name, topic in (("a", "t"), ("b", "u"), ("c", "u")):
        group.join(name, topics=(topic,))
        group.settle({}, {})
    plan = {"a": {"t": [0, 1, 2, 3, 4, 5]}, "b": {"u": [0]}, "c": {}}
    group.join("c", topics=("u",))
    for name in ("a", "b", "c"):
        group.join(name, topics=("t",) if name == "a" else ("u",))
    sync(group.sim, {group.ids[name]: owned for name, owned in plan.items()})
    found = group.findings()[Kind.IDLE_MEMBERS]
    assert found.headline == "1 member of 3 has nothing to do: u has only 1 partition"
    assert found.evidence == ("c",)


def deployed(first: str, second: str) -> Consumers:
    """Three old pods; for each a new one comes and the old one goes, in this order."""
    group = Consumers().group_of("old-1", "old-2", "old-3")
    group.quiet(300_000)
    for number in (1, 2, 3):
        for step in (first, second):
            group.join(f"new-{number}") if step == "come" else group.leave(f"old-{number}")
            group.settle()
            group.quiet(6_000)
    return group


@pytest.mark.parametrize("order", [("come", "go"), ("go", "come")])
def test_new_pods_that_take_the_place_of_old_ones_are_one_deploy(order):
    found = deployed(*order).findings()
    deploy = found[Kind.ROLLING_DEPLOY]
    assert deploy.headline == "a rolling deploy: 3 new members took the place of as many others in 30 s"
    assert deploy.evidence[0] == "it took 6 rebalances"
    assert Kind.ROLLING_RESTART not in found


def test_pods_that_crash_and_are_replaced_are_not_said_to_be_a_deploy():
    group = Consumers().group_of("old-1", "old-2", "old-3")
    group.quiet(300_000)
    for number in (1, 2, 3):
        group.crash(f"old-{number}")
        group.settle()
        group.join(f"new-{number}")
        group.settle()
        group.quiet(6_000)
    assert Kind.ROLLING_DEPLOY not in group.findings(), "who is silent may come back for a minute"
    group.quiet(RETURN_MS)
    found = group.findings()[Kind.ROLLING_DEPLOY]
    assert found.headline.startswith("3 new members took the place of as many others in ")
    assert found.headline.endswith(", 3 of which fell silent")
    assert "if not, look why their processes ended" in found.advice


def test_a_group_that_grows_and_then_shrinks_is_no_deploy():
    group = Consumers().group_of("a", "b", "c", "d", "e", "f")
    group.quiet(300_000)
    for name in ("a", "b", "c"):
        group.leave(name)
        group.settle()
    assert Kind.ROLLING_DEPLOY not in group.findings()


def test_one_pod_that_is_replaced_is_no_deploy():
    group = Consumers().group_of("a", "b")
    group.quiet(300_000)
    group.join("c")
    group.settle()
    group.leave("a")
    group.settle()
    assert Kind.ROLLING_DEPLOY not in group.findings()


def test_a_group_that_nobody_commits_to():
    group = Consumers().group_of("a")
    group.quiet(900_000)
    assert group.findings()[Kind.NO_COMMITS].headline == "nobody has committed an offset for 15 min"


def test_clients_that_take_an_instance_id_from_each_other():
    group = Consumers()
    group.join("a", instance_id="pod-0")
    group.settle()
    for name in ("b", "a", "b", "a"):
        group.ids.clear()
        group.join(name, instance_id="pod-0", client_id=name)
        group.quiet(2_000)
    found = group.findings()[Kind.SHARED_INSTANCE_ID]
    assert found.headline == (
        "a (127.0.0.1) and b (127.0.0.1) take the group.instance.id pod-0 from each other: 3 times in 4 s"
    )
    assert len(found.evidence) == 3


def test_a_static_member_that_is_restarted_again_and_again_shares_nothing():
    group = Consumers()
    group.join("a", instance_id="pod-0")
    group.settle()
    for _ in range(6):
        group.ids.clear()
        group.join("a", instance_id="pod-0")
        group.quiet(2_000)
    assert Kind.SHARED_INSTANCE_ID not in group.findings()
    found = group.findings()[Kind.CRASH_LOOP]
    assert found.headline == (
        "the static member pod-0 of a (127.0.0.1) was restarted 6 times in 10 s, each time before its session ended"
    )
    assert found.about == "pod-0"


def test_a_static_member_that_is_restarted_twice_is_no_loop():
    group = Consumers()
    group.join("a", instance_id="pod-0")
    group.settle()
    for _ in range(2):
        group.ids.clear()
        group.join("a", instance_id="pod-0")
        group.quiet(2_000)
    assert Kind.CRASH_LOOP not in group.findings()

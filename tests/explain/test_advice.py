"""What is advised to which client: the table of (case, client), with every word of it."""

from collections.abc import Callable

import pytest

from tests.explain.consumers import Consumers

JAVA = "apache-kafka-java"
KAFKA_PYTHON = "kafka-python"
LIBRDKAFKA = "confluent-kafka-python"
NAMELESS = ""
CLIENTS = (JAVA, KAFKA_PYTHON, LIBRDKAFKA, NAMELESS)

MAX_POLL_RECORDS = "process less between two calls of poll() (max.poll.records)"
POLL_ALONE = "process less between two calls of poll()"
LONGER = "; a larger max.poll.interval.ms avoids this too, but then each rebalance may wait as long for it"
LEARNS = "b joined late: a member learns of a rebalance with its next heartbeat (heartbeat.interval.ms)"
KEEPS = (
    "members stopped although nothing moved: use cooperative-sticky, with which members go on consuming what they keep"
    " (KIP-429)"
)
ROLLING = (
    f"{KEEPS}, in two rolling restarts: the first with partition.assignment.strategy = cooperative-sticky,"
    " range, the second, when all members have both, with cooperative-sticky alone"
)
STOP_ALL = (
    f"{KEEPS}; these clients do not start with both, so stop all members, then start them with"
    " partition.assignment.strategy = cooperative-sticky"
)
CRASHED = (
    "look at why the process of the silent member ended (its exit code, its log, the memory limit), or what closed its"
    " connection; a longer session.timeout.ms would not help if its process ended: only its partitions would wait"
    " longer"
)
STANDS_STILL = (
    "look at what stopped the silent member (pause, GC, network); only if it pauses and comes back, raise"
    " session.timeout.ms above 10 s"
)


def nothing_moved(group: Consumers) -> None:
    leader = next(name for name, id_ in group.ids.items() if id_ == group.sim.group.leader)
    group.join(leader)
    group.settle(dict.fromkeys(group.ids, 600))


def nothing_moved_in_no_time(group: Consumers) -> None:
    leader = next(name for name, id_ in group.ids.items() if id_ == group.sim.group.leader)
    group.join(leader)
    group.settle(dict.fromkeys(group.ids, 20))


def crash(group: Consumers) -> None:
    group.crash("b")
    group.settle()


def stands_still(group: Consumers) -> None:
    group.vanish("b")
    group.settle()


def exceeds_its_poll_interval(group: Consumers) -> None:
    group.leave("b", "consumer poll timeout has expired")
    group.settle()


def may_exceed_its_poll_interval(group: Consumers) -> None:
    group.quiet(90_000)
    group.leave("b")
    group.settle()


def closes(group: Consumers) -> None:
    group.quiet(1_000)
    group.leave("b")
    group.settle()


def is_late(group: Consumers) -> None:
    group.join("c")
    group.settle({"b": 4_000}, {"a": [0, 2], "b": [1, 3], "c": [4, 5]})


def never_rejoins(group: Consumers) -> None:
    group.join("c")
    group.join("a")
    group.quiet(60_000)
    group.ids.pop("b")
    group.settle()


Play = Callable[[Consumers], None]
BUSY = "the member that did not rejoin was busy between two calls of poll(), or stood still: "
KEPT = "look at what kept the member from rejoining: its application, or a process that stood still"

TABLE: dict[Play, dict[str, tuple[str, ...]]] = {
    nothing_moved: {JAVA: (ROLLING,), KAFKA_PYTHON: (STOP_ALL,), LIBRDKAFKA: (STOP_ALL,), NAMELESS: ()},
    nothing_moved_in_no_time: dict.fromkeys(CLIENTS, ()),
    crash: dict.fromkeys(CLIENTS, (CRASHED,)),
    stands_still: dict.fromkeys(CLIENTS, (STANDS_STILL,)),
    exceeds_its_poll_interval: {
        JAVA: (MAX_POLL_RECORDS + LONGER,),
        KAFKA_PYTHON: (MAX_POLL_RECORDS + LONGER,),
        LIBRDKAFKA: (POLL_ALONE + LONGER,),
        NAMELESS: (POLL_ALONE + LONGER,),
    },
    may_exceed_its_poll_interval: {
        JAVA: (f"if it was not closed on purpose: {MAX_POLL_RECORDS}{LONGER}",),
        KAFKA_PYTHON: (f"if it was not closed on purpose: {MAX_POLL_RECORDS}{LONGER}",),
        LIBRDKAFKA: (f"if it was not closed on purpose: {POLL_ALONE}{LONGER}",),
        NAMELESS: (),
    },
    closes: dict.fromkeys(CLIENTS, ()),
    is_late: {
        JAVA: (f"{LEARNS} and joins in its next poll(): {MAX_POLL_RECORDS}",),
        KAFKA_PYTHON: (f"{LEARNS} and joins in its next poll(): {MAX_POLL_RECORDS}",),
        LIBRDKAFKA: (LEARNS,),
        NAMELESS: (LEARNS,),
    },
    never_rejoins: {
        JAVA: (BUSY + MAX_POLL_RECORDS,),
        KAFKA_PYTHON: (BUSY + MAX_POLL_RECORDS,),
        LIBRDKAFKA: (KEPT,),
        NAMELESS: (KEPT,),
    },
}


@pytest.mark.parametrize("client", CLIENTS, ids=lambda each: each or "nameless")
@pytest.mark.parametrize("play", TABLE, ids=lambda each: each.__name__)
def test_each_client_is_advised_what_it_can_follow(play: Play, client: str) -> None:
    group = Consumers(software=client).group_of("a", "b")
    play(group)
    assert group.story().advice == TABLE[play][client]


def test_a_client_that_moves_needlessly_and_cannot_mix_is_advised_sticky():
    group = Consumers(software=KAFKA_PYTHON).group_of("a", "b")
    group.leave("b")
    group.join("b")
    group.settle()
    group.leave("b")
    group.join("c")
    group.settle(plan={"a": [1, 3, 5], "c": [0, 2, 4]})
    assert any(
        "use sticky, which moves no more than it has to, in two rolling" in each for each in group.story().advice
    )


def test_a_subscription_that_only_some_members_have_is_worth_a_word():
    group = Consumers().group_of("a", "b")
    group.join("b", topics=("t", "u"))
    group.settle()
    assert any("give all members the same topics" in each for each in group.story().advice)


def test_the_only_member_may_change_its_subscription():
    group = Consumers().group_of("a")
    group.join("a", topics=("t", "u"))
    group.settle()
    assert group.story().advice == ()


def test_the_process_of_a_member_that_asks_again_after_its_session_lives():
    group = Consumers().group_of("a", "b")
    b = group.ids["b"]
    group.crash("b")
    group.settle()
    assert any("process of the silent member ended" in each for each in group.story().advice)
    group.sim.heartbeat(b)
    assert not any("process of the silent member ended" in each for each in group.story().advice)
    assert any(each.startswith("look at what closes its connection") for each in group.story().advice)

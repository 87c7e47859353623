"""Clients that are restarted, close to other things: what would have helped them."""

from typing import Final

from tests.world.history import Action, ConsumerSetup, History, Setup

FOUND: Final[dict[str, History]] = {
    "a member leaves late, finds the group full, and is taken for one of an earlier deploy": History(
        Setup(
            (
                ConsumerSetup(),
                ConsumerSetup(),
                ConsumerSetup(kind="modern", max_poll_interval_ms=12000),
            ),
            max_size=2,
        ),
        (
            Action(14467, "unsubscribe"),
            Action(19179, "start", 2, 3),
            Action(21379, "block", 2, 14944),
            Action(28036, "lose_host", 0, 821),
        ),
        until_ms=60000,
        reported_ms=(),
    ),
    "two clients are restarted, and one of them crashes after that": History(
        Setup(
            (
                ConsumerSetup(),
                ConsumerSetup(session_timeout_ms=15000),
            ),
        ),
        (
            Action(28729, "roll", 0, 1000),
            Action(35757, "crash_loop", 1, 4),
            Action(39524, "close", 1, 2212),
        ),
        until_ms=60000,
        reported_ms=(),
    ),
    "one client is restarted twice, on two hosts": History(
        Setup(
            (
                ConsumerSetup(assignors=("cooperative-sticky",)),
                ConsumerSetup(kind="librdkafka", assignors=("cooperative-sticky",)),
            ),
        ),
        (
            Action(32625, "unsubscribe", 1),
            Action(39403, "subscribe", 1, 6),
            Action(42050, "lose_host", 1, 674),
            Action(43745, "close", 1, 12493),
        ),
        until_ms=90000,
        reported_ms=(),
    ),
    "a static member comes back to a group that others would have filled": History(
        Setup(
            (
                ConsumerSetup(kind="modern"),
                ConsumerSetup(kind="modern"),
                ConsumerSetup(kind="modern", instance_id="i-3"),
            ),
            max_size=3,
        ),
        (
            Action(3324, "kill", 1),
            Action(4554, "close", 2),
            Action(28832, "kill", 2, 27147),
            Action(32686, "kill_coordinator", 1, 3774),
        ),
        until_ms=60000,
        reported_ms=(),
    ),
    "a restart takes longer than the session": History(
        Setup(
            (
                ConsumerSetup(),
                ConsumerSetup(session_timeout_ms=6000),
            ),
        ),
        (
            Action(5518, "block", 0, 21961),
            Action(6787, "close", 1, 7820),
        ),
        until_ms=60000,
        reported_ms=(16758,),
    ),
    "a client leaves amid a rebalance that began for another one": History(
        Setup(
            (ConsumerSetup(session_timeout_ms=15000),),
        ),
        (
            Action(10968, "lose_host", 0, 4980),
            Action(16207, "die_joining"),
            Action(21564, "start", 0, 1),
            Action(25285, "close", 0, 6922),
        ),
        until_ms=40000,
        reported_ms=(),
    ),
    "a member sends SyncGroup, which renews no session, and is silent": History(
        Setup(
            (
                ConsumerSetup(),
                ConsumerSetup(instance_id="i-1"),
                ConsumerSetup(instance_id="i-2", session_timeout_ms=6000, starts=False),
            ),
            max_size=2,
            seed=10003028,
        ),
        (
            Action(13416, "lose_host", 0, 16556),
            Action(24138, "start", 2, 5),
            Action(24935, "suspend", 2, 5357),
            Action(31022, "cut", 2, 4801),
        ),
        until_ms=60000,
        reported_ms=(),
    ),
    "a static member is restarted twice, the second time for longer": History(
        Setup(
            (ConsumerSetup(kind="modern", instance_id="i-0"),),
        ),
        (
            Action(46623, "lose_host", 0, 5083),
            Action(63562, "close"),
            Action(76070, "kill", 0, 3886),
        ),
        until_ms=90000,
        reported_ms=(),
    ),
}

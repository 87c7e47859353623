"""Clients that are restarted, close to other things: what would have helped them."""

from typing import Final

from tests.world.corpus.shapes import COOPERATIVE, JAVA, MODERN, history
from tests.world.history import Action, History

FOUND: Final[dict[str, History]] = {
    "a member leaves late, finds the group full, and is taken for one of an earlier deploy": history(
        [JAVA, JAVA, JAVA._replace(kind="modern", max_poll_interval_ms=12_000)],
        Action(14_467, "unsubscribe"),
        Action(19_179, "start", 2, 3),
        Action(21_379, "block", 2, 14_944),
        Action(28_036, "lose_host", 0, 821),
        max_size=2,
    ),
    "two clients are restarted, and one of them crashes after that": history(
        [JAVA, JAVA._replace(session_timeout_ms=15_000)],
        Action(28_729, "roll", 0, 1_000),
        Action(35_757, "crash_loop", 1, 4),
        Action(39_524, "close", 1, 2_212),
    ),
    "one client is restarted twice, on two hosts": history(
        [COOPERATIVE, COOPERATIVE._replace(kind="librdkafka")],
        Action(32_625, "unsubscribe", 1),
        Action(39_403, "subscribe", 1, 6),
        Action(42_050, "lose_host", 1, 674),
        Action(43_745, "close", 1, 12_493),
        until_ms=90_000,
    ),
    "a static member comes back to a group that others would have filled": history(
        [JAVA._replace(kind="modern"), JAVA._replace(kind="modern"), JAVA._replace(kind="modern", instance_id="i-3")],
        Action(3_324, "kill", 1),
        Action(4_554, "close", 2),
        Action(28_832, "kill", 2, 27_147),
        Action(32_686, "kill_coordinator", 1, 3_774),
        max_size=3,
    ),
    "a restart takes longer than the session": history(
        [JAVA, JAVA._replace(session_timeout_ms=6_000)],
        Action(5_518, "block", 0, 21_961),
        Action(6_787, "close", 1, 7_820),
        reported_ms=(16_758,),
    ),
    "a client leaves amid a rebalance that began for another one": history(
        [JAVA._replace(session_timeout_ms=15_000)],
        Action(10_968, "lose_host", 0, 4_980),
        Action(16_207, "die_joining"),
        Action(21_564, "start", 0, 1),
        Action(25_285, "close", 0, 6_922),
        until_ms=40_000,
    ),
    "a member sends SyncGroup, which renews no session, and is silent": history(
        [
            JAVA,
            JAVA._replace(instance_id="i-1"),
            JAVA._replace(instance_id="i-2", session_timeout_ms=6_000, starts=False),
        ],
        Action(13_416, "lose_host", 0, 16_556),
        Action(24_138, "start", 2, 5),
        Action(24_935, "suspend", 2, 5_357),
        Action(31_022, "cut", 2, 4_801),
        max_size=2,
        seed=10003028,
    ),
    "a static member is restarted twice, the second time for longer": history(
        [JAVA._replace(kind="modern", instance_id="i-0")],
        Action(46_623, "lose_host", 0, 5_083),
        Action(63_562, "close"),
        Action(76_070, "kill", 0, 3_886),
        until_ms=90_000,
    ),
    "a client asks again under its member id, and is restarted before it joins": history(
        [JAVA._replace(session_timeout_ms=6_000)],
        Action(17_972, "suspend", 0, 7_038),
        Action(43_032, "suspend", 0, 16_791),
        Action(55_824, "unsubscribe"),
        Action(69_224, "kill", 0, 2_322),
        until_ms=90_000,
    ),
    "with a longer session the process that comes back ends before it asks for anything": history(
        [MODERN, MODERN._replace(instance_id="i-1")],
        Action(14_269, "kill_coordinator", 0, 2_652),
        Action(23_538, "close", 1),
        Action(72_547, "crash_loop", 1, 5),
        Action(73_297, "unsubscribe", 1),
        Action(73_778, "kill", 0, 4_992),
        until_ms=90_000,
        topics=(("t", 1),),
        consumer_heartbeat_ms=1_000,
        seed=89_203_976,
    ),
}

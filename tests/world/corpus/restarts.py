"""The coordinator ends and starts again, or cannot write, and rebalances are lost."""

from typing import Final

from tests.world.corpus.shapes import COOPERATIVE, JAVA, MODERN, history
from tests.world.history import Action, ConsumerSetup, History

FOUND: Final[dict[str, History]] = {
    "a member dies before a kill of the coordinator": history(
        [JAVA, JAVA, JAVA], Action(20_000, "kill", 1), Action(24_000, "kill_coordinator", 0, 900)
    ),
    "a member dies before an ordered stop of the coordinator": history(
        [JAVA, JAVA, JAVA], Action(20_000, "kill", 1), Action(24_000, "stop_coordinator", 0, 900)
    ),
    "a cooperative member dies before a kill of the coordinator": history(
        [COOPERATIVE] * 3, Action(20_000, "kill", 1), Action(24_000, "kill_coordinator", 0, 900)
    ),
    "a cooperative member dies before an ordered stop of the coordinator": history(
        [COOPERATIVE] * 3, Action(20_000, "kill", 1), Action(24_000, "stop_coordinator", 0, 900)
    ),
    "a member dies while there is no coordinator": history(
        [JAVA, JAVA, JAVA], Action(20_000, "stop_coordinator", 0, 4_000), Action(21_000, "kill", 1)
    ),
    "all members are restarted while there is no coordinator": history(
        [JAVA, JAVA], Action(20_000, "stop_coordinator", 0, 4_000), Action(20_500, "roll", 0, 1_000)
    ),
    "the disk is full when a member dies": history(
        [MODERN], Action(8_919, "fill_disk", 0, 3_630), Action(10_447, "kill", 0, 1_083)
    ),
    "a host is lost": history([JAVA, JAVA], Action(20_000, "lose_host", 1, 5_000)),
    "a disk is full after a start, and a member dies": history(
        [JAVA, JAVA], Action(4_104, "kill", 1), Action(4_484, "fill_disk", 1, 3_355)
    ),
    "partitions are taken from a member that is dead": history(
        [COOPERATIVE._replace(heartbeat_ms=2_000), COOPERATIVE._replace(starts=False), COOPERATIVE, JAVA],
        Action(18_620, "kill", 1, 6_415),
        Action(26_266, "kill", 0, 6_749),
        seed=8_001_929,
    ),
    "members rejoin for a rebalance that was lost": history(
        [
            COOPERATIVE,
            COOPERATIVE._replace(topics=("t", "u"), instance_id="i-1"),
            COOPERATIVE._replace(topics=("t", "u"), instance_id="i-2"),
            ConsumerSetup("librdkafka", ("cooperative-sticky",), instance_id="i-3"),
            COOPERATIVE._replace(topics=("t", "u"), instance_id="i-4"),
        ],
        Action(4_614, "delete_topic", 4, 3_172),
        Action(18_309, "roll", 3, 10_001),
        Action(21_340, "delete_topic", 3, 17_095),
        Action(42_846, "remove_member"),
        Action(42_852, "kill_coordinator", 1, 2_098),
        topics=(("t", 2), ("u", 3)),
        initial_delay_ms=3_000,
        seed=8_002_473,
    ),
    "a group that is lost rejects the heartbeats of its members": history(
        [JAVA, MODERN],
        Action(44_393, "crash_loop", 0, 5),
        Action(47_525, "kill", 1),
        until_ms=90_000,
        consumer_session_ms=15_000,
    ),
    "a member that a load takes back asks again after its second removal": history(
        [ConsumerSetup(instance_id=f"i-{number}") for number in range(3)],
        Action(4_479, "stop_coordinator", 1, 1_259),
        Action(17_762, "proxy_all", 0, 28_243),
        until_ms=90_000,
        max_size=2,
    ),
    "a full disk lets a session begin again after a start": history(
        [JAVA],
        Action(6_589, "kill_coordinator", 0, 2_277),
        Action(15_462, "fill_disk", 0, 3_164),
        Action(16_817, "crash_loop", 0, 5),
        until_ms=40_000,
    ),
    "a full disk lets the coordinator forget what clients are": history(
        [JAVA._replace(kind="librdkafka"), JAVA],
        Action(7_834, "fill_disk", 0, 5_257),
        Action(19_143, "roll", 0, 10_001),
        max_size=1,
    ),
    "the first rejoin is lost to a full disk": history(
        [JAVA], Action(6_455, "fill_disk", 0, 3_755), Action(6_790, "subscribe", 0, 7)
    ),
    "a rebalance is told of before it is lost to a full disk": history(
        [JAVA, JAVA],
        Action(18_158, "suspend", 1, 2_856),
        Action(26_822, "close", 0, 1_391),
        Action(29_755, "fill_disk", 0, 2_694),
        until_ms=40_000,
        reported_ms=(32884,),
    ),
    "an application unsubscribes soon after a start": history(
        [JAVA._replace(kind="librdkafka", max_poll_interval_ms=12_000)],
        Action(14_531, "kill_coordinator", 0, 3_094),
        Action(19_342, "unsubscribe"),
        until_ms=40_000,
    ),
    "a removal by an administrator is lost": history(
        [JAVA, JAVA._replace(session_timeout_ms=6_000)],
        Action(25_163, "remove_member", 1),
        Action(25_417, "kill_coordinator", 0, 1_601),
        Action(49_733, "mute", 1, 29_992),
        seed=9_023_239,
    ),
    "the removal of a suspended member is lost, and it leaves later": history(
        [JAVA, JAVA],
        Action(17_861, "suspend", 0, 7_542),
        Action(25_402, "kill_coordinator", 0, 5_534),
        Action(43_345, "close", 0, 7_818),
    ),
    "an application unsubscribes and subscribes again during a rolling restart": history(
        [MODERN, JAVA._replace(instance_id="i-1"), JAVA],
        Action(10_569, "roll", 1, 10_001),
        Action(20_674, "unsubscribe"),
        Action(25_039, "subscribe", 0, 6),
        until_ms=40_000,
    ),
    "a member that found no room is a member again after a start": history(
        [JAVA, JAVA, JAVA],
        Action(17_354, "kill_coordinator", 1, 4_972),
        Action(18_162, "block", 0, 7_405),
        max_size=2,
        seed=200_789,
        until_ms=90_000,
    ),
    "a cooperative member that found no room is a member again after a start": history(
        [
            COOPERATIVE._replace(heartbeat_ms=2_000, max_poll_interval_ms=12_000),
            COOPERATIVE._replace(max_poll_interval_ms=12_000),
            COOPERATIVE,
        ],
        Action(10_473, "kill_coordinator", 2, 4_119),
        max_size=2,
        seed=401_664,
        until_ms=40_000,
    ),
    "a static member that left is refused as it comes again after a start, and is removed then": history(
        [MODERN._replace(instance_id=f"i-{number}") for number in range(3)],
        Action(13_714, "kill_coordinator", 0, 5_164),
        Action(18_507, "unsubscribe", 2),
        Action(19_099, "subscribe", 2, 3),
        topics=(("t", 2),),
        consumer_session_ms=15_000,
        consumer_heartbeat_ms=1_000,
        seed=1_102_595,
    ),
    "a cooperative member dies as it joins again, and the coordinator forgets when it was heard": history(
        [COOPERATIVE, COOPERATIVE],
        Action(16_483, "die_joining"),
        Action(21_179, "subscribe", 0, 5),
        Action(25_402, "kill_coordinator", 0, 860),
        until_ms=90_000,
        seed=81_401_439,
    ),
}

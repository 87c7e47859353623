"""The newest small histories in which something was told that was not so, one for each kind of what was found."""

from typing import Final

from tests.world.corpus import COMPANY, COOPERATIVE, JAVA, MODERN, history
from tests.world.history import Action, History

LATEST: Final[dict[str, History]] = {
    "a SyncGroup is read after a pause in which the session of its member ended": history(
        [JAVA._replace(max_poll_interval_ms=12_000), JAVA, JAVA._replace(max_poll_interval_ms=12_000)],
        Action(11_859, "starve", 1, 6_662),
        Action(12_699, "pause_coordinator", 1, 9_803),
        max_size=2,
    ),
    "a full disk lets a session begin again after a start": history(
        [JAVA],
        Action(6_589, "kill_coordinator", 0, 2_277),
        Action(15_462, "fill_disk", 0, 3_164),
        Action(16_817, "crash_loop", 0, 5),
        until_ms=40_000,
    ),
    "a muted connection closes while the coordinator stands still": history(
        [
            COOPERATIVE._replace(max_poll_interval_ms=20_000),
            COOPERATIVE._replace(max_poll_interval_ms=20_000),
            COOPERATIVE._replace(max_poll_interval_ms=20_000),
            COOPERATIVE._replace(session_timeout_ms=15_000, max_poll_interval_ms=20_000),
            COOPERATIVE._replace(session_timeout_ms=15_000),
        ],
        Action(20_897, "kill_coordinator", 2, 5_283),
        Action(23_755, "close", 4, 2_014),
        Action(61_250, "mute", 3, 29_585),
        Action(75_594, "pause_coordinator", 3, 4_802),
        topics=(("t", 2),),
        max_size=4,
        seed=9_000_308,
        until_ms=90_000,
    ),
    "a topic that a cooperative member lost is made again": history(
        [COOPERATIVE._replace(instance_id="i-0"), COOPERATIVE._replace(kind="librdkafka")],
        Action(13_747, "unsubscribe"),
        Action(16_664, "subscribe", 1, 1),
        Action(20_571, "delete_topic", 1, 7_336),
    ),
    "a client that was cut off before gives up in a pause": history(
        [JAVA],
        Action(15_354, "proxy", 0, 23_595),
        Action(41_943, "pause_coordinator", 0, 6_077),
        Action(46_949, "proxy_all", 0, 19_633),
    ),
    "a member leaves in the ms in which its epoch is stable": history(
        [MODERN, JAVA],
        Action(11_837, "remove_member"),
        Action(14_793, "suspend", 0, 6_122),
        Action(19_239, "unsubscribe"),
        seed=9_010_016,
        until_ms=40_000,
    ),
    "a member leaves in the ms in which its generation is stable": history(
        [COOPERATIVE._replace(instance_id="i-0"), COOPERATIVE._replace(instance_id="i-1"), COOPERATIVE],
        Action(3_168, "close", 2, 1_259),
        seed=9_014_718,
        until_ms=40_000,
    ),
    "a client that asked again is killed later": history(
        [MODERN],
        Action(8_314, "cut", 0, 17_882),
        Action(36_283, "kill"),
        Action(37_704, "start", 0, 4),
        Action(38_087, "kill", 0, 7_273),
    ),
    "a static classic member of a consumer group comes back after a start": history(
        [JAVA._replace(topics=("t", "u"), instance_id="i-0"), MODERN],
        Action(16_394, "stop_coordinator", 0, 5_848),
        Action(17_134, "crash_loop", 0, 2),
        Action(21_146, "subscribe", 0, 3),
    ),
    "a full disk lets the coordinator forget what clients are": history(
        [JAVA._replace(kind="librdkafka"), JAVA],
        Action(7_834, "fill_disk", 0, 5_257),
        Action(19_143, "roll", 0, 10_001),
        max_size=1,
    ),
    "a partition has no owner twice in one rebalance": history(
        [JAVA, MODERN, JAVA._replace(starts=False), MODERN, MODERN],
        Action(16_603, "suspend", 0, 6_098),
        Action(20_178, "kill_coordinator", 2, 3_845),
        Action(33_078, "stop_coordinator", 2, 2_152),
        Action(38_095, "kill", 4, 3_636),
        Action(40_762, "kill", 1, 2_069),
        Action(41_724, "kill", 2, 5_964),
        seed=9_017_475,
    ),
    "an application is busy from before its assignment until its client leaves": history(
        [JAVA, JAVA._replace(session_timeout_ms=15_000), JAVA, JAVA._replace(max_poll_interval_ms=12_000)],
        Action(8_533, "suspend", 1, 17_772),
        Action(9_060, "close", 2, 4_503),
        Action(17_798, "block", 3, 17_946),
        seed=9_000_531,
        until_ms=40_000,
    ),
    "an application is busy with its first assignment": history(
        [COOPERATIVE._replace(max_poll_interval_ms=12_000), COOPERATIVE],
        Action(4_079, "block", 0, 13_448),
        initial_delay_ms=3_000,
        seed=9_010_035,
        until_ms=40_000,
    ),
    "a static member comes back while a rebalance is lost, and is silent again": history(
        [JAVA._replace(instance_id="i-0"), JAVA, JAVA],
        Action(15_007, "mute", 2, 18_003),
        Action(18_381, "kill", 0, 13_686),
        Action(21_967, "kill", 2),
        Action(24_022, "kill_coordinator", 2, 702),
        Action(33_649, "suspend", 0, 23_040),
    ),
    "a static member takes its place in a group that is loaded as it was before": history(
        [JAVA._replace(instance_id="i-0"), JAVA._replace(instance_id="i-1"), JAVA._replace(instance_id="i-2")],
        Action(12_157, "close", 0, 8_008),
        Action(25_769, "stop_coordinator", 0, 2_240),
        Action(25_999, "suspend", 1, 5_132),
        max_size=2,
        seed=9_001_885,
        until_ms=40_000,
    ),
    "the first rejoin is lost to a full disk": history(
        [JAVA], Action(6_455, "fill_disk", 0, 3_755), Action(6_790, "subscribe", 0, 7)
    ),
    "an application unsubscribes soon after a long join phase": history(
        [
            COOPERATIVE._replace(max_poll_interval_ms=12_000),
            COOPERATIVE._replace(kind="librdkafka", max_poll_interval_ms=12_000),
            COOPERATIVE._replace(max_poll_interval_ms=12_000),
        ],
        Action(14_889, "unsubscribe", 1),
        max_size=2,
        until_ms=40_000,
    ),
    "a topic is made again after a start, and grows": history(
        [JAVA._replace(assignors=("roundrobin",)), JAVA._replace(assignors=("roundrobin",))],
        Action(7_228, "delete_topic", 0, 1_898),
        Action(7_341, "stop_coordinator", 0, 2_580),
        Action(19_899, "grow_topic", 0, 4),
        initial_delay_ms=3_000,
    ),
    "a topic is made again while its group is empty and has no offsets": history(
        [JAVA],
        Action(3_260, "unsubscribe"),
        Action(5_422, "delete_topic", 0, 1_208),
        Action(13_346, "close", 0, 19_956),
        until_ms=40_000,
    ),
    "the requests over a new connection are refused": history(
        [JAVA], Action(6_621, "refuse", 0, 17_287), Action(7_754, "cut", 0, 5_243)
    ),
    "a full group refuses the new JoinGroup of a member that it waits for": history(
        [
            COOPERATIVE._replace(instance_id="i-1", session_timeout_ms=15_000, max_poll_interval_ms=12_000),
            COOPERATIVE._replace(max_poll_interval_ms=12_000),
            COOPERATIVE._replace(max_poll_interval_ms=12_000),
        ],
        Action(3_101, "stop_coordinator", 1, 538),
        Action(7_561, "subscribe", 0, 2),
        initial_delay_ms=3_000,
        max_size=3,
        until_ms=90_000,
    ),
    "a static member joins in the ms in which it is removed": history(
        [MODERN._replace(instance_id="i-0"), MODERN, MODERN],
        Action(4_183, "cut", 1, 6_300),
        Action(43_144, "lose_host", 0, 2_026),
        seed=9_000_429,
    ),
    "a rebalance is told of before it is lost to a full disk": history(
        [JAVA, JAVA],
        Action(18_158, "suspend", 1, 2_856),
        Action(26_822, "close", 0, 1_391),
        Action(29_755, "fill_disk", 0, 2_694),
        until_ms=40_000,
        reported_ms=(32884,),
    ),
    "a static member that has ended is assigned what it had": history(
        [COMPANY._replace(instance_id="i-3", session_timeout_ms=15_000, max_poll_interval_ms=12_000), COMPANY],
        Action(34_414, "close"),
        Action(35_881, "close", 1, 2_434),
    ),
    "an application unsubscribes soon after a start": history(
        [JAVA._replace(kind="librdkafka", max_poll_interval_ms=12_000)],
        Action(14_531, "kill_coordinator", 0, 3_094),
        Action(19_342, "unsubscribe"),
        until_ms=40_000,
    ),
    "a topic is made again while its consumer group is empty and has no offsets": history(
        [MODERN],
        Action(3_260, "unsubscribe"),
        Action(5_422, "delete_topic", 0, 1_208),
        Action(13_346, "close", 0, 19_956),
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
    "a new process ends soon after a pause": history(
        [MODERN], Action(11_607, "pause_coordinator", 0, 14_691), Action(23_490, "crash_loop", 0, 4)
    ),
    "a member of a consumer group is removed and comes back with its id": history(
        [MODERN, MODERN._replace(instance_id="i-3")],
        Action(36_371, "kill", 1, 1_422),
        Action(38_684, "delete_topic", 0, 1_096),
        Action(42_860, "remove_member"),
    ),
    "a member that is cut off is assigned partitions of others": history(
        [
            COOPERATIVE._replace(max_poll_interval_ms=12_000),
            COOPERATIVE._replace(max_poll_interval_ms=12_000),
            COOPERATIVE._replace(max_poll_interval_ms=12_000),
            COOPERATIVE._replace(instance_id="i-4", session_timeout_ms=15_000, max_poll_interval_ms=12_000),
        ],
        Action(10_024, "grow_topic", 3, 3),
        Action(12_200, "cut", 3, 15_430),
        max_size=4,
        seed=9_011_401,
        until_ms=40_000,
    ),
    "a topic is made again, and its consumer closes later": history(
        [JAVA._replace(kind="kafka-python")], Action(19_306, "delete_topic", 0, 1_665), Action(46_289, "roll", 0, 2_001)
    ),
    "members come and go in the ms in which a pause ends": history(
        [MODERN, MODERN],
        Action(32_225, "suspend", 1, 7_442),
        Action(33_814, "pause_coordinator", 0, 21_216),
        Action(37_039, "close", 0, 2_526),
        topics=(("t", 1),),
        consumer_heartbeat_ms=3_000,
        seed=9_004_378,
    ),
    "a member has no place before its SyncGroup is read": history(
        [
            COOPERATIVE._replace(max_poll_interval_ms=12_000),
            COOPERATIVE._replace(max_poll_interval_ms=12_000),
            COOPERATIVE,
            COOPERATIVE._replace(max_poll_interval_ms=12_000),
        ],
        Action(3_680, "stop_coordinator", 1, 4_171),
        Action(17_041, "mute", 0, 3_538),
        Action(17_289, "remove_member", 1),
        max_size=3,
        until_ms=40_000,
    ),
    "the requests of a classic member are rejected over a new connection": history(
        [COOPERATIVE, MODERN._replace(instance_id="i-1"), COOPERATIVE],
        Action(22_214, "suspend", 1, 3_476),
        Action(22_396, "lose_host"),
        Action(28_924, "proxy", 2, 6_068),
        Action(31_005, "kill", 1, 3_720),
        consumer_heartbeat_ms=1_000,
    ),
    "a classic member of a consumer group ends before it asks for its part": history(
        [MODERN, JAVA, JAVA], Action(3_156, "kill_coordinator", 1, 5_775), seed=9_022_619, until_ms=40_000
    ),
    "an application unsubscribes and subscribes again during a rolling restart": history(
        [MODERN, JAVA._replace(instance_id="i-1"), JAVA],
        Action(10_569, "roll", 1, 10_001),
        Action(20_674, "unsubscribe"),
        Action(25_039, "subscribe", 0, 6),
        until_ms=40_000,
    ),
    "a rebalance moves nothing while a static member is restarted": history(
        [JAVA._replace(instance_id="i-0"), JAVA._replace(starts=False)],
        Action(31_023, "crash_loop", 0, 5),
        Action(33_448, "kill", 1, 5_846),
        topics=(("t", 1),),
        until_ms=90_000,
    ),
}

"""Static members."""

from typing import Final

from tests.world.corpus.shapes import COMPANY, COOPERATIVE, JAVA, MODERN, history
from tests.world.history import Action, ConsumerSetup, History

FOUND: Final[dict[str, History]] = {
    "a static member of the new protocol crashes and comes back": history(
        [MODERN._replace(instance_id="i-0"), MODERN], Action(20_000, "kill", 0, 2_000), reported_ms=(24_000,)
    ),
    "a static member of the new protocol crashes, comes back and is gone": history(
        [MODERN._replace(instance_id="i-0"), MODERN],
        Action(20_000, "kill", 0, 2_000),
        Action(25_000, "kill"),
        reported_ms=(
            24_000,
            29_000,
        ),
    ),
    "a static member of the new protocol crashes again and again": history(
        [MODERN._replace(instance_id="i-1")], Action(20_000, "crash_loop", 0, 3)
    ),
    "a static member is away for longer than its session": history(
        [JAVA, JAVA._replace(instance_id="i-1")], Action(20_000, "kill", 1, 13_000)
    ),
    "a static member joins again in a join phase": history(
        [COOPERATIVE, COOPERATIVE._replace(instance_id="i-2")],
        Action(19_283, "unsubscribe"),
        Action(32_525, "roll", 0, 1_000),
        seed=5058,
    ),
    "a static member unsubscribes": history(
        [COOPERATIVE, COOPERATIVE._replace(instance_id="i-1"), COOPERATIVE],
        Action(22_316, "lose_host", 2),
        Action(26_433, "unsubscribe", 1),
    ),
    "a static member is restarted while the group rebalances": history(
        [COOPERATIVE, COOPERATIVE._replace(instance_id="i-1"), COOPERATIVE], Action(49_481, "roll", 2, 2_001)
    ),
    "a static member of the new protocol is closed while the coordinator restarts": history(
        [MODERN._replace(instance_id="i-1")],
        Action(19_180, "close", 0, 1_527),
        Action(19_737, "kill_coordinator", 0, 3_144),
    ),
    "a static member is away while its group rebalances": history(
        [
            COOPERATIVE._replace(instance_id="i-0", max_poll_interval_ms=20_000),
            COOPERATIVE._replace(max_poll_interval_ms=20_000),
        ],
        Action(15_625, "subscribe"),
        Action(18_120, "close", 0, 28_643),
    ),
    "a static member is away, and its group is full": history(
        [JAVA._replace(instance_id="i-0")], Action(31_081, "close", 0, 19_879), Action(35_718, "kill"), max_size=1
    ),
    "a static member of the new protocol is away during two starts": history(
        [MODERN._replace(instance_id="i-0")],
        Action(21_256, "close", 0, 19_079),
        Action(25_106, "kill_coordinator", 0, 528),
        Action(39_403, "stop_coordinator", 0, 829),
    ),
    "static members come back after a rebalance was lost": history(
        [COOPERATIVE._replace(instance_id="i-0"), COOPERATIVE, COOPERATIVE._replace(instance_id="i-2")],
        Action(26_330, "starve", 0, 7_558),
        Action(28_662, "remove_member", 2),
        Action(31_714, "lose_host"),
        Action(32_098, "stop_coordinator", 2, 4_924),
        Action(32_630, "start", 0, 2),
        Action(33_863, "close", 1),
    ),
    "a static member is restarted in a consumer group": history(
        [COOPERATIVE, COOPERATIVE._replace(instance_id="i-1"), MODERN._replace(starts=False)],
        Action(8_305, "roll", 1, 2_001),
        Action(10_265, "start", 2),
        consumer_heartbeat_ms=1_000,
    ),
    "static members are restarted around a start of the coordinator": history(
        [JAVA, COMPANY, COMPANY._replace(instance_id="i-2"), COMPANY._replace(instance_id="i-3")],
        Action(32_629, "roll", 0, 2_001),
        Action(36_802, "close", 1, 1_069),
        Action(37_679, "kill_coordinator", 2, 5_890),
    ),
    "a static member that came from another host is waited for": history(
        [JAVA._replace(instance_id="i-0"), MODERN._replace(starts=False)],
        Action(40_749, "roll", 1, 2_001),
        Action(44_736, "start", 1, 6),
    ),
    "a static member is killed as its group becomes one of the new protocol": history(
        [JAVA._replace(instance_id="i-0"), MODERN],
        Action(23_868, "close", 1, 3_402),
        Action(26_095, "fill_disk", 1, 2_433),
        Action(28_573, "kill", 0, 3_624),
    ),
    "a static member of a consumer group that was replaced commits": history(
        [MODERN._replace(instance_id="i-0")],
        Action(48_981, "close", 0, 6_226),
        Action(66_417, "kill", 0, 765),
        until_ms=90_000,
        consumer_heartbeat_ms=3_000,
    ),
    "a static classic member of a consumer group comes back after a start": history(
        [JAVA._replace(topics=("t", "u"), instance_id="i-0"), MODERN],
        Action(16_394, "stop_coordinator", 0, 5_848),
        Action(17_134, "crash_loop", 0, 2),
        Action(21_146, "subscribe", 0, 3),
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
        until_ms=40_000,
        max_size=2,
        seed=9001885,
    ),
    "a static member joins in the ms in which it is removed": history(
        [MODERN._replace(instance_id="i-0"), MODERN, MODERN],
        Action(4_183, "cut", 1, 6_300),
        Action(43_144, "lose_host", 0, 2_026),
        seed=9000429,
    ),
    "a static member that has ended is assigned what it had": history(
        [COMPANY._replace(instance_id="i-3", session_timeout_ms=15_000, max_poll_interval_ms=12_000), COMPANY],
        Action(34_414, "close"),
        Action(35_881, "close", 1, 2_434),
    ),
    "a rebalance moves nothing while a static member is restarted": history(
        [JAVA._replace(instance_id="i-0"), JAVA._replace(starts=False)],
        Action(31_023, "crash_loop", 0, 5),
        Action(33_448, "kill", 1, 5_846),
        until_ms=90_000,
        topics=(("t", 1),),
    ),
    "a static classic member of a consumer group commits after a start, and is gone": history(
        [JAVA._replace(instance_id="i-0"), MODERN],
        Action(24_092, "kill_coordinator", 1, 4_078),
        Action(29_793, "close"),
        until_ms=90_000,
    ),
    "a static member dies before a start, and a rebalance does not wait for its session": history(
        [
            JAVA._replace(instance_id="i-0", session_timeout_ms=15_000, max_poll_interval_ms=12_000),
            JAVA._replace(max_poll_interval_ms=12_000),
            JAVA._replace(max_poll_interval_ms=12_000, starts=False),
        ],
        Action(53_946, "kill"),
        Action(56_363, "stop_coordinator", 1, 2_806),
        Action(61_573, "start", 2, 1),
        until_ms=90_000,
    ),
    "a static member is restarted in the rebalance that moves its partitions": history(
        [
            JAVA._replace(instance_id="i-0"),
            JAVA._replace(instance_id="i-1", starts=False),
            JAVA._replace(instance_id="i-2"),
        ],
        Action(8_022, "crash_loop", 2, 5),
        Action(20_068, "start", 1, 6),
        until_ms=40_000,
        topics=(("t", 2),),
    ),
    "a static member of the new protocol leaves for a moment before a start, and finds no room": history(
        [MODERN._replace(instance_id="i-0")],
        Action(33_551, "stop_coordinator", 0, 2_483),
        Action(73_069, "close", 0, 776),
        Action(73_858, "kill_coordinator", 0, 4_466),
        until_ms=90_000,
        max_size=1,
    ),
    "an administrator removes a static member before it is back": history(
        [JAVA._replace(instance_id="i-2", session_timeout_ms=6_000)],
        Action(7_747, "kill", 0, 10_156),
        Action(9_061, "kill", 0, 25_053),
        Action(16_106, "remove_member"),
        until_ms=40_000,
    ),
    "a new process of a static member is cut off before it is told what it has": history(
        [
            JAVA._replace(instance_id="i-0"),
            JAVA._replace(instance_id="i-1"),
            JAVA,
            JAVA._replace(instance_id="i-3"),
            JAVA._replace(instance_id="i-4"),
        ],
        Action(17_996, "cut", 0, 26_977),
        Action(18_409, "suspend", 4, 17_240),
        Action(18_530, "delete_offsets", 2),
        Action(19_185, "kill", 0, 1_955),
        Action(21_340, "cut", 0, 3_029),
        until_ms=40_000,
        topics=(("t", 4),),
        seed=6001083,
    ),
    "a static member is refused in a join phase, and says goodbye by a commit": history(
        [COOPERATIVE, COOPERATIVE, COOPERATIVE._replace(instance_id="i-2", max_poll_interval_ms=12_000)],
        Action(7_140, "lose_host", 0, 20_124),
        Action(9_387, "roll", 0, 10_001),
        Action(12_337, "kill", 0, 6_061),
        Action(13_122, "refuse", 2, 5_032),
        initial_delay_ms=3_000,
        max_size=2,
    ),
    "a static member of the new protocol is kept out by its own first heartbeat": history(
        [MODERN._replace(instance_id="i-2")],
        Action(20_039, "kill", 0, 1_137),
        Action(23_010, "cut", 0, 27_750),
        consumer_session_ms=6_000,
    ),
    "a static member was removed and came back before it was restarted": history(
        [JAVA._replace(instance_id="i-2", session_timeout_ms=6_000)],
        Action(33_017, "mute", 0, 22_548),
        Action(46_139, "kill", 0, 6_947),
    ),
    "a static member of a mixed group is replaced after a kill of the coordinator": history(
        [MODERN, JAVA._replace(instance_id="i-2")],
        Action(4_494, "kill", 1, 6_487),
        Action(10_993, "kill_coordinator", 1, 3_006),
        initial_delay_ms=3_000,
        seed=70015386,
    ),
    "a static member was restarted while the coordinator was away for the second time": history(
        [COMPANY, COMPANY._replace(instance_id="i-2")],
        Action(5_447, "stop_coordinator", 0, 1_087),
        Action(66_269, "kill", 1, 4_087),
        Action(68_164, "kill_coordinator", 0, 3_969),
        Action(77_040, "remove_member"),
        until_ms=90_000,
        initial_delay_ms=3_000,
        max_size=2,
    ),
    "others are assigned what a member had lost before it rejoined": history(
        [
            COOPERATIVE._replace(instance_id="i-0", session_timeout_ms=15_000),
            COOPERATIVE._replace(starts=False),
            COOPERATIVE._replace(topics=("t", "u"), instance_id="i-2"),
        ],
        Action(10_272, "kill", 1, 2_769),
        Action(15_407, "proxy", 2, 3_438),
        Action(15_479, "kill", 0, 20_288),
        Action(19_143, "proxy_all", 1, 5_908),
        topics=(("t", 8), ("u", 3)),
        seed=81_001_154,
    ),
    "a static member that stood still in a join phase goes on for a moment": history(
        [
            COOPERATIVE._replace(instance_id="i-0", max_poll_interval_ms=12_000),
            COOPERATIVE._replace(instance_id="i-3", session_timeout_ms=15_000, max_poll_interval_ms=12_000),
        ],
        Action(3_182, "lose_host", 0, 24_935),
        Action(28_483, "suspend", 1, 14_311),
        Action(33_355, "close", 0, 6_989),
        seed=81_104_827,
    ),
    "a SyncGroup is not read before the coordinator stops, and its member never had its part": history(
        [
            COOPERATIVE,
            COOPERATIVE._replace(max_poll_interval_ms=20_000),
            COOPERATIVE._replace(instance_id="i-2"),
            COOPERATIVE,
            COOPERATIVE._replace(instance_id="i-4", max_poll_interval_ms=20_000),
        ],
        Action(11_396, "mute", 2, 19_797),
        Action(22_597, "stop_coordinator", 4, 5_984),
        max_size=4,
        seed=81_501_903,
    ),
    "an epoch rises with a static member that comes back, as a topic has grown": history(
        [JAVA._replace(instance_id="i-0"), MODERN._replace(instance_id="i-1")],
        Action(14_483, "grow_topic", 0, 7),
        Action(15_228, "kill", 1, 2_413),
        Action(19_660, "close", 0, 8_088),
        until_ms=40_000,
        consumer_session_ms=15_000,
        seed=84_003_457,
    ),
    "a static member never learns what it was assigned while it could not be reached": history(
        [
            JAVA._replace(max_poll_interval_ms=12_000),
            JAVA._replace(instance_id="i-1", session_timeout_ms=15_000, max_poll_interval_ms=12_000),
        ],
        Action(23_259, "subscribe", 0, 6),
        Action(23_737, "proxy", 1, 15_009),
        Action(29_758, "grow_topic", 0, 3),
        seed=84_005_387,
    ),
    "a static member learns that it missed a generation, and takes its own place again": history(
        [
            COMPANY._replace(max_poll_interval_ms=12_000),
            COMPANY._replace(instance_id="i-3", session_timeout_ms=15_000, max_poll_interval_ms=12_000),
            COMPANY._replace(max_poll_interval_ms=12_000),
        ],
        Action(17_688, "proxy_all", 2, 25_155),
        Action(26_902, "stop_coordinator", 0, 3_056),
        Action(29_909, "lose_host", 2, 903),
        seed=88_000_480,
    ),
    "a static member that subscribes to nothing is away when the coordinator is stopped": history(
        [MODERN._replace(topics=(), instance_id="i-0")],
        Action(8_819, "roll", 0, 1_000),
        Action(9_260, "stop_coordinator", 0, 425),
        until_ms=40_000,
    ),
    "the only owner of partitions is restarted in a rebalance that it began": history(
        [ConsumerSetup("librdkafka", instance_id="i-0"), ConsumerSetup("kafka-python")],
        Action(51_353, "pause_coordinator", 0, 4_191),
        Action(51_395, "subscribe", 0, 4),
        Action(51_911, "kill", 0, 725),
        until_ms=90_000,
        topics=(("t", 1),),
    ),
    "a load brings a static member back that had learned that it has no place": history(
        [COOPERATIVE._replace(instance_id=f"i-{number}") for number in range(3)],
        Action(21_474, "refuse", 0, 12_741),
        Action(31_024, "die_joining", 2),
        Action(37_780, "stop_coordinator", 0, 1_260),
    ),
    "a static member that no generation had is restarted around a start of the coordinator": history(
        [COOPERATIVE, COOPERATIVE._replace(instance_id="i-1")],
        Action(3_458, "close", 1),
        Action(19_507, "kill_coordinator", 0, 5_014),
        Action(20_509, "lose_host", 1, 1_112),
        initial_delay_ms=3_000,
        seed=89_015_350,
    ),
    "a static member of a generation is restarted around a start of the coordinator": history(
        [JAVA, JAVA._replace(instance_id="i-1")],
        Action(20_000, "kill", 1, 18_000),
        Action(33_000, "kill_coordinator", 0, 2_000),
    ),
}

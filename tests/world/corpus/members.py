"""Members of classic groups that come, go, die and rejoin."""

from typing import Final

from tests.world.corpus.shapes import COMPANY, COOPERATIVE, JAVA, MODERN, history
from tests.world.history import Action, ConsumerSetup, History

FOUND: Final[dict[str, History]] = {
    "a company has its own cooperative assignor": history([COMPANY] * 3, Action(20_000, "close", 1, 4_000)),
    "a member dies in a join phase": history(
        [JAVA, JAVA, JAVA], Action(20_000, "die_joining", 1), Action(21_000, "close", 2, 3_000)
    ),
    "a member is killed in a join phase": history(
        [JAVA, JAVA], Action(28_882, "die_joining", 1), Action(34_335, "remove_member", 1)
    ),
    "a member is closed in its join phase": history(
        [COOPERATIVE] * 3, Action(42_289, "close", 1, 500), Action(44_706, "kill_coordinator", 0, 1_604), seed=5173
    ),
    "a member without partitions is closed": history(
        [ConsumerSetup("librdkafka", max_poll_interval_ms=12_000)] * 2, Action(30_000, "close", 1), topics=(("t", 1),)
    ),
    "a silent member is restarted": history(
        [ConsumerSetup(session_timeout_ms=6_000)],
        Action(12_031, "cut", 0, 5_059),
        Action(29_145, "stop_coordinator", 0, 5_174),
        Action(34_394, "close", 0, 7_084),
    ),
    "a process is suspended": history([JAVA, JAVA], Action(20_000, "suspend", 1, 14_000)),
    "a process is suspended while another member is removed": history(
        [JAVA, JAVA._replace(max_poll_interval_ms=12_000)],
        Action(11_840, "remove_member"),
        Action(11_971, "suspend", 1, 16_222),
    ),
    "an application is busy": history(
        [JAVA, JAVA._replace(max_poll_interval_ms=12_000)], Action(20_000, "block", 1, 20_000)
    ),
    "an application is busy, and poll() sends the heartbeats": history(
        [ConsumerSetup("kafka-python"), JAVA], Action(20_000, "block", 0, 20_000)
    ),
    "members are restarted one after the other": history([JAVA] * 3, Action(20_000, "roll", 0, 10_001)),
    "an administrator removes a member": history([JAVA, JAVA], Action(20_000, "remove_member", 1)),
    "the group is deleted": history(
        [JAVA], Action(20_000, "close", 0), Action(24_000, "delete_group"), Action(27_000, "start", 0)
    ),
    "offsets are reset": history(
        [JAVA], Action(20_000, "close", 0), Action(24_000, "reset_offsets", 0, 3), Action(27_000, "start", 0)
    ),
    "a member commits, and sends no heartbeat": history(
        [MODERN],
        Action(26_286, "proxy_all", 0, 7_793),
        Action(30_248, "kill", 0, 7_381),
        consumer_heartbeat_ms=3_000,
    ),
    "a partition goes to a member that dies before the group is stable": history(
        [JAVA, MODERN],
        Action(17_485, "crash_loop", 0, 2),
        Action(24_338, "lose_host"),
        Action(26_067, "subscribe", 1, 2),
        until_ms=40_000,
    ),
    "a member of a company gives up all that it has": history(
        [COMPANY] * 3, Action(40_374, "mute", 2, 22_610), Action(43_209, "subscribe", 1, 2)
    ),
    "a member syncs late, which renews no session": history(
        [
            ConsumerSetup("kafka-python", ("sticky",), session_timeout_ms=15_000),
            *[ConsumerSetup(assignors=("sticky",), max_poll_interval_ms=20_000)] * 2,
        ],
        Action(15_608, "block", 0, 17_381),
        max_size=2,
        seed=8_201_143,
    ),
    "a goodbye arrives after its process has ended": history(
        [MODERN], Action(37_476, "cut", 0, 17_042), Action(38_110, "close")
    ),
    "an administrator removes all members": history(
        [JAVA, JAVA], Action(23_073, "remove_member"), Action(24_157, "remove_member", 1)
    ),
    "one consumer is restarted on other hosts": history(
        [JAVA], Action(14_641, "roll", 0, 1_000), Action(19_537, "roll", 0, 2_001), Action(33_329, "roll", 0, 1_000)
    ),
    "a new member leaves while the group waits for another one": history(
        [ConsumerSetup(session_timeout_ms=15_000)],
        Action(40_161, "lose_host", 0, 1_030),
        Action(43_263, "close"),
        reported_ms=(53_522,),
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
    "a cooperative member is suspended while it has to give partitions up": history(
        [COOPERATIVE, COOPERATIVE],
        Action(67_868, "subscribe", 0, 5),
        Action(68_162, "suspend", 0, 6_925),
        seed=200_409,
        until_ms=90_000,
    ),
    "all are restarted one after the other, twice": history(
        [COOPERATIVE, COOPERATIVE, COOPERATIVE],
        Action(3_259, "cut", 2, 3_754),
        Action(4_441, "cut", 1, 625),
        Action(7_021, "pause_coordinator", 2, 5_346),
        Action(8_669, "roll", 0, 1_000),
        Action(27_407, "roll", 2, 1_000),
        seed=203_084,
    ),
    "a subscription changes before the assignment arrives": history(
        [
            COOPERATIVE._replace(max_poll_interval_ms=12_000),
            COOPERATIVE,
            COOPERATIVE._replace(max_poll_interval_ms=12_000),
        ],
        Action(5_618, "pause_coordinator", 1, 16_366),
        Action(18_187, "reset_offsets", 2, 7),
        Action(20_565, "starve", 0, 2_990),
        Action(22_754, "subscribe", 0, 1),
        max_size=2,
        until_ms=90_000,
    ),
    "a leader is killed with its SyncGroup on its way": history(
        [JAVA, JAVA._replace(starts=False), JAVA],
        Action(4_503, "kill", 1, 3_502),
        Action(59_748, "close", 2),
        Action(62_164, "kill", 0, 968),
        seed=403_487,
        until_ms=90_000,
    ),
    "a rebalance begins before members have sent SyncGroup": history(
        [
            COOPERATIVE._replace(client_id="billing"),
            COOPERATIVE._replace(client_id="billing"),
            COOPERATIVE._replace(kind="librdkafka", client_id="billing", session_timeout_ms=15_000),
        ],
        Action(25_444, "crash_loop", 0, 4),
        Action(26_569, "lose_host", 2, 1_801),
        topics=(("t", 4),),
        initial_delay_ms=3_000,
        max_size=4,
        seed=405_693,
    ),
    "a SyncGroup is refused as the next rebalance has begun, and its member says nothing more": history(
        [COOPERATIVE, COOPERATIVE._replace(instance_id="i-1"), COOPERATIVE, COOPERATIVE],
        Action(20_626, "starve", 1, 6_723),
        Action(26_252, "roll", 1, 10_001),
        Action(26_954, "unsubscribe", 1),
        until_ms=40_000,
        max_size=3,
    ),
    "a member is suspended for longer than a rebalance waits for it": history(
        [JAVA._replace(max_poll_interval_ms=20000), JAVA._replace(max_poll_interval_ms=20000)],
        Action(23_576, "roll", 1, 5_000),
        Action(26_884, "suspend", 1, 17_725),
        seed=1100919,
    ),
    "a process has no processor, and unsubscribes then": history(
        [JAVA._replace(kind="librdkafka", session_timeout_ms=15000, max_poll_interval_ms=12000)],
        Action(36_285, "starve", 0, 11_895),
        Action(37_220, "unsubscribe"),
    ),
    "a member is closed as its assignment is on its way": history(
        [JAVA] * 5,
        Action(5_445, "cut", 3, 2_749),
        Action(8_103, "unsubscribe", 1),
        Action(9_257, "roll", 0, 2_001),
        initial_delay_ms=3_000,
        seed=70600277,
    ),
    "a member works in one batch since before it was assigned what it has": history(
        [JAVA._replace(assignors=("roundrobin",))] * 4,
        Action(6_082, "block", 3, 8_763),
        Action(7_418, "kill", 0, 1_352),
        initial_delay_ms=3_000,
        seed=89_001_446,
    ),
    "a member exceeds its poll interval in a batch that it began before it was assigned what it has": history(
        [COOPERATIVE._replace(max_poll_interval_ms=12_000), JAVA, COOPERATIVE],
        Action(3_351, "roll", 0, 2_001),
        Action(6_188, "block", 0, 19_805),
        seed=89_008_262,
    ),
}

"""Groups of the new protocol (KIP-848), and those that change their type."""

from typing import Final

from tests.world.corpus.shapes import COOPERATIVE, JAVA, MODERN, history
from tests.world.history import Action, History

FOUND: Final[dict[str, History]] = {
    "the last member of the new protocol dies": history([MODERN, JAVA], Action(20_000, "kill")),
    "both members of a mixed group die": history(
        [MODERN, JAVA], Action(16_237, "kill"), Action(16_911, "kill", 1), consumer_session_ms=6_000
    ),
    "many members of the new protocol come and go": history([MODERN] * 3, Action(12_000, "roll", 0, 1_000)),
    "a member of the new protocol crashes again and again": history(
        [MODERN, MODERN], Action(12_000, "crash_loop", 1, 6), consumer_session_ms=6_000
    ),
    "epochs rise faster than they are reconciled": history(
        [MODERN], Action(4_815, "crash_loop", 0, 4), Action(8_758, "crash_loop", 0, 2), consumer_session_ms=15_000
    ),
    "a member leaves as its group changes its type": history([JAVA, MODERN], Action(16_697, "unsubscribe", 1)),
    "an administrator removes a member of the new protocol": history(
        [MODERN, MODERN], Action(20_000, "remove_member", 1)
    ),
    "an administrator removes a member, and the epoch rises at once": history(
        [JAVA, MODERN], Action(20_320, "proxy_all", 0, 4_779), Action(21_102, "remove_member", 1)
    ),
    "the coordinator ends while an epoch waits for its target": history(
        [MODERN],
        Action(10_511, "crash_loop", 0, 4),
        Action(22_493, "stop_coordinator", 0, 429),
        Action(28_323, "close", 0, 1_096),
        topics=(("t", 1),),
    ),
    "the coordinator ends while a mixed group reconciles": history(
        [MODERN, JAVA],
        Action(21_150, "close", 1, 5_058),
        Action(23_933, "kill_coordinator", 0, 1_167),
        consumer_heartbeat_ms=3_000,
        seed=5037,
    ),
    "a member of a group that changes its protocol is killed again and again": history(
        [JAVA._replace(session_timeout_ms=6_000, heartbeat_ms=2_000), MODERN._replace(instance_id="i-1")],
        Action(22_053, "stop_coordinator", 1, 3_666),
        Action(28_497, "kill"),
        Action(37_266, "refuse", 1, 22_902),
        Action(61_130, "crash_loop", 1, 5),
        Action(71_877, "start", 0, 4),
        until_ms=90_000,
        consumer_session_ms=6_000,
        consumer_heartbeat_ms=1_000,
        seed=8100311,
    ),
    "a member leaves in the ms in which its epoch is stable": history(
        [MODERN, JAVA],
        Action(11_837, "remove_member"),
        Action(14_793, "suspend", 0, 6_122),
        Action(19_239, "unsubscribe"),
        until_ms=40_000,
        seed=9010016,
    ),
    "a member of a consumer group is removed and comes back with its id": history(
        [MODERN, MODERN._replace(instance_id="i-3")],
        Action(36_371, "kill", 1, 1_422),
        Action(38_684, "delete_topic", 0, 1_096),
        Action(42_860, "remove_member"),
    ),
    "a classic member of a consumer group ends before it asks for its part": history(
        [MODERN, JAVA, JAVA], Action(3_156, "kill_coordinator", 1, 5_775), until_ms=40_000, seed=9022619
    ),
    "a member of a group that changed its type is told so, and its process ends": history(
        [MODERN._replace(starts=False), JAVA],
        Action(9_659, "start", 0, 5),
        Action(10_392, "close", 0, 20_496),
        Action(18_242, "roll", 0, 2_001),
        until_ms=40_000,
    ),
    "one classic consumer of a consumer group crashes, and is restarted twice": history(
        [JAVA, MODERN],
        Action(35_223, "kill", 0, 3_142),
        Action(63_131, "close", 0, 4_015),
        Action(75_004, "close", 0, 1_464),
        until_ms=90_000,
    ),
    "a member of the new protocol leaves late, comes back with its id, and crashes again and again": history(
        [MODERN._replace(max_poll_interval_ms=12_000)],
        Action(5_949, "block", 0, 15_389),
        Action(59_801, "crash_loop", 0, 5),
        until_ms=90_000,
    ),
    "a commit tells a classic member that its group changed its type": history(
        [JAVA, MODERN, JAVA],
        Action(32_588, "roll", 0, 2_001),
        Action(35_122, "kill", 1, 6_038),
        consumer_heartbeat_ms=1_000,
        seed=500658,
    ),
    "a cooperative classic member rejoins before its group changes its type": history(
        [COOPERATIVE, COOPERATIVE, MODERN],
        Action(9_640, "suspend", 1, 7_531),
        Action(30_679, "kill", 2),
        Action(36_504, "pause_coordinator", 0, 5_269),
        Action(40_025, "crash_loop", 2, 4),
        consumer_session_ms=6_000,
    ),
    "a group changes its type twice, and gives away what a dead member had": history(
        [JAVA._replace(kind="modern"), JAVA],
        Action(11_131, "kill", 1, 5_084),
        Action(12_481, "kill", 0, 7_724),
        until_ms=90_000,
        consumer_session_ms=6_000,
    ),
    "a group changes its type three times, and gives away what a dead member had": history(
        [JAVA, JAVA._replace(kind="modern", starts=False)],
        Action(24_700, "kill"),
        Action(26_476, "kill", 1, 5_567),
        Action(37_938, "roll", 0, 1_000),
    ),
    "a classic member is rejected after a start, and its session ends": history(
        [JAVA, MODERN, JAVA],
        Action(17_953, "pause_coordinator", 2, 3_299),
        Action(19_235, "remove_member"),
        Action(20_966, "remove_member", 1),
        Action(23_173, "stop_coordinator", 0, 3_423),
        until_ms=40_000,
    ),
    "a follower asked for its assignment before its group changed its type": history(
        [MODERN, JAVA, JAVA._replace(starts=False)],
        Action(21_851, "mute", 0, 25_738),
        Action(29_410, "lose_host", 2, 2_337),
        Action(34_543, "proxy_all", 1, 7_907),
        seed=9005382,
    ),
    "a heartbeat is read in the ms in which a group changes its type after a pause": history(
        [MODERN, JAVA],
        Action(7_852, "pause_coordinator", 0, 5_822),
        Action(8_312, "close", 0, 6_071),
        Action(9_987, "lose_host", 1, 506),
        until_ms=40_000,
    ),
    "static members are replaced as a mixed group reconciles": history(
        [
            JAVA._replace(instance_id="i-0", heartbeat_ms=2_000),
            JAVA._replace(instance_id="i-1", heartbeat_ms=2_000),
            JAVA._replace(instance_id="i-3", session_timeout_ms=6_000, heartbeat_ms=2_000),
            MODERN._replace(instance_id="i-4"),
        ],
        Action(22_399, "kill_coordinator", 3, 3_933),
        Action(28_893, "crash_loop", 3, 3),
        Action(32_776, "proxy", 2, 17_861),
    ),
    "a classic member learns that its group has changed, and joins as another one": history(
        [COOPERATIVE._replace(session_timeout_ms=15_000, max_poll_interval_ms=12_000), MODERN, COOPERATIVE],
        Action(36_451, "refuse", 1, 21_554),
        Action(37_973, "close", 2),
    ),
    "a load balancer is away, and the member that comes back by its id is closed later": history(
        [MODERN, JAVA],
        Action(21_494, "proxy_all", 0, 5_917),
        Action(29_772, "close", 0, 7_350),
        Action(75_267, "kill"),
        until_ms=90_000,
        consumer_session_ms=6_000,
    ),
    "partitions are given up while a load balancer is away": history(
        [MODERN, MODERN],
        Action(20_989, "block", 1, 7_444),
        Action(22_132, "remove_member"),
        Action(23_753, "proxy_all", 0, 7_846),
        until_ms=40_000,
        consumer_heartbeat_ms=1_000,
        seed=70002019,
    ),
    "a group that changes its type takes what a member has given up itself": history(
        [JAVA, MODERN],
        Action(4_085, "close", 1),
        Action(7_932, "close"),
        Action(47_408, "lose_host", 1, 7_490),
        initial_delay_ms=3_000,
    ),
    "the answer that tells a member what it gets more is lost in a pause": history(
        [MODERN, MODERN],
        Action(10_669, "kill", 1, 4_055),
        Action(14_106, "lose_host", 0, 6_714),
        Action(29_123, "pause_coordinator", 0, 26_918),
        Action(31_765, "remove_member"),
        Action(36_595, "proxy_all", 0, 28_912),
        consumer_session_ms=15_000,
        until_ms=90_000,
        seed=81_500_007,
    ),
    "a rebalance is dropped as the group changes its type, and nothing tells when its member goes on": history(
        [JAVA._replace(session_timeout_ms=6_000), MODERN._replace(topics=()), JAVA],
        Action(11_704, "subscribe", 2, 5),
        Action(12_055, "proxy_all", 2, 5_388),
        Action(28_481, "kill", 1),
        Action(28_504, "stop_coordinator", 2, 5_283),
        max_size=2,
    ),
    "what a leader assigns after its group has changed its type counts no more": history(
        [MODERN._replace(topics=()), JAVA._replace(instance_id="i-1"), JAVA],
        Action(16_048, "kill", 1, 898),
        until_ms=40_000,
        max_size=2,
        seed=83_002_069,
    ),
    "a member that was removed twice comes again with nothing, as another one gets all": history(
        [MODERN, MODERN, MODERN],
        Action(10_169, "remove_member", 1),
        Action(11_971, "proxy_all", 0, 26_970),
        until_ms=90_000,
        consumer_heartbeat_ms=3_000,
        seed=84_002_320,
    ),
    "a member is removed by an administrator, comes again by its id, and is silent": history(
        [MODERN._replace(topics=()), JAVA],
        Action(66_910, "remove_member"),
        Action(69_306, "lose_host", 0, 5_252),
        until_ms=90_000,
    ),
    "a member gives up what it has while its coordinator is away": history(
        [MODERN._replace(max_poll_interval_ms=12_000, topics=("t",), pattern="u|tu")],
        Action(23_421, "stop_leader", 0, 29_753),
        Action(23_773, "delete_other_topic", 0, 9),
        Action(28_902, "block", 0, 24_658),
        topics=(("t", 1), ("u", 3)),
    ),
    "a member that subscribes to nothing is there before the first epoch rises": history(
        [MODERN._replace(topics=())],
        Action(33_640, "stop_leader"),
        Action(56_093, "close", 0, 2_819),
        max_size=1,
        until_ms=90_000,
    ),
}

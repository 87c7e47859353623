"""Times in which the coordinator stands still."""

from typing import Final

from tests.world.corpus.shapes import COMPANY, COOPERATIVE, JAVA, MODERN, history
from tests.world.history import Action, History

FOUND: Final[dict[str, History]] = {
    "a member is killed while the coordinator stands still": history(
        [JAVA, JAVA], Action(20_000, "pause_coordinator", 0, 14_000), Action(21_000, "kill", 1)
    ),
    "members are restarted while the coordinator stands still": history(
        [COOPERATIVE, COOPERATIVE], Action(11_512, "pause_coordinator", 0, 18_836), Action(15_370, "roll", 1, 5_000)
    ),
    "a member rejoins while the coordinator stands still": history(
        [JAVA, JAVA], Action(20_000, "grow_topic", 0, 3), Action(20_500, "pause_coordinator", 0, 8_000)
    ),
    "members are removed by an administrator while the coordinator stands still": history(
        [JAVA, JAVA, JAVA],
        Action(27_856, "pause_coordinator", 2, 3_299),
        Action(30_208, "remove_member", 0),
        Action(30_524, "kill", 1, 436),
    ),
    "what a dead process sent is read after a pause": history(
        [COMPANY, COMPANY._replace(max_poll_interval_ms=20_000)],
        Action(9_626, "close", 0, 992),
        Action(9_854, "pause_coordinator", 0, 23_798),
        Action(13_545, "crash_loop", 1, 2),
        until_ms=90_000,
    ),
    "a process ends before a pause": history(
        [COOPERATIVE, COOPERATIVE._replace(session_timeout_ms=6_000)],
        Action(6_059, "suspend", 1, 7_355),
        Action(9_210, "die_joining", 1),
        Action(15_937, "pause_coordinator", 1, 4_878),
        until_ms=40_000,
    ),
    "members leave while the coordinator stands still, and others are there": history(
        [JAVA, MODERN],
        Action(9_345, "pause_coordinator", 0, 21_024),
        Action(11_941, "cut", 0, 28_613),
        Action(15_421, "roll", 0, 5_000),
        until_ms=90_000,
    ),
    "a SyncGroup is read after a pause in which the session of its member ended": history(
        [JAVA._replace(max_poll_interval_ms=12_000), JAVA, JAVA._replace(max_poll_interval_ms=12_000)],
        Action(11_859, "starve", 1, 6_662),
        Action(12_699, "pause_coordinator", 1, 9_803),
        max_size=2,
    ),
    "a new process ends soon after a pause": history(
        [MODERN], Action(11_607, "pause_coordinator", 0, 14_691), Action(23_490, "crash_loop", 0, 4)
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
    "an epoch is stable for no time after a pause": history(
        [MODERN, MODERN, MODERN, MODERN, MODERN],
        Action(23_634, "grow_topic", 2, 4),
        Action(28_603, "pause_coordinator", 3, 22_181),
        Action(30_759, "unsubscribe", 1),
        max_size=4,
    ),
    "a mixed group changes its type in the ms in which a pause ends": history(
        [JAVA, MODERN], Action(7_341, "roll", 0, 2_001), Action(8_809, "pause_coordinator", 0, 7_790), until_ms=40_000
    ),
    "the coordinator stands still while it waits for members": history(
        [
            JAVA._replace(max_poll_interval_ms=12_000),
            JAVA._replace(max_poll_interval_ms=12_000),
            JAVA._replace(session_timeout_ms=6_000, heartbeat_ms=2_000, max_poll_interval_ms=12_000),
        ],
        Action(43_053, "lose_host", 0, 935),
        Action(46_022, "pause_coordinator", 2, 11_153),
    ),
    "a new process of a static member is removed after a pause": history(
        [
            JAVA._replace(instance_id="i-0", heartbeat_ms=2_000),
            JAVA._replace(instance_id="i-1", session_timeout_ms=6_000, heartbeat_ms=2_000),
        ],
        Action(22_993, "kill", 1, 2_344),
        Action(25_444, "pause_coordinator", 1, 5_778),
        seed=400_096,
    ),
    "an administrator removes a static member in a pause before it is back": history(
        [JAVA._replace(instance_id="i-1")],
        Action(12_160, "kill", 0, 10_201),
        Action(17_487, "pause_coordinator", 0, 6_974),
        Action(19_242, "remove_member"),
        until_ms=40_000,
    ),
    "the answer to a static member of the new protocol is lost in a pause": history(
        [MODERN._replace(instance_id="i-3")],
        Action(36_302, "pause_coordinator", 0, 11_834),
        Action(36_608, "roll", 0, 10_001),
        consumer_session_ms=6_000,
    ),
    "an application is busy from its JoinGroup into a pause": history(
        [JAVA, MODERN, JAVA, JAVA],
        Action(4_760, "block", 2, 7_158),
        Action(6_552, "pause_coordinator", 0, 26_173),
        initial_delay_ms=3_000,
    ),
    "a static member comes back in the ms in which a pause ends": history(
        [
            JAVA._replace(assignors=("sticky",)),
            JAVA._replace(assignors=("sticky",)),
            JAVA._replace(assignors=("sticky",), instance_id="i-2"),
        ],
        Action(17_324, "kill", 1),
        Action(18_417, "pause_coordinator", 0, 19_520),
        Action(19_297, "lose_host", 2, 14_067),
        initial_delay_ms=3_000,
        seed=703_701,
    ),
    "a process is started again while the coordinator stands still": history(
        [JAVA], Action(28_939, "pause_coordinator", 0, 24_127), Action(32_796, "kill", 0, 4_229), until_ms=90_000
    ),
    "a JoinGroup is answered again after a pause, and the process has ended": history(
        [JAVA._replace(assignors=("sticky",))] * 3,
        Action(7_572, "proxy", 1, 987),
        Action(16_430, "pause_coordinator", 1, 5_002),
        Action(19_504, "proxy_all", 0, 322),
        Action(21_211, "cut", 0, 7_505),
        Action(22_517, "crash_loop", 0, 5),
        until_ms=40_000,
        max_size=2,
        seed=6003364,
    ),
    "a member never learns of what it lost, and gets it again": history(
        [
            COMPANY._replace(topics=("t", "u"), instance_id="i-0", heartbeat_ms=2000),
            COMPANY._replace(topics=("t", "u"), session_timeout_ms=6000, starts=False),
            COMPANY._replace(topics=("t", "u")),
        ],
        Action(18_088, "crash_loop", 1, 3),
        Action(23_315, "proxy_all", 0, 5_769),
        Action(24_729, "pause_coordinator", 2, 4_535),
        until_ms=40_000,
        topics=(("t", 8), ("u", 3)),
    ),
    "a process ends in a long join phase, and the coordinator stands still after that": history(
        [COOPERATIVE, COOPERATIVE, COOPERATIVE._replace(max_poll_interval_ms=40000)],
        Action(7_152, "lose_host", 0, 478),
        Action(40_260, "pause_coordinator", 0, 24_747),
        until_ms=90_000,
        max_size=2,
    ),
    "a member comes and goes in the ms after a pause": history(
        [MODERN],
        Action(9_264, "pause_coordinator", 0, 11_527),
        Action(10_075, "lose_host", 0, 6_320),
        Action(17_306, "remove_member"),
        Action(17_540, "crash_loop", 0, 3),
        until_ms=40_000,
    ),
    "processes of a static member end one after the other while the coordinator stands still": history(
        [JAVA._replace(instance_id="i-2", starts=False)],
        Action(12_061, "pause_coordinator", 0, 26_865),
        Action(25_539, "crash_loop", 0, 4),
        until_ms=40_000,
    ),
    "a JoinGroup waits in a pause until its session is over": history(
        [COOPERATIVE._replace(session_timeout_ms=6_000), COOPERATIVE],
        Action(14_294, "kill_coordinator", 0, 4_872),
        Action(15_331, "crash_loop", 0, 3),
        Action(21_668, "proxy_all", 0, 7_858),
        Action(28_264, "pause_coordinator", 0, 20_612),
    ),
    "a process joined and closed its connection while the coordinator stood still": history(
        [MODERN],
        Action(10_137, "lose_host"),
        Action(12_696, "pause_coordinator", 0, 6_709),
        Action(13_208, "start", 0, 4),
        Action(18_685, "proxy", 0, 17_013),
        until_ms=40_000,
    ),
    "a commit waits in a pause, and its application is busy since": history(
        [JAVA._replace(kind="librdkafka", max_poll_interval_ms=12_000)],
        Action(23_645, "pause_coordinator", 0, 6_248),
        Action(26_227, "block", 0, 20_709),
        until_ms=90_000,
    ),
    "the time for a SyncGroup ends in the pause in which its member joins": history(
        [JAVA._replace(max_poll_interval_ms=20_000), JAVA._replace(instance_id="i-1", max_poll_interval_ms=20_000)],
        Action(5_867, "lose_host", 1, 5_600),
        Action(7_549, "pause_coordinator", 0, 21_652),
        initial_delay_ms=3_000,
    ),
    "a process joins right after a pause, and ends": history(
        [JAVA, JAVA._replace(session_timeout_ms=15_000)],
        Action(14_551, "pause_coordinator", 1, 9_348),
        Action(18_804, "close", 1, 366),
        Action(24_123, "kill", 1, 5_440),
        topics=(("t", 1),),
        seed=84_007_766,
    ),
    "a group is deleted and made anew in the ms in which a pause ends, soon after a full disk": history(
        [JAVA],
        Action(38_066, "fill_disk", 0, 3_219),
        Action(39_331, "pause_coordinator", 0, 7_814),
        Action(40_553, "close", 0, 3_542),
        Action(40_635, "delete_group"),
    ),
    "a member leaves in a pause in which another one subscribes to other topics": history(
        [JAVA._replace(assignors=("roundrobin",)), JAVA._replace(assignors=("roundrobin",))],
        Action(27_935, "pause_coordinator", 0, 15_519),
        Action(28_212, "close", 1, 1_271),
        Action(31_222, "subscribe", 0, 3),
    ),
}

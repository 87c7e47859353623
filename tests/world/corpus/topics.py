"""Topics that are deleted, made again, or grow."""

from typing import Final

from tests.world.corpus.shapes import COMPANY, COOPERATIVE, JAVA, MODERN, STICKY, history
from tests.world.history import Action, History

FOUND: Final[dict[str, History]] = {
    "a topic is made again while the group is empty": history(
        [JAVA, JAVA],
        Action(20_000, "close", 0),
        Action(20_500, "close", 1),
        Action(22_000, "delete_topic", 0, 2_000),
        Action(26_000, "start", 0),
        Action(26_000, "start", 1),
    ),
    "a topic is made again between two generations": history(
        [COOPERATIVE, COOPERATIVE], Action(20_000, "delete_topic", 0, 5_000)
    ),
    "a topic is made again while nobody looks": history([JAVA, JAVA], Action(20_000, "delete_topic", 0, 500)),
    "a topic is deleted as an epoch rises": history(
        [MODERN, MODERN], Action(20_000, "delete_topic", 0, 4_000), Action(20_500, "close", 1, 1_000)
    ),
    "a topic grows": history([JAVA, JAVA], Action(20_000, "grow_topic", 1, 3)),
    "a topic is made again, and then the coordinator restarts": history(
        [JAVA],
        Action(6_764, "delete_topic", 0, 1_970),
        Action(10_441, "stop_coordinator", 0, 485),
        Action(21_176, "kill", 0, 7_764),
    ),
    "a static member is restarted after its topic was made again": history(
        [JAVA._replace(instance_id="i-0")],
        Action(10_673, "crash_loop", 0, 4),
        Action(15_309, "delete_topic", 0, 2_493),
        Action(36_902, "remove_member"),
    ),
    "a topic is made again in a join phase": history(
        [COMPANY, COMPANY, COMPANY, COMPANY._replace(max_poll_interval_ms=40_000)],
        Action(25_253, "delete_topic", 1, 6_312),
        until_ms=90_000,
        max_size=3,
    ),
    "a topic is gone in a join phase, and made again later": history(
        [COOPERATIVE] * 3, Action(6_647, "delete_topic", 0, 28_863), until_ms=40_000, max_size=2
    ),
    "a topic is made again before its leader assigns it": history(
        [JAVA],
        Action(19_013, "lose_host", 0, 312),
        Action(20_942, "delete_topic", 0, 12_082),
        Action(22_088, "proxy", 0, 14_837),
        Action(42_729, "proxy_all", 0, 7_588),
        until_ms=90_000,
    ),
    "a topic that a cooperative member lost is made again": history(
        [COOPERATIVE._replace(instance_id="i-0"), COOPERATIVE._replace(kind="librdkafka")],
        Action(13_747, "unsubscribe"),
        Action(16_664, "subscribe", 1, 1),
        Action(20_571, "delete_topic", 1, 7_336),
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
    "a topic is made again while its consumer group is empty and has no offsets": history(
        [MODERN],
        Action(3_260, "unsubscribe"),
        Action(5_422, "delete_topic", 0, 1_208),
        Action(13_346, "close", 0, 19_956),
        until_ms=40_000,
    ),
    "a topic is made again, and its consumer closes later": history(
        [JAVA._replace(kind="kafka-python")], Action(19_306, "delete_topic", 0, 1_665), Action(46_289, "roll", 0, 2_001)
    ),
    "a topic is made again, and members of a company keep others": history(
        [COMPANY._replace(topics=("t", "u")), COMPANY],
        Action(20_040, "unsubscribe", 1),
        Action(20_086, "stop_coordinator", 1, 581),
        Action(24_038, "delete_topic", 1, 899),
        topics=(("t", 4), ("u", 3)),
        initial_delay_ms=3_000,
    ),
    "a topic is made again while the disk is full, and grows": history(
        [JAVA._replace(instance_id="i-4")],
        Action(7_111, "close", 0, 18_211),
        Action(14_511, "fill_disk", 0, 5_724),
        Action(17_851, "delete_topic", 0, 212),
        Action(20_983, "grow_topic", 0, 4),
        Action(27_573, "remove_member"),
        until_ms=40_000,
    ),
    "a topic in which nothing was committed is made again": history(
        [JAVA, JAVA],
        Action(6_823, "delete_topic", 1, 6_621),
        Action(7_002, "pause_coordinator", 0, 7_285),
        Action(15_590, "stop_coordinator", 0, 2_249),
        Action(18_256, "close", 0, 350),
        initial_delay_ms=3_000,
    ),
    "a topic is deleted while nobody owns its partitions": history(
        [JAVA, MODERN._replace(topics=("t", "u"))],
        Action(15_517, "lose_host", 1, 16_459),
        Action(36_889, "unsubscribe"),
        Action(43_971, "crash_loop", 1, 4),
        Action(54_328, "delete_topic", 0, 4_260),
        topics=(("t", 2), ("u", 1)),
        until_ms=90_000,
    ),
    "a topic is deleted before the assignment of its partitions arrives": history(
        [COOPERATIVE, COOPERATIVE],
        Action(5_303, "roll", 0, 2_001),
        Action(9_269, "mute", 0, 7_871),
        Action(13_495, "delete_topic", 0, 21_458),
        seed=300_415,
    ),
    "a topic without commits is made again before a start": history(
        [MODERN],
        Action(5_104, "crash_loop", 0, 5),
        Action(17_047, "delete_topic", 0, 980),
        Action(17_585, "lose_host", 0, 5_616),
        Action(21_160, "stop_coordinator", 0, 5_676),
    ),
    "a SyncGroup is refused after a topic was made again": history(
        [COOPERATIVE._replace(kind="librdkafka"), COOPERATIVE, COOPERATIVE],
        Action(12_494, "proxy", 1, 2_966),
        Action(14_528, "delete_topic", 2, 2_172),
        Action(16_713, "refuse", 0, 6_632),
    ),
    "a topic is made again, and the group changes its type": history(
        [MODERN, JAVA, JAVA],
        Action(14_838, "kill", 2),
        Action(21_912, "delete_topic", 1, 5_062),
        Action(30_841, "remove_member"),
        Action(33_077, "close", 0, 1_522),
    ),
    "commits are refused because a topic is gone": history(
        [JAVA._replace(topics=("t", "u"), session_timeout_ms=6_000)],
        Action(24_529, "mute", 0, 6_069),
        Action(26_028, "delete_topic", 0, 6_636),
        topics=(("t", 6), ("u", 1)),
        until_ms=40_000,
    ),
    "a topic is made again while the group is empty and the coordinator is away": history(
        [JAVA],
        Action(4_698, "lose_host", 0, 22_500),
        Action(18_047, "delete_topic", 0, 3_076),
        Action(20_944, "stop_coordinator", 0, 933),
        until_ms=40_000,
    ),
    "a topic is made again before a classic member of a consumer group has asked for its part": history(
        [
            STICKY._replace(instance_id="i-0"),
            STICKY._replace(instance_id="i-1"),
            MODERN._replace(topics=()),
        ],
        Action(3_203, "delete_topic", 0, 1_134),
        until_ms=40_000,
        seed=89_101_393,
    ),
}

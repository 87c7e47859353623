"""More small histories in which something was told that was not so, one for each kind of what was found."""

from typing import Final

from tests.world.corpus import COMPANY, COOPERATIVE, FIRST, JAVA, MODERN, history
from tests.world.history import Action, ConsumerSetup, History
from tests.world.latest_corpus import LATEST

LATER: Final[dict[str, History]] = {
    # ---- static members
    "a static member is away while its group rebalances": history(
        [
            COOPERATIVE._replace(instance_id="i-0", max_poll_interval_ms=20_000),
            COOPERATIVE._replace(max_poll_interval_ms=20_000),
        ],
        Action(15_625, "subscribe"),
        Action(18_120, "close", 0, 28_643),
    ),
    "a static member is away, and its group is full": history(
        [JAVA._replace(instance_id="i-0")],
        Action(31_081, "close", 0, 19_879),
        Action(35_718, "kill"),
        max_size=1,
    ),
    "a static member of the new protocol is away during two starts": history(
        [MODERN._replace(instance_id="i-0")],
        Action(21_256, "close", 0, 19_079),
        Action(25_106, "kill_coordinator", 0, 528),
        Action(39_403, "stop_coordinator", 0, 829),
    ),
    "static members come back after a rebalance was lost": history(
        [
            COOPERATIVE._replace(instance_id="i-0"),
            COOPERATIVE,
            COOPERATIVE._replace(instance_id="i-2"),
        ],
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
        [
            JAVA,
            COMPANY,
            COMPANY._replace(instance_id="i-2"),
            COMPANY._replace(instance_id="i-3"),
        ],
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
    "a process asks for the place of a dead one under its member id": history(
        [MODERN._replace(instance_id="i-4")],
        Action(9_765, "pause_coordinator", 0, 16_613),
        Action(13_064, "close", 0, 1_650),
    ),
    # ---- topics
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
    # ---- what the coordinator did to a member
    "the right is revoked as the coordinator starts": history(
        [JAVA], Action(16_025, "kill_coordinator", 0, 3_872), Action(18_617, "refuse", 0, 11_721)
    ),
    "a connection is lost, and the next one is muted": history(
        [
            ConsumerSetup(assignors=("roundrobin",), heartbeat_ms=2_000),
            ConsumerSetup(session_timeout_ms=6_000, assignors=("roundrobin",)),
        ],
        Action(13_991, "cut", 1, 2_607),
        Action(18_809, "mute", 1, 7_325),
        until_ms=40_000,
    ),
    "a member is closed while it is muted": history(
        [JAVA], Action(28_421, "mute", 0, 7_290), Action(31_166, "close", 0, 21_141)
    ),
    "a member is muted while it waits in a join phase": history(
        [ConsumerSetup(session_timeout_ms=6_000)] * 2,
        Action(5_554, "roll", 0, 5_000),
        Action(5_937, "kill", 1, 15_386),
        Action(11_935, "mute", 0, 7_092),
        until_ms=90_000,
        initial_delay_ms=3_000,
        seed=8_001_304,
    ),
    "a member that is refused commits when it may again": history(
        [MODERN, JAVA, JAVA], Action(46_842, "refuse", 0, 6_680), until_ms=90_000, seed=8_002_327
    ),
    "a refused member comes over another connection": history(
        [ConsumerSetup(session_timeout_ms=6_000)],
        Action(10_746, "refuse", 0, 6_232),
        Action(13_055, "cut", 0, 937),
        until_ms=40_000,
    ),
    # ---- pauses of the coordinator
    "a process is started again while the coordinator stands still": history(
        [JAVA], Action(28_939, "pause_coordinator", 0, 24_127), Action(32_796, "kill", 0, 4_229), until_ms=90_000
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
    "a disk is full after a start, and a member dies": history(
        [JAVA, JAVA], Action(4_104, "kill", 1), Action(4_484, "fill_disk", 1, 3_355)
    ),
    # ---- who has what
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
    "partitions are taken from a member that is dead": history(
        [COOPERATIVE._replace(heartbeat_ms=2_000), COOPERATIVE._replace(starts=False), COOPERATIVE, JAVA],
        Action(18_620, "kill", 1, 6_415),
        Action(26_266, "kill", 0, 6_749),
        seed=8_001_929,
    ),
    "members leave while the coordinator stands still, and others are there": history(
        [JAVA, MODERN],
        Action(9_345, "pause_coordinator", 0, 21_024),
        Action(11_941, "cut", 0, 28_613),
        Action(15_421, "roll", 0, 5_000),
        until_ms=90_000,
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
    # ---- what clients do
    "a subscription changes while its client has no connection": history(
        [ConsumerSetup(session_timeout_ms=15_000)], Action(32_623, "proxy", 0, 7_612), Action(34_643, "subscribe", 0, 3)
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
    "a member is restarted in a full group": history(
        [JAVA, *[COOPERATIVE] * 4],
        Action(22_223, "lose_host"),
        Action(74_741, "close", 2, 241),
        until_ms=90_000,
        max_size=4,
    ),
    "a new member leaves while the group waits for another one": history(
        [ConsumerSetup(session_timeout_ms=15_000)],
        Action(40_161, "lose_host", 0, 1_030),
        Action(43_263, "close"),
        reported_ms=(53_522,),
    ),
    "a client is refused by a group that is lost, and has its place again": history(
        [JAVA] * 3,
        Action(7_100, "stop_coordinator", 2, 2_624),
        Action(9_978, "close", 1, 6_875),
        Action(29_804, "lose_host"),
        max_size=2,
        seed=8_000_538,
    ),
    "a member of a group that changes its protocol is killed again and again": history(
        [
            ConsumerSetup(session_timeout_ms=6_000, heartbeat_ms=2_000),
            MODERN._replace(instance_id="i-1"),
        ],
        Action(22_053, "stop_coordinator", 1, 3_666),
        Action(28_497, "kill"),
        Action(37_266, "refuse", 1, 22_902),
        Action(61_130, "crash_loop", 1, 5),
        Action(71_877, "start", 0, 4),
        until_ms=90_000,
        consumer_session_ms=6_000,
        consumer_heartbeat_ms=1_000,
        seed=8_100_311,
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
    "a quota mutes a connection that is closed": history(
        [ConsumerSetup()],
        Action(9_846, "proxy_all", 0, 1_626),
        Action(10_188, "mute", 0, 26_588),
        Action(12_853, "refuse", 0, 17_600),
        until_ms=40_000,
    ),
    "a static member of a consumer group that was replaced commits": history(
        [MODERN._replace(instance_id="i-0")],
        Action(48_981, "close", 0, 6_226),
        Action(66_417, "kill", 0, 765),
        until_ms=90_000,
        consumer_heartbeat_ms=3_000,
    ),
    "a member whose requests are refused is late": history(
        [
            ConsumerSetup(assignors=("acme-balancer",), session_timeout_ms=15_000, max_poll_interval_ms=12_000),
            ConsumerSetup(assignors=("acme-balancer",), max_poll_interval_ms=12_000),
        ],
        Action(3_700, "crash_loop", 1, 3),
        Action(5_521, "refuse", 0, 29_389),
    ),
    "a quota mutes a connection for a part of a silence": history(
        [JAVA], Action(17_210, "mute", 0, 17_009), Action(19_452, "proxy", 0, 3_427), Action(23_410, "kill", 0, 28_390)
    ),
    "a quota mutes the open connection of a suspended process for a while": history(
        [JAVA], Action(8_658, "suspend", 0, 6_378), Action(12_364, "mute", 0, 5_565), until_ms=40_000
    ),
}

FOUND: Final[dict[str, History]] = FIRST | LATER | LATEST

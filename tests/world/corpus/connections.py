"""What was done to connections of members, or over them: rights, quotas, networks, requests that were rejected."""

from typing import Final

from tests.world.corpus.shapes import COMPANY, COOPERATIVE, JAVA, MODERN, history
from tests.world.history import Action, History

FOUND: Final[dict[str, History]] = {
    "the right to read the group is revoked": history([JAVA, JAVA], Action(20_000, "refuse", 1, 28_000)),
    "the right of a member of a consumer group is revoked": history(
        [MODERN, MODERN], Action(20_000, "refuse", 1, 28_000)
    ),
    "the right is revoked, and its client does not say what it is": history(
        [JAVA._replace(kind="kafkajs"), JAVA], Action(20_000, "refuse", 0, 28_000)
    ),
    "the right is revoked twice": history(
        [JAVA], Action(23_380, "refuse", 0, 1_995), Action(35_211, "refuse", 0, 21_322)
    ),
    "a quota mutes a connection": history([JAVA, JAVA], Action(20_000, "mute", 1, 14_000)),
    "a quota mutes the connection of a member of a consumer group": history(
        [MODERN, MODERN], Action(20_000, "mute", 1, 14_000)
    ),
    "a quota mutes a connection, and its process ends": history(
        [JAVA, JAVA], Action(20_000, "mute", 1, 14_000), Action(25_000, "kill", 1)
    ),
    "a quota mutes a connection before SyncGroup": history(
        [
            JAVA._replace(max_poll_interval_ms=12_000),
            JAVA._replace(session_timeout_ms=15_000, max_poll_interval_ms=12_000),
        ],
        Action(3_029, "mute", 1, 19_897),
    ),
    "a quota mutes a connection after a start of the coordinator": history(
        [JAVA, JAVA], Action(20_000, "kill_coordinator", 0, 900), Action(21_500, "mute", 1, 14_000)
    ),
    "a load balancer is away": history([JAVA, JAVA], Action(20_000, "proxy_all", 0, 11_000), reported_ms=(25_000,)),
    "a load balancer is away for longer than max.poll.interval.ms": history(
        [JAVA, JAVA._replace(max_poll_interval_ms=12_000)], Action(15_510, "proxy_all", 1, 28_131)
    ),
    "the network is cut, and the process ends meanwhile": history(
        [JAVA, JAVA], Action(20_000, "cut", 1, 12_000), Action(24_000, "kill", 1, 500)
    ),
    "the right is revoked as the coordinator starts": history(
        [JAVA], Action(16_025, "kill_coordinator", 0, 3_872), Action(18_617, "refuse", 0, 11_721)
    ),
    "a connection is lost, and the next one is muted": history(
        [
            JAVA._replace(assignors=("roundrobin",), heartbeat_ms=2_000),
            JAVA._replace(assignors=("roundrobin",), session_timeout_ms=6_000),
        ],
        Action(13_991, "cut", 1, 2_607),
        Action(18_809, "mute", 1, 7_325),
        until_ms=40_000,
    ),
    "a member is closed while it is muted": history(
        [JAVA], Action(28_421, "mute", 0, 7_290), Action(31_166, "close", 0, 21_141)
    ),
    "a member is muted while it waits in a join phase": history(
        [JAVA._replace(session_timeout_ms=6_000), JAVA._replace(session_timeout_ms=6_000)],
        Action(5_554, "roll", 0, 5_000),
        Action(5_937, "kill", 1, 15_386),
        Action(11_935, "mute", 0, 7_092),
        until_ms=90_000,
        initial_delay_ms=3_000,
        seed=8001304,
    ),
    "a member that is refused commits when it may again": history(
        [MODERN, JAVA, JAVA], Action(46_842, "refuse", 0, 6_680), until_ms=90_000, seed=8002327
    ),
    "a refused member comes over another connection": history(
        [JAVA._replace(session_timeout_ms=6_000)],
        Action(10_746, "refuse", 0, 6_232),
        Action(13_055, "cut", 0, 937),
        until_ms=40_000,
    ),
    "a subscription changes while its client has no connection": history(
        [JAVA._replace(session_timeout_ms=15_000)], Action(32_623, "proxy", 0, 7_612), Action(34_643, "subscribe", 0, 3)
    ),
    "a client is refused by a group that is lost, and has its place again": history(
        [JAVA] * 3,
        Action(7_100, "stop_coordinator", 2, 2_624),
        Action(9_978, "close", 1, 6_875),
        Action(29_804, "lose_host"),
        max_size=2,
        seed=8000538,
    ),
    "a quota mutes a connection that is closed": history(
        [JAVA],
        Action(9_846, "proxy_all", 0, 1_626),
        Action(10_188, "mute", 0, 26_588),
        Action(12_853, "refuse", 0, 17_600),
        until_ms=40_000,
    ),
    "a member whose requests are refused is late": history(
        [
            COMPANY._replace(session_timeout_ms=15_000, max_poll_interval_ms=12_000),
            COMPANY._replace(max_poll_interval_ms=12_000),
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
        until_ms=90_000,
        topics=(("t", 2),),
        max_size=4,
        seed=9000308,
    ),
    "a client that was cut off before gives up in a pause": history(
        [JAVA],
        Action(15_354, "proxy", 0, 23_595),
        Action(41_943, "pause_coordinator", 0, 6_077),
        Action(46_949, "proxy_all", 0, 19_633),
    ),
    "a full group refuses the new JoinGroup of a member that it waits for": history(
        [
            COOPERATIVE._replace(instance_id="i-1", session_timeout_ms=15_000, max_poll_interval_ms=12_000),
            COOPERATIVE._replace(max_poll_interval_ms=12_000),
            COOPERATIVE._replace(max_poll_interval_ms=12_000),
        ],
        Action(3_101, "stop_coordinator", 1, 538),
        Action(7_561, "subscribe", 0, 2),
        until_ms=90_000,
        initial_delay_ms=3_000,
        max_size=3,
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
        until_ms=40_000,
        max_size=4,
        seed=9011401,
    ),
    "the requests of a classic member are rejected over a new connection": history(
        [COOPERATIVE, MODERN._replace(instance_id="i-1"), COOPERATIVE],
        Action(22_214, "suspend", 1, 3_476),
        Action(22_396, "lose_host"),
        Action(28_924, "proxy", 2, 6_068),
        Action(31_005, "kill", 1, 3_720),
        consumer_heartbeat_ms=1_000,
    ),
    "a classic member is cut off while its group changes its type twice": history(
        [JAVA._replace(session_timeout_ms=15_000), MODERN],
        Action(20_705, "kill", 0, 1_698),
        Action(31_698, "cut", 0, 4_449),
        Action(34_201, "close", 1, 8_877),
    ),
    "a connection is lost, and the next one is muted after a commit": history(
        [JAVA._replace(session_timeout_ms=6_000, heartbeat_ms=2_000)],
        Action(58_335, "proxy_all", 0, 826),
        Action(63_150, "mute", 0, 23_572),
        until_ms=90_000,
    ),
    "a load balancer is away, and the group changes its type meanwhile": history(
        [MODERN, JAVA, JAVA], Action(15_714, "proxy_all", 0, 14_433)
    ),
    "members that wait ask again over new connections": history(
        [JAVA] * 5,
        Action(16_222, "proxy_all", 0, 534),
        Action(16_262, "pause_coordinator", 3, 12_049),
        until_ms=90_000,
        max_size=4,
    ),
    "a commit of a member of a group that changed its type is rejected": history(
        [JAVA, MODERN],
        Action(4_951, "close", 1, 21_083),
        Action(14_699, "pause_coordinator", 0, 3_763),
        Action(16_457, "proxy", 0, 2_972),
        until_ms=40_000,
        initial_delay_ms=3_000,
    ),
    "requests of a member are refused, and then rejected": history(
        [JAVA, MODERN, JAVA],
        Action(21_238, "kill", 2, 22_171),
        Action(25_037, "refuse", 0, 9_430),
        Action(32_219, "unsubscribe", 1),
    ),
    "a quota mutes a silent static member for a part of its silence": history(
        [JAVA._replace(instance_id="i-0"), MODERN._replace(instance_id="i-1")],
        Action(32_227, "lose_host", 1, 5_479),
        Action(33_103, "unsubscribe"),
        Action(35_941, "mute", 0, 11_031),
        until_ms=90_000,
        consumer_heartbeat_ms=3_000,
        seed=400940,
    ),
    "a static classic member comes back after its heartbeat was rejected": history(
        [MODERN, MODERN, JAVA._replace(instance_id="i-2")],
        Action(5_336, "proxy_all", 2, 6_622),
        Action(7_733, "remove_member"),
        until_ms=90_000,
        consumer_session_ms=6_000,
        seed=504948,
    ),
    "the requests over a new connection are refused": history(
        [JAVA], Action(6_621, "refuse", 0, 17_287), Action(7_754, "cut", 0, 5_243)
    ),
    "a process whose connection was closed commits as it is closed in order": history(
        [JAVA._replace(session_timeout_ms=6_000)],
        Action(16_145, "proxy_all", 0, 5_915),
        Action(23_798, "close", 0, 315),
        Action(44_298, "proxy", 0, 25_527),
    ),
    "a heartbeat was sent before its connection was muted, and its process has ended when it is read": history(
        [JAVA._replace(heartbeat_ms=2_000)], Action(3_957, "mute", 0, 3_619), Action(4_221, "lose_host", 0, 24_343)
    ),
    "the next connection of a client is muted before anything is read from it": history(
        [JAVA], Action(20_887, "proxy_all", 0, 4_406), Action(26_405, "mute", 0, 12_025)
    ),
    "a member of a consumer group unsubscribes while it is muted, and its process is killed later": history(
        [MODERN._replace(instance_id="i-2")],
        Action(27_178, "mute", 0, 5_849),
        Action(30_220, "unsubscribe"),
        Action(41_449, "kill", 0, 16_333),
    ),
    "a member unsubscribes while it is muted": history(
        [JAVA, JAVA], Action(32_198, "mute", 0, 7_692), Action(33_620, "unsubscribe")
    ),
    "a commit is read when its process is suspended, as its connection was muted": history(
        [MODERN], Action(24_255, "mute", 0, 8_537), Action(25_169, "suspend", 0, 23_602), seed=1576
    ),
    "a member is muted for a part of the time in which it is cut off": history(
        [COOPERATIVE, COOPERATIVE, COOPERATIVE, COOPERATIVE._replace(max_poll_interval_ms=40_000), COOPERATIVE],
        Action(37_821, "cut", 4, 12_397),
        Action(42_586, "mute", 4, 5_827),
        max_size=4,
    ),
    "a client is muted after its removal, and gives that connection up": history(
        [JAVA._replace(instance_id="i-0", session_timeout_ms=6_000)],
        Action(12_795, "kill", 0, 752),
        Action(20_301, "suspend", 0, 5_959),
        Action(25_984, "mute", 0, 14_239),
        until_ms=40_000,
    ),
    "nothing is read of a member from the answer to its JoinGroup on": history(
        [JAVA, JAVA],
        Action(15_000, "block", 1, 12_000),
        Action(16_000, "grow_topic", 0, 3),
        Action(26_500, "mute", 0, 20_000),
    ),
    "the answer to a SyncGroup is lost, and its member says again what it said when it joined": history(
        [JAVA, JAVA._replace(starts=False)],
        Action(43_076, "block", 0, 6_782),
        Action(45_568, "kill", 1, 6_042),
        Action(48_438, "close", 0, 5_536),
        Action(51_702, "proxy_all", 0, 821),
        until_ms=90_000,
        seed=84_006_336,
    ),
    "a commit of an older generation comes by another connection": history(
        [
            JAVA._replace(topics=("t", "u")),
            JAVA._replace(topics=("t", "u")),
            MODERN._replace(topics=("t", "u")),
            JAVA._replace(topics=("t", "u")),
        ],
        Action(14_611, "mute", 1, 4_821),
        Action(16_522, "mute", 0, 27_520),
        Action(18_101, "roll", 0, 1_000),
        Action(36_477, "suspend", 1, 4_275),
        Action(39_361, "proxy_all", 1, 6_722),
        consumer_session_ms=6_000,
        seed=88_003_817,
    ),
    "a connection was muted before its JoinGroup was answered": history(
        [COOPERATIVE] * 3,
        Action(11_322, "mute", 0, 7_317),
        Action(15_130, "pause_coordinator", 2, 24_996),
        Action(37_634, "lose_host", 0, 19_528),
        max_size=2,
    ),
    "a static member commits, sends no heartbeat, and is restarted in an epoch": history(
        [JAVA._replace(instance_id="i-0"), JAVA, JAVA, MODERN._replace(assignors=("range",)), JAVA],
        Action(13_785, "proxy_all", 4, 1_814),
        Action(16_107, "close", 4, 1_447),
        Action(17_012, "roll", 0, 2_001),
        seed=89_209_170,
        until_ms=40_000,
    ),
}

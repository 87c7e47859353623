"""Requests that were refused or rejected, and read late."""

from typing import Final

from tests.world.corpus.shapes import COOPERATIVE, JAVA, MODERN, history
from tests.world.history import Action, History

FOUND: Final[dict[str, History]] = {
    "a right is lost twice, and other requests are refused each time": history(
        [COOPERATIVE],
        Action(7_880, "refuse", 0, 2_783),
        Action(8_247, "subscribe", 0, 6),
        Action(15_093, "refuse", 0, 4_296),
        Action(17_767, "close", 0, 25_851),
        until_ms=40_000,
    ),
    "a static member has no place, as its own member of a pause has it": history(
        [JAVA._replace(kind="modern", instance_id="i-0")],
        Action(6_842, "unsubscribe"),
        Action(9_621, "pause_coordinator", 0, 19_355),
        Action(16_390, "roll", 0, 1_000),
        Action(70_494, "lose_host", 0, 574),
        until_ms=90_000,
    ),
    "a member is silent after a restart, and had been rejected before it": history(
        [COOPERATIVE, JAVA._replace(kind="modern"), COOPERATIVE],
        Action(27_791, "roll", 1, 2_001),
        Action(36_300, "stop_coordinator", 0, 4_939),
    ),
    "a member is fenced, and then refused its own place": history(
        [JAVA._replace(kind="modern"), JAVA._replace(kind="modern", instance_id="i-1")],
        Action(3_201, "kill", 0, 6_921),
        Action(9_969, "pause_coordinator", 1, 26_329),
        until_ms=280_000,
        consumer_session_ms=6_000,
        seed=7014050,
    ),
    "a member rejoins that may never have been assigned anything": history(
        [JAVA._replace(instance_id="i-0", session_timeout_ms=6_000, heartbeat_ms=2_000)],
        Action(18_880, "cut", 0, 4_901),
        Action(20_789, "grow_topic", 0, 1),
        Action(23_400, "delete_offsets"),
        Action(24_276, "proxy", 0, 442),
        seed=7016891,
    ),
    "a classic member of a consumer group cannot rejoin while the disk is full": history(
        [JAVA._replace(kind="modern"), JAVA], Action(5_464, "fill_disk", 1, 3_139), initial_delay_ms=3_000, seed=7011642
    ),
    "members leave in a pause, and others had their partitions for a moment": history(
        [JAVA._replace(kind="modern")] * 3,
        Action(6_509, "roll", 0, 5_000),
        Action(9_073, "cut", 1, 1_803),
        Action(10_817, "pause_coordinator", 0, 6_727),
        until_ms=40_000,
        consumer_heartbeat_ms=3_000,
        seed=7002780,
    ),
    "a static member is replaced several times, and a load takes that back": history(
        [JAVA, JAVA._replace(instance_id="i-1")],
        Action(13_680, "crash_loop", 0, 3),
        Action(18_014, "crash_loop", 1, 4),
        Action(21_525, "kill"),
        Action(25_215, "fill_disk", 0, 3_667),
        until_ms=40_000,
    ),
    "a connection is not read for longer than two sessions": history(
        [JAVA, JAVA._replace(max_poll_interval_ms=40_000), JAVA],
        Action(27_915, "mute", 2, 22_445),
        until_ms=90_000,
        max_size=2,
        seed=10000510,
    ),
    "a member of a consumer group is refused, comes back by its id, and is closed": history(
        [MODERN, JAVA],
        Action(6_402, "refuse", 0, 7_803),
        Action(16_042, "roll", 0, 2_001),
        until_ms=40_000,
        seed=1200614,
    ),
    "a goodbye is refused, and the process comes as another member": history(
        [JAVA._replace(max_poll_interval_ms=20_000)],
        Action(6_248, "block", 0, 20_482),
        Action(22_795, "refuse", 0, 7_020),
        until_ms=90_000,
    ),
    "commits of two clients of one client id are refused after a start": history(
        [MODERN, JAVA._replace(client_id="billing"), JAVA, JAVA._replace(client_id="billing")],
        Action(5_065, "kill_coordinator", 0, 4_571),
        Action(5_213, "kill"),
        Action(7_698, "starve", 2, 12_672),
        until_ms=40_000,
    ),
    "heartbeats are rejected that were not read, and others after them": history(
        [
            COOPERATIVE,
            MODERN._replace(assignors=("range",)),
            COOPERATIVE,
            COOPERATIVE._replace(session_timeout_ms=6_000, heartbeat_ms=2_000),
        ],
        Action(6_676, "roll", 1, 5_000),
        Action(9_236, "mute", 3, 3_613),
        Action(9_609, "unsubscribe"),
        Action(11_232, "pause_coordinator", 2, 6_832),
        until_ms=40_000,
    ),
    "a member has its right again, joins, and ends": history(
        [JAVA, JAVA],
        Action(14_058, "refuse", 0, 3_840),
        Action(16_814, "subscribe"),
        Action(18_992, "crash_loop", 0, 4),
        until_ms=40_000,
    ),
    "a member is refused that was not heard since a start": history(
        [
            JAVA._replace(max_poll_interval_ms=12_000),
            JAVA._replace(session_timeout_ms=15_000, max_poll_interval_ms=12_000),
        ],
        Action(31_931, "kill_coordinator", 1, 4_983),
        Action(35_909, "refuse", 1, 29_903),
        Action(38_158, "grow_topic", 0, 4),
    ),
    "heartbeats are rejected before a session that begins anew": history(
        [JAVA, MODERN._replace(pattern=".*")],
        Action(9_211, "unsubscribe"),
        Action(26_177, "kill", 0, 6_869),
        Action(44_402, "create_other_topic", 0, 5),
        Action(45_388, "stop_leader", 0, 3_136),
        Action(49_605, "close", 1, 3_049),
        until_ms=90_000,
    ),
    "requests are refused that the network had held back": history(
        [MODERN],
        Action(9_378, "cut", 0, 12_846),
        Action(19_907, "refuse", 0, 6_479),
        consumer_session_ms=15_000,
    ),
}

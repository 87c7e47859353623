"""Groups that have no room for all."""

from typing import Final

from tests.world.corpus.shapes import COMPANY, COOPERATIVE, JAVA, MODERN, history
from tests.world.history import Action, History

FOUND: Final[dict[str, History]] = {
    "the group is full when members join": history([COMPANY] * 3, initial_delay_ms=3_000, max_size=2, seed=5580),
    "all members are replaced by others": history(
        [JAVA, JAVA], Action(20_000, "close", 0, 1_000), Action(20_100, "close", 1, 1_500)
    ),
    "a member is let in when the group has room": history(
        [JAVA, JAVA, JAVA], Action(40_000, "close", 0), max_size=2, reported_ms=(30_000,)
    ),
    "a process asks for the place of a dead one under its member id": history(
        [MODERN._replace(instance_id="i-4")],
        Action(9_765, "pause_coordinator", 0, 16_613),
        Action(13_064, "close", 0, 1_650),
    ),
    "a member is restarted in a full group": history(
        [JAVA, *[COOPERATIVE] * 4],
        Action(22_223, "lose_host"),
        Action(74_741, "close", 2, 241),
        until_ms=90_000,
        max_size=4,
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
}

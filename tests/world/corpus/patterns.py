"""Members that subscribe to regular expressions (KIP-848), and topics that come and go."""

from typing import Final

from tests.world.corpus.shapes import JAVA, MODERN, history
from tests.world.history import Action, History

NOTHING: Final = MODERN._replace(topics=(), pattern="none")
ALL: Final = MODERN._replace(topics=(), pattern=".*")
LATER: Final = MODERN._replace(topics=(), pattern="u|tu")

FOUND: Final[dict[str, History]] = {
    "a member whose regular expression finds nothing is there when another one dies": history(
        [LATER, MODERN._replace(pattern="none"), NOTHING],
        Action(16_542, "lose_host", 1),
    ),
    "a member leaves before the topics of its regular expression are looked for": history(
        [NOTHING, NOTHING, LATER], Action(3_900, "close", 2)
    ),
    "a member with a regular expression is the first one after all had gone": history(
        [ALL], Action(6_500, "remove_member"), Action(7_000, "kill", 0, 5_000)
    ),
    "the topics of a regular expression are found ten seconds after its member joined": history(
        [NOTHING, MODERN, ALL], Action(22_000, "create_other_topic", 0, 2), Action(40_000, "delete_other_topic", 0, 2)
    ),
    "a member asks for another regular expression, whose topics come and go": history(
        [MODERN, LATER],
        Action(20_000, "subscribe_to_pattern", 1, 1),
        Action(24_000, "create_other_topic", 0, 3),
        Action(38_000, "delete_other_topic", 0, 0),
    ),
    "a member joins before the topics of a regular expression are assigned": history(
        [MODERN._replace(topics=(), pattern="[tu]"), JAVA]
    ),
    "an empty group is made anew with another type amid a storm": history(
        [JAVA, LATER._replace(topics=("t",))],
        Action(10_948, "create_other_topic", 0, 18),
        Action(48_628, "delete_other_topic", 1, 12),
        Action(57_309, "lose_host", 1, 1_233),
        Action(75_764, "kill", 0, 2_811),
        Action(84_429, "create_other_topic", 1, 7),
        until_ms=90_000,
        topics=(("t", 2), ("u", 1)),
        max_size=1,
        seed=84_009_157,
    ),
    "a static member comes back in the ms in which topics are found": history(
        [MODERN._replace(instance_id="i-1"), ALL._replace(pattern="[tu]"), ALL._replace(topics=("t",))],
        Action(3_811, "kill_coordinator", 0, 419),
        Action(7_271, "close", 0, 2_711),
        until_ms=90_000,
    ),
    "a static member has its part again before the epoch rises with topics that are found": history(
        [
            ALL._replace(instance_id="i-0", pattern="t.*"),
            ALL._replace(instance_id="i-1"),
            JAVA._replace(instance_id="i-3"),
        ],
        Action(4_795, "proxy_all", 1, 6_747),
        Action(8_537, "roll", 0, 1_000),
        Action(12_970, "unsubscribe"),
        until_ms=40_000,
        seed=85_200_073,
    ),
    "the first request after a load subscribes to another regular expression": history(
        [JAVA, ALL._replace(pattern="t.*")],
        Action(14_588, "close"),
        Action(16_787, "kill_coordinator", 1, 5_025),
        Action(20_438, "subscribe_to_pattern", 1, 10),
    ),
    "a member without topics joins before those of another one are found": history(
        [JAVA, MODERN._replace(pattern="u|tu"), MODERN._replace(topics=())],
        Action(15_682, "roll", 1, 10_001),
        Action(22_011, "subscribe_to_pattern", 2, 11),
        Action(27_254, "create_other_topic"),
        consumer_heartbeat_ms=1_000,
        max_size=2,
        seed=89_101_417,
        until_ms=40_000,
    ),
    "a member whose regular expression finds its topics joins just before an epoch starts": history(
        [JAVA, MODERN._replace(pattern="u|tu"), MODERN._replace(topics=(), pattern="[tu]")],
        Action(15_682, "roll", 1, 10_001),
        Action(27_254, "create_other_topic"),
        consumer_heartbeat_ms=1_000,
        max_size=2,
        seed=3,
        until_ms=40_000,
    ),
}

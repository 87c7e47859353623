"""Nodes in front of a cluster that lead one after the other, while members go on."""

from typing import Final

from tests.world.corpus.shapes import JAVA, MODERN, history
from tests.world.history import Action, History

FOUND: Final[dict[str, History]] = {
    "a node that took over is killed, and starts again before anything is told of the group": history(
        [JAVA, JAVA],
        Action(20_000, "stop_leader", 0, 3_000),
        Action(29_000, "kill", 1),
        Action(30_000, "kill_coordinator", 0, 1_000),
        in_cluster=True,
    ),
    "a node is killed, and a member ends before the next one takes over": history(
        [JAVA, MODERN], Action(20_000, "kill_leader", 0, 3_000), Action(21_000, "kill", 1, 5_000), in_cluster=True
    ),
    "which time without an owner was the longest is not known after a takeover": history(
        [
            MODERN._replace(topics=(), pattern=".*"),
            MODERN._replace(topics=(), pattern="u|tu"),
            MODERN._replace(topics=()),
        ],
        Action(15_444, "lose_host", 2),
        Action(31_849, "crash_loop", 0, 4),
        Action(40_405, "subscribe_to_pattern", 1, 4),
        Action(44_106, "kill_leader", 0, 4_892),
        topics=(("t", 6), ("u", 1)),
        consumer_session_ms=6_000,
        seed=88_005_073,
    ),
}

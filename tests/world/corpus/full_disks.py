"""Times in which nothing can be written: no event tells what happens then."""

from typing import Final

from tests.world.corpus.shapes import COMPANY, JAVA, MODERN, history
from tests.world.history import Action, History

FOUND: Final[dict[str, History]] = {
    "the coordinator is stopped in order when it cannot write": history(
        [JAVA, MODERN, JAVA],
        Action(14_297, "delete_offsets", 2),
        Action(15_052, "lose_host", 2, 1_413),
        Action(21_160, "suspend", 1, 8_700),
        Action(30_806, "fill_disk", 0, 5_252),
        Action(36_094, "stop_coordinator", 2, 3_506),
    ),
    "a classic member of a consumer group joins while nothing can be written": history(
        [JAVA, MODERN, JAVA._replace(session_timeout_ms=6_000)],
        Action(5_108, "lose_host", 2),
        Action(10_977, "fill_disk", 0, 5_994),
        consumer_heartbeat_ms=3_000,
    ),
    "a classic member joins for a topic that was made again, and nothing can be written": history(
        [JAVA._replace(topics=("t", "u")), MODERN._replace(topics=("t", "u")), MODERN._replace(topics=("t", "u"))],
        Action(55_837, "roll", 2, 1_000),
        Action(63_448, "delete_topic", 1, 1_379),
        Action(64_704, "stop_coordinator", 2, 3_921),
        Action(70_565, "fill_disk", 1, 5_573),
        until_ms=90_000,
        topics=(("t", 6), ("u", 3)),
        consumer_heartbeat_ms=1_000,
        seed=9001557,
    ),
    "nothing can be written, and a member never asked for its assignment": history(
        [COMPANY._replace(client_id="billing"), COMPANY._replace(client_id="billing")],
        Action(6_079, "block", 1, 15_513),
        Action(7_732, "close", 0, 4_324),
        Action(8_976, "fill_disk", 0, 4_104),
        until_ms=40_000,
        initial_delay_ms=3_000,
    ),
    "nothing can be written for as long as the coordinator stands still after that": history(
        [JAVA], Action(9_344, "fill_disk", 0, 3_463), Action(11_885, "pause_coordinator", 0, 27_236)
    ),
    "a removal is lost as nothing can be written": history(
        [JAVA], Action(4_455, "crash_loop", 0, 5), Action(33_228, "fill_disk", 0, 2_042)
    ),
    "a topic is made again while nothing can be written of its offsets": history(
        [MODERN],
        Action(46_062, "fill_disk", 0, 4_909),
        Action(47_241, "delete_topic", 0, 752),
        Action(50_484, "kill_coordinator", 0, 3_531),
    ),
}

"""Members of assignors of which nobody knows whether they keep what they own, and of cooperative ones."""

from typing import Final

from tests.world.corpus.shapes import COMPANY, COOPERATIVE, JAVA, history
from tests.world.history import Action, ConsumerSetup, History

FOUND: Final[dict[str, History]] = {
    "a member of an unknown assignor is gone before it is assigned anything again": history(
        [COMPANY, COMPANY, COMPANY, COMPANY._replace(instance_id="i-3"), COMPANY],
        Action(27_186, "roll", 0, 2_001),
        max_size=4,
        seed=7003665,
    ),
    "a member of an unknown assignor is killed after it rejoined": history(
        [COMPANY._replace(topics=("t", "u"), session_timeout_ms=15_000), COMPANY._replace(client_id="billing")],
        Action(3_686, "kill", 0, 2_210),
        Action(20_292, "kill", 1),
        topics=(("t", 8), ("u", 3)),
        initial_delay_ms=3_000,
        seed=7006697,
    ),
    "a static member of an unknown assignor is restarted while it waits for its assignment": history(
        [COMPANY._replace(instance_id="i-0"), COMPANY],
        Action(8_941, "die_joining", 1),
        Action(9_508, "subscribe", 1, 2),
        Action(20_522, "roll", 1, 1_000),
        until_ms=40_000,
        seed=7008093,
    ),
    "new processes of static members claim nothing, which their assignor takes from them": history(
        [
            COMPANY,
            COMPANY._replace(instance_id="i-1"),
            COMPANY._replace(instance_id="i-2"),
            COMPANY._replace(instance_id="i-3"),
            COMPANY._replace(instance_id="i-4", starts=False),
        ],
        Action(10_025, "close", 1, 4_334),
        Action(12_796, "kill", 4, 1_444),
        Action(13_575, "close", 2, 16_787),
        Action(17_041, "start", 2, 2),
        until_ms=40_000,
        seed=8014540,
    ),
    "a member of an unknown assignor unsubscribes from what it owns alone": history(
        [
            COMPANY._replace(max_poll_interval_ms=12_000),
            COMPANY._replace(topics=("t", "u"), max_poll_interval_ms=12_000),
            COMPANY._replace(topics=("t", "u"), client_id="billing", max_poll_interval_ms=12_000),
            COMPANY._replace(topics=("t", "u"), client_id="billing", max_poll_interval_ms=12_000),
        ],
        Action(38_085, "refuse", 0, 3_499),
        Action(38_916, "subscribe", 1),
        topics=(("t", 8), ("u", 1)),
        max_size=3,
        seed=8009394,
    ),
    "a member of an unknown assignor gives up what nobody gets": history(
        [COMPANY, COMPANY],
        Action(63_188, "subscribe", 0, 5),
        Action(64_962, "kill", 1, 9_234),
        until_ms=90_000,
        topics=(("t", 6), ("u", 3)),
        initial_delay_ms=3_000,
    ),
    "a static member dies in a pause, and others wait for it after that": history(
        [COMPANY, COMPANY._replace(instance_id="i-4", session_timeout_ms=15_000, max_poll_interval_ms=12_000)],
        Action(7_726, "remove_member"),
        Action(7_893, "pause_coordinator", 0, 24_428),
        Action(32_204, "kill", 1),
    ),
    "what an absent static member said when it joined is old": history(
        [COOPERATIVE, COOPERATIVE._replace(instance_id="i-1", max_poll_interval_ms=12_000)],
        Action(9_636, "subscribe", 0, 4),
        Action(52_586, "block", 1, 25_835),
        Action(59_892, "unsubscribe"),
        Action(63_940, "lose_host", 0, 7_683),
        until_ms=90_000,
    ),
    "a cooperative member commits while it waits for its assignment": history(
        [COOPERATIVE] * 3,
        Action(4_584, "kill", 0, 2_195),
        Action(4_983, "kill", 2, 15_076),
        Action(18_765, "die_joining", 1),
        Action(28_836, "kill"),
    ),
    "a member that was absent when it lost partitions rejoins": history(
        [
            COOPERATIVE._replace(max_poll_interval_ms=12_000),
            COOPERATIVE._replace(
                kind="librdkafka", instance_id="i-1", session_timeout_ms=15_000, max_poll_interval_ms=12_000
            ),
            COOPERATIVE._replace(session_timeout_ms=15_000, max_poll_interval_ms=12_000),
            COOPERATIVE._replace(max_poll_interval_ms=12_000),
        ],
        Action(13_718, "lose_host", 2, 8_836),
        Action(32_290, "refuse", 1, 25_462),
        max_size=3,
        seed=8001837,
    ),
    "a member that was refused rejoins long after it lost partitions": history(
        [
            COOPERATIVE._replace(kind="librdkafka", session_timeout_ms=15_000),
            COOPERATIVE,
            COOPERATIVE._replace(instance_id="i-2"),
            COOPERATIVE._replace(instance_id="i-3"),
        ],
        Action(3_295, "remove_member", 1),
        Action(4_524, "lose_host", 2, 7_098),
        Action(10_720, "refuse", 0, 23_363),
        Action(21_012, "stop_coordinator", 0, 2_986),
        until_ms=40_000,
        topics=(("t", 4),),
        seed=9013571,
    ),
    "a member joins again before it was assigned anything": history(
        [COOPERATIVE, COOPERATIVE._replace(kind="librdkafka", starts=False), COOPERATIVE],
        Action(17_370, "mute", 2, 5_118),
        Action(34_127, "lose_host", 2, 4_068),
        Action(37_856, "crash_loop", 1, 2),
        initial_delay_ms=3_000,
        seed=9007219,
    ),
    "a static member of an unknown assignor is restarted while others are waited for": history(
        [COMPANY._replace(instance_id="i-0"), COMPANY, COMPANY._replace(starts=False)],
        Action(19_000, "block", 1, 14_000),
        Action(20_000, "start", 2),
        Action(28_000, "kill", 0, 500),
        initial_delay_ms=3_000,
    ),
    "a member commits what it had before it stood still, and has joined since": history(
        [COOPERATIVE] * 3,
        Action(20_430, "kill", 0, 463),
        Action(29_462, "suspend", 1, 7_417),
        Action(60_610, "lose_host", 1, 29_967),
        until_ms=90_000,
        seed=40000569,
    ),
    "a member of an unknown assignor loses all that it had": history(
        [COMPANY] * 3, Action(12_147, "subscribe", 0, 5), initial_delay_ms=3_000, max_size=2
    ),
    "a member that is not told what it lost has it until it is assigned less": history(
        [COOPERATIVE, COOPERATIVE, COOPERATIVE, COOPERATIVE],
        Action(10_841, "reset_offsets", 2, 2),
        Action(12_329, "kill", 3, 6_230),
        Action(14_653, "remove_member", 3),
        initial_delay_ms=3_000,
        max_size=3,
        seed=81_102_873,
    ),
    "a member of the company's assignor never had what it loses": history(
        [COMPANY, COMPANY._replace(session_timeout_ms=15_000), COMPANY],
        Action(4_503, "kill", 1, 3_632),
        Action(5_517, "start", 1, 4),
        Action(8_289, "refuse", 1, 7_820),
        Action(20_816, "lose_host", 2, 7_874),
        initial_delay_ms=3_000,
        until_ms=40_000,
    ),
    "a member of the company's assignor claims nothing, as its application is busy": history(
        [COMPANY, COMPANY],
        Action(4_281, "block", 0, 7_547),
        Action(7_739, "proxy", 0, 1_385),
        initial_delay_ms=3_000,
        seed=81_502_163,
    ),
    "a member loses what it had not asked for": history(
        [JAVA, ConsumerSetup("kafka-python")],
        Action(4_771, "pause_coordinator", 1, 12_477),
        Action(5_236, "suspend", 1, 15_246),
        Action(16_585, "grow_topic", 0, 6),
        topics=(("t", 2), ("u", 3)),
        initial_delay_ms=3_000,
    ),
}

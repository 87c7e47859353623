"""Members of assignors of which nobody knows whether they keep what they own, and of cooperative ones."""

from typing import Final

from tests.world.history import Action, ConsumerSetup, History, Setup

FOUND: Final[dict[str, History]] = {
    "a member of an unknown assignor is gone before it is assigned anything again": History(
        Setup(
            (
                ConsumerSetup(assignors=("acme-balancer",)),
                ConsumerSetup(assignors=("acme-balancer",)),
                ConsumerSetup(assignors=("acme-balancer",)),
                ConsumerSetup(assignors=("acme-balancer",), instance_id="i-3"),
                ConsumerSetup(assignors=("acme-balancer",)),
            ),
            max_size=4,
            seed=7003665,
        ),
        (Action(27186, "roll", 0, 2001),),
        until_ms=60000,
        reported_ms=(),
    ),
    "a member of an unknown assignor is killed after it rejoined": History(
        Setup(
            (
                ConsumerSetup(assignors=("acme-balancer",), topics=("t", "u"), session_timeout_ms=15000),
                ConsumerSetup(assignors=("acme-balancer",), client_id="billing"),
            ),
            topics=(("t", 8), ("u", 3)),
            initial_delay_ms=3000,
            seed=7006697,
        ),
        (
            Action(3686, "kill", 0, 2210),
            Action(20292, "kill", 1),
        ),
        until_ms=60000,
        reported_ms=(),
    ),
    "a static member of an unknown assignor is restarted while it waits for its assignment": History(
        Setup(
            (
                ConsumerSetup(assignors=("acme-balancer",), instance_id="i-0"),
                ConsumerSetup(assignors=("acme-balancer",)),
            ),
            seed=7008093,
        ),
        (
            Action(8941, "die_joining", 1),
            Action(9508, "subscribe", 1, 2),
            Action(20522, "roll", 1, 1000),
        ),
        until_ms=40000,
        reported_ms=(),
    ),
    "new processes of static members claim nothing, which their assignor takes from them": History(
        Setup(
            (
                ConsumerSetup(assignors=("acme-balancer",)),
                ConsumerSetup(assignors=("acme-balancer",), instance_id="i-1"),
                ConsumerSetup(assignors=("acme-balancer",), instance_id="i-2"),
                ConsumerSetup(assignors=("acme-balancer",), instance_id="i-3"),
                ConsumerSetup(assignors=("acme-balancer",), instance_id="i-4", starts=False),
            ),
            seed=8014540,
        ),
        (
            Action(10025, "close", 1, 4334),
            Action(12796, "kill", 4, 1444),
            Action(13575, "close", 2, 16787),
            Action(17041, "start", 2, 2),
        ),
        until_ms=40000,
        reported_ms=(),
    ),
    "a member of an unknown assignor unsubscribes from what it owns alone": History(
        Setup(
            (
                ConsumerSetup(assignors=("acme-balancer",), max_poll_interval_ms=12000),
                ConsumerSetup(assignors=("acme-balancer",), topics=("t", "u"), max_poll_interval_ms=12000),
                ConsumerSetup(
                    assignors=("acme-balancer",), topics=("t", "u"), client_id="billing", max_poll_interval_ms=12000
                ),
                ConsumerSetup(
                    assignors=("acme-balancer",), topics=("t", "u"), client_id="billing", max_poll_interval_ms=12000
                ),
            ),
            topics=(("t", 8), ("u", 1)),
            max_size=3,
            seed=8009394,
        ),
        (
            Action(38085, "refuse", 0, 3499),
            Action(38916, "subscribe", 1),
        ),
        until_ms=60000,
        reported_ms=(),
    ),
    "a member of an unknown assignor gives up what nobody gets": History(
        Setup(
            (
                ConsumerSetup(assignors=("acme-balancer",)),
                ConsumerSetup(assignors=("acme-balancer",)),
            ),
            topics=(("t", 6), ("u", 3)),
            initial_delay_ms=3000,
        ),
        (
            Action(63188, "subscribe", 0, 5),
            Action(64962, "kill", 1, 9234),
        ),
        until_ms=90000,
        reported_ms=(),
    ),
    "a static member dies in a pause, and others wait for it after that": History(
        Setup(
            (
                ConsumerSetup(assignors=("acme-balancer",)),
                ConsumerSetup(
                    assignors=("acme-balancer",),
                    instance_id="i-4",
                    session_timeout_ms=15000,
                    max_poll_interval_ms=12000,
                ),
            ),
        ),
        (
            Action(7726, "remove_member"),
            Action(7893, "pause_coordinator", 0, 24428),
            Action(32204, "kill", 1),
        ),
        until_ms=60000,
        reported_ms=(),
    ),
    "what an absent static member said when it joined is old": History(
        Setup(
            (
                ConsumerSetup(assignors=("cooperative-sticky",)),
                ConsumerSetup(assignors=("cooperative-sticky",), instance_id="i-1", max_poll_interval_ms=12000),
            ),
        ),
        (
            Action(9636, "subscribe", 0, 4),
            Action(52586, "block", 1, 25835),
            Action(59892, "unsubscribe"),
            Action(63940, "lose_host", 0, 7683),
        ),
        until_ms=90000,
        reported_ms=(),
    ),
    "a cooperative member commits while it waits for its assignment": History(
        Setup(
            (
                ConsumerSetup(assignors=("cooperative-sticky",)),
                ConsumerSetup(assignors=("cooperative-sticky",)),
                ConsumerSetup(assignors=("cooperative-sticky",)),
            ),
        ),
        (
            Action(4584, "kill", 0, 2195),
            Action(4983, "kill", 2, 15076),
            Action(18765, "die_joining", 1),
            Action(28836, "kill"),
        ),
        until_ms=60000,
        reported_ms=(),
    ),
    "a member that was absent when it lost partitions rejoins": History(
        Setup(
            (
                ConsumerSetup(assignors=("cooperative-sticky",), max_poll_interval_ms=12000),
                ConsumerSetup(
                    kind="librdkafka",
                    assignors=("cooperative-sticky",),
                    instance_id="i-1",
                    session_timeout_ms=15000,
                    max_poll_interval_ms=12000,
                ),
                ConsumerSetup(assignors=("cooperative-sticky",), session_timeout_ms=15000, max_poll_interval_ms=12000),
                ConsumerSetup(assignors=("cooperative-sticky",), max_poll_interval_ms=12000),
            ),
            max_size=3,
            seed=8001837,
        ),
        (
            Action(13718, "lose_host", 2, 8836),
            Action(32290, "refuse", 1, 25462),
        ),
        until_ms=60000,
        reported_ms=(),
    ),
    "a member that was refused rejoins long after it lost partitions": History(
        Setup(
            (
                ConsumerSetup(kind="librdkafka", assignors=("cooperative-sticky",), session_timeout_ms=15000),
                ConsumerSetup(assignors=("cooperative-sticky",)),
                ConsumerSetup(assignors=("cooperative-sticky",), instance_id="i-2"),
                ConsumerSetup(assignors=("cooperative-sticky",), instance_id="i-3"),
            ),
            topics=(("t", 4),),
            seed=9013571,
        ),
        (
            Action(3295, "remove_member", 1),
            Action(4524, "lose_host", 2, 7098),
            Action(10720, "refuse", 0, 23363),
            Action(21012, "stop_coordinator", 0, 2986),
        ),
        until_ms=40000,
        reported_ms=(),
    ),
    "a member joins again before it was assigned anything": History(
        Setup(
            (
                ConsumerSetup(assignors=("cooperative-sticky",)),
                ConsumerSetup(kind="librdkafka", assignors=("cooperative-sticky",), starts=False),
                ConsumerSetup(assignors=("cooperative-sticky",)),
            ),
            initial_delay_ms=3000,
            seed=9007219,
        ),
        (
            Action(17370, "mute", 2, 5118),
            Action(34127, "lose_host", 2, 4068),
            Action(37856, "crash_loop", 1, 2),
        ),
        until_ms=60000,
        reported_ms=(),
    ),
    "a static member of an unknown assignor is restarted while others are waited for": History(
        Setup(
            (
                ConsumerSetup(assignors=("acme-balancer",), instance_id="i-0"),
                ConsumerSetup(assignors=("acme-balancer",)),
                ConsumerSetup(assignors=("acme-balancer",), starts=False),
            ),
            initial_delay_ms=3_000,
        ),
        (
            Action(19_000, "block", 1, 14_000),
            Action(20_000, "start", 2),
            Action(28_000, "kill", 0, 500),
        ),
    ),
    "a member commits what it had before it stood still, and has joined since": History(
        Setup(
            (
                ConsumerSetup(assignors=("cooperative-sticky",)),
                ConsumerSetup(assignors=("cooperative-sticky",)),
                ConsumerSetup(assignors=("cooperative-sticky",)),
            ),
            seed=40000569,
        ),
        (
            Action(20430, "kill", 0, 463),
            Action(29462, "suspend", 1, 7417),
            Action(60610, "lose_host", 1, 29967),
        ),
        until_ms=90000,
        reported_ms=(),
    ),
    "a member of an unknown assignor loses all that it had": History(
        Setup(
            (
                ConsumerSetup(assignors=("acme-balancer",)),
                ConsumerSetup(assignors=("acme-balancer",)),
                ConsumerSetup(assignors=("acme-balancer",)),
            ),
            initial_delay_ms=3000,
            max_size=2,
        ),
        (Action(12147, "subscribe", 0, 5),),
        until_ms=60000,
        reported_ms=(),
    ),
}

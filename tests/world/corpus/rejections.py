"""Requests that were refused or rejected, and read late."""

from typing import Final

from tests.world.history import Action, ConsumerSetup, History, Setup

FOUND: Final[dict[str, History]] = {
    "a right is lost twice, and other requests are refused each time": History(
        Setup(
            (ConsumerSetup(assignors=("cooperative-sticky",)),),
        ),
        (
            Action(7880, "refuse", 0, 2783),
            Action(8247, "subscribe", 0, 6),
            Action(15093, "refuse", 0, 4296),
            Action(17767, "close", 0, 25851),
        ),
        until_ms=40000,
        reported_ms=(),
    ),
    "a static member has no place, as its own member of a pause has it": History(
        Setup(
            (ConsumerSetup(kind="modern", instance_id="i-0"),),
        ),
        (
            Action(6842, "unsubscribe"),
            Action(9621, "pause_coordinator", 0, 19355),
            Action(16390, "roll", 0, 1000),
            Action(70494, "lose_host", 0, 574),
        ),
        until_ms=90000,
        reported_ms=(),
    ),
    "a member is silent after a restart, and had been rejected before it": History(
        Setup(
            (
                ConsumerSetup(assignors=("cooperative-sticky",)),
                ConsumerSetup(kind="modern"),
                ConsumerSetup(assignors=("cooperative-sticky",)),
            ),
        ),
        (
            Action(27791, "roll", 1, 2001),
            Action(36300, "stop_coordinator", 0, 4939),
        ),
        until_ms=60000,
        reported_ms=(),
    ),
    "a member is fenced, and then refused its own place": History(
        Setup(
            (
                ConsumerSetup(kind="modern"),
                ConsumerSetup(kind="modern", instance_id="i-1"),
            ),
            consumer_session_ms=6000,
            seed=7014050,
        ),
        (
            Action(3201, "kill", 0, 6921),
            Action(9969, "pause_coordinator", 1, 26329),
        ),
        until_ms=280000,
        reported_ms=(),
    ),
    "a member rejoins that may never have been assigned anything": History(
        Setup(
            (ConsumerSetup(instance_id="i-0", session_timeout_ms=6000, heartbeat_ms=2000),),
            seed=7016891,
        ),
        (
            Action(18880, "cut", 0, 4901),
            Action(20789, "grow_topic", 0, 1),
            Action(23400, "delete_offsets"),
            Action(24276, "proxy", 0, 442),
        ),
        until_ms=60000,
        reported_ms=(),
    ),
    "a classic member of a consumer group cannot rejoin while the disk is full": History(
        Setup(
            (
                ConsumerSetup(kind="modern"),
                ConsumerSetup(),
            ),
            initial_delay_ms=3000,
            seed=7011642,
        ),
        (Action(5464, "fill_disk", 1, 3139),),
        until_ms=60000,
        reported_ms=(),
    ),
    "members leave in a pause, and others had their partitions for a moment": History(
        Setup(
            (
                ConsumerSetup(kind="modern"),
                ConsumerSetup(kind="modern"),
                ConsumerSetup(kind="modern"),
            ),
            consumer_heartbeat_ms=3000,
            seed=7002780,
        ),
        (
            Action(6509, "roll", 0, 5000),
            Action(9073, "cut", 1, 1803),
            Action(10817, "pause_coordinator", 0, 6727),
        ),
        until_ms=40000,
        reported_ms=(),
    ),
    "a static member is replaced several times, and a load takes that back": History(
        Setup(
            (
                ConsumerSetup(),
                ConsumerSetup(instance_id="i-1"),
            ),
        ),
        (
            Action(13680, "crash_loop", 0, 3),
            Action(18014, "crash_loop", 1, 4),
            Action(21525, "kill"),
            Action(25215, "fill_disk", 0, 3667),
        ),
        until_ms=40000,
        reported_ms=(),
    ),
    "a connection is not read for longer than two sessions": History(
        Setup(
            (
                ConsumerSetup(),
                ConsumerSetup(max_poll_interval_ms=40000),
                ConsumerSetup(),
            ),
            max_size=2,
            seed=10000510,
        ),
        (Action(27915, "mute", 2, 22445),),
        until_ms=90000,
        reported_ms=(),
    ),
}

"""Small histories in which something was told that was not so. Each is one kind of what was found."""

from collections.abc import Iterable
from typing import Any, Final

from tests.world.clients import COMPANY_ASSIGNOR
from tests.world.history import Action, ConsumerSetup, History, Setup

JAVA: Final = ConsumerSetup()
COOPERATIVE: Final = ConsumerSetup(assignors=("cooperative-sticky",))
COMPANY: Final = ConsumerSetup(assignors=(COMPANY_ASSIGNOR,))
MODERN: Final = ConsumerSetup("modern", ())
UNTIL_MS: Final = 60_000


def history(
    consumers: Iterable[ConsumerSetup],
    *actions: Action,
    reported_ms: tuple[int, ...] = (),
    until_ms: int = UNTIL_MS,
    **setup: Any,
) -> History:
    return History(Setup(tuple(consumers), **setup), actions, until_ms, reported_ms)


FIRST: Final[dict[str, History]] = {
    # ---- what the coordinator did to a member
    "the right to read the group is revoked": history([JAVA, JAVA], Action(20_000, "refuse", 1, 28_000)),
    "the right of a member of a consumer group is revoked": history(
        [MODERN, MODERN], Action(20_000, "refuse", 1, 28_000)
    ),
    "the right is revoked, and its client does not say what it is": history(
        [ConsumerSetup("kafkajs", ("range",)), JAVA], Action(20_000, "refuse", 0, 28_000)
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
    # ---- a member dies around a restart of the coordinator
    "a member dies before a kill of the coordinator": history(
        [JAVA, JAVA, JAVA], Action(20_000, "kill", 1), Action(24_000, "kill_coordinator", 0, 900)
    ),
    "a member dies before an ordered stop of the coordinator": history(
        [JAVA, JAVA, JAVA], Action(20_000, "kill", 1), Action(24_000, "stop_coordinator", 0, 900)
    ),
    "a cooperative member dies before a kill of the coordinator": history(
        [COOPERATIVE] * 3, Action(20_000, "kill", 1), Action(24_000, "kill_coordinator", 0, 900)
    ),
    "a cooperative member dies before an ordered stop of the coordinator": history(
        [COOPERATIVE] * 3, Action(20_000, "kill", 1), Action(24_000, "stop_coordinator", 0, 900)
    ),
    "a member dies while there is no coordinator": history(
        [JAVA, JAVA, JAVA], Action(20_000, "stop_coordinator", 0, 4_000), Action(21_000, "kill", 1)
    ),
    "all members are restarted while there is no coordinator": history(
        [JAVA, JAVA], Action(20_000, "stop_coordinator", 0, 4_000), Action(20_500, "roll", 0, 1_000)
    ),
    # ---- groups that change their protocol
    "the last member of the new protocol dies": history([MODERN, JAVA], Action(20_000, "kill", 0)),
    "both members of a mixed group die": history(
        [MODERN, JAVA], Action(16_237, "kill"), Action(16_911, "kill", 1), consumer_session_ms=6_000
    ),
    # ---- static members
    "a static member of the new protocol crashes and comes back": history(
        [MODERN._replace(instance_id="i-0"), MODERN], Action(20_000, "kill", 0, 2_000), reported_ms=(24_000,)
    ),
    "a static member of the new protocol crashes, comes back and is gone": history(
        [MODERN._replace(instance_id="i-0"), MODERN],
        Action(20_000, "kill", 0, 2_000),
        Action(25_000, "kill"),
        reported_ms=(24_000, 29_000),
    ),
    "a static member of the new protocol crashes again and again": history(
        [MODERN._replace(instance_id="i-1")], Action(20_000, "crash_loop", 0, 3)
    ),
    "a static member is away for longer than its session": history(
        [JAVA, JAVA._replace(instance_id="i-1")], Action(20_000, "kill", 1, 13_000)
    ),
    "a static member joins again in a join phase": history(
        [COOPERATIVE, COOPERATIVE._replace(instance_id="i-2")],
        Action(19_283, "unsubscribe"),
        Action(32_525, "roll", 0, 1_000),
        seed=5058,
    ),
    "a static member unsubscribes": history(
        [COOPERATIVE, COOPERATIVE._replace(instance_id="i-1"), COOPERATIVE],
        Action(22_316, "lose_host", 2),
        Action(26_433, "unsubscribe", 1),
    ),
    "a static member is restarted while the group rebalances": history(
        [COOPERATIVE, COOPERATIVE._replace(instance_id="i-1"), COOPERATIVE], Action(49_481, "roll", 2, 2_001)
    ),
    # ---- connections
    "a load balancer is away": history([JAVA, JAVA], Action(20_000, "proxy_all", 0, 11_000), reported_ms=(25_000,)),
    "a load balancer is away for longer than max.poll.interval.ms": history(
        [JAVA, JAVA._replace(max_poll_interval_ms=12_000)], Action(15_510, "proxy_all", 1, 28_131)
    ),
    "the network is cut, and the process ends meanwhile": history(
        [JAVA, JAVA], Action(20_000, "cut", 1, 12_000), Action(24_000, "kill", 1, 500)
    ),
    # ---- assignors
    "a company has its own cooperative assignor": history([COMPANY] * 3, Action(20_000, "close", 1, 4_000)),
    # ---- topics
    "a topic is made again while the group is empty": history(
        [JAVA, JAVA],
        Action(20_000, "close", 0),
        Action(20_500, "close", 1),
        Action(22_000, "delete_topic", 0, 2_000),
        Action(26_000, "start", 0),
        Action(26_000, "start", 1),
    ),
    "a topic is made again between two generations": history(
        [COOPERATIVE, COOPERATIVE], Action(20_000, "delete_topic", 0, 5_000)
    ),
    "a topic is made again while nobody looks": history([JAVA, JAVA], Action(20_000, "delete_topic", 0, 500)),
    # ---- join phases
    "a member dies in a join phase": history(
        [JAVA, JAVA, JAVA], Action(20_000, "die_joining", 1), Action(21_000, "close", 2, 3_000)
    ),
    "a member is killed in a join phase": history(
        [JAVA, JAVA], Action(28_882, "die_joining", 1), Action(34_335, "remove_member", 1)
    ),
    "a member is closed in its join phase": history(
        [COOPERATIVE] * 3, Action(42_289, "close", 1, 500), Action(44_706, "kill_coordinator", 0, 1_604), seed=5173
    ),
    "the group is full when members join": history([COMPANY] * 3, initial_delay_ms=3_000, max_size=2, seed=5580),
    # ---- epochs
    "many members of the new protocol come and go": history([MODERN] * 3, Action(12_000, "roll", 0, 1_000)),
    "a member of the new protocol crashes again and again": history(
        [MODERN, MODERN], Action(12_000, "crash_loop", 1, 6), consumer_session_ms=6_000
    ),
    "epochs rise faster than they are reconciled": history(
        [MODERN], Action(4_815, "crash_loop", 0, 4), Action(8_758, "crash_loop", 0, 2), consumer_session_ms=15_000
    ),
    "a member leaves as its group changes its type": history([JAVA, MODERN], Action(16_697, "unsubscribe", 1)),
    "a topic is deleted as an epoch rises": history(
        [MODERN, MODERN], Action(20_000, "delete_topic", 0, 4_000), Action(20_500, "close", 1, 1_000)
    ),
    "an administrator removes a member of the new protocol": history(
        [MODERN, MODERN], Action(20_000, "remove_member", 1)
    ),
    "an administrator removes a member, and the epoch rises at once": history(
        [JAVA, MODERN], Action(20_320, "proxy_all", 0, 4_779), Action(21_102, "remove_member", 1)
    ),
    "the coordinator ends while an epoch waits for its target": history(
        [MODERN],
        Action(10_511, "crash_loop", 0, 4),
        Action(22_493, "stop_coordinator", 0, 429),
        Action(28_323, "close", 0, 1_096),
        topics=(("t", 1),),
    ),
    "a static member of the new protocol is closed while the coordinator restarts": history(
        [MODERN._replace(instance_id="i-1")],
        Action(19_180, "close", 0, 1_527),
        Action(19_737, "kill_coordinator", 0, 3_144),
    ),
    "the coordinator ends while a mixed group reconciles": history(
        [MODERN, JAVA],
        Action(21_150, "close", 1, 5_058),
        Action(23_933, "kill_coordinator", 0, 1_167),
        consumer_heartbeat_ms=3_000,
        seed=5037,
    ),
    # ---- the coordinator itself
    "a member is killed while the coordinator stands still": history(
        [JAVA, JAVA], Action(20_000, "pause_coordinator", 0, 14_000), Action(21_000, "kill", 1)
    ),
    "members are restarted while the coordinator stands still": history(
        [COOPERATIVE, COOPERATIVE], Action(11_512, "pause_coordinator", 0, 18_836), Action(15_370, "roll", 1, 5_000)
    ),
    "the disk is full when a member dies": history(
        [MODERN], Action(8_919, "fill_disk", 0, 3_630), Action(10_447, "kill", 0, 1_083)
    ),
    "a member rejoins while the coordinator stands still": history(
        [JAVA, JAVA], Action(20_000, "grow_topic", 0, 3), Action(20_500, "pause_coordinator", 0, 8_000)
    ),
    "members are removed by an administrator while the coordinator stands still": history(
        [JAVA, JAVA, JAVA],
        Action(27_856, "pause_coordinator", 2, 3_299),
        Action(30_208, "remove_member", 0),
        Action(30_524, "kill", 1, 436),
    ),
    # ---- what clients do
    "all members are replaced by others": history(
        [JAVA, JAVA], Action(20_000, "close", 0, 1_000), Action(20_100, "close", 1, 1_500)
    ),
    "a member without partitions is closed": history(
        [ConsumerSetup("librdkafka", max_poll_interval_ms=12_000)] * 2, Action(30_000, "close", 1), topics=(("t", 1),)
    ),
    "a member is let in when the group has room": history(
        [JAVA, JAVA, JAVA], Action(40_000, "close", 0), max_size=2, reported_ms=(30_000,)
    ),
    "a silent member is restarted": history(
        [ConsumerSetup(session_timeout_ms=6_000)],
        Action(12_031, "cut", 0, 5_059),
        Action(29_145, "stop_coordinator", 0, 5_174),
        Action(34_394, "close", 0, 7_084),
    ),
    # ---- the plain cases
    "a host is lost": history([JAVA, JAVA], Action(20_000, "lose_host", 1, 5_000)),
    "a process is suspended": history([JAVA, JAVA], Action(20_000, "suspend", 1, 14_000)),
    "a process is suspended while another member is removed": history(
        [JAVA, JAVA._replace(max_poll_interval_ms=12_000)],
        Action(11_840, "remove_member"),
        Action(11_971, "suspend", 1, 16_222),
    ),
    "an application is busy": history(
        [JAVA, JAVA._replace(max_poll_interval_ms=12_000)], Action(20_000, "block", 1, 20_000)
    ),
    "an application is busy, and poll() sends the heartbeats": history(
        [ConsumerSetup("kafka-python"), JAVA], Action(20_000, "block", 0, 20_000)
    ),
    "members are restarted one after the other": history([JAVA] * 3, Action(20_000, "roll", 0, 10_001)),
    "an administrator removes a member": history([JAVA, JAVA], Action(20_000, "remove_member", 1)),
    "a topic grows": history([JAVA, JAVA], Action(20_000, "grow_topic", 1, 3)),
    "the group is deleted": history(
        [JAVA], Action(20_000, "close", 0), Action(24_000, "delete_group"), Action(27_000, "start", 0)
    ),
    "offsets are reset": history(
        [JAVA], Action(20_000, "close", 0), Action(24_000, "reset_offsets", 0, 3), Action(27_000, "start", 0)
    ),
}

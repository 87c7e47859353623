"""ConsumerGroupHeartbeats that sessions answer without the core: which they are, and that nobody notices."""

import random
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from _wire.errors import NONE, ErrorCode
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from tests.core.consumer.delayed_work import DelayedWork
from tests.core.consumer.world import World
from tests.simulation.calls import CLIENT_HOST
from tests.simulation.simulation import GROUP_ID

TOPICS = {"t": 4, "u": 3}
NAMES = ("a", "b", "c", "s")
INSTANCES = {"s": "instance"}
STEPS = 120
UNCHANGED = ("names", "pattern", "assignor", "rack_id")
"""What a heartbeat must not say that the sessions answer; it may say what its member owns."""
INTERVAL_MS = 2_000
WAITING = {"group.consumer.assignment.interval.ms": str(INTERVAL_MS)}


class FastWorld(World):
    """Its heartbeats come as by a connection: the sessions answer what they can, if they may."""

    def __init__(
        self,
        uses_sessions: bool = True,
        topics: dict[str, int] | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.uses_sessions = uses_sessions
        self.answered_by_sessions = 0
        super().__init__(settings, topics or dict(TOPICS))

    def beat(self, member_id: str, epoch: int, **said: Any) -> ConsumerGroupHeartbeatResponse:
        asks_for_nothing = all(said.get(name) is None for name in UNCHANGED) and said.get("timeout_ms", -1) == -1
        if self.uses_sessions and asks_for_nothing:
            interval_ms = self.fast(member_id, epoch, said.get("instance_id"))
            if interval_ms >= 0:
                self.answered_by_sessions += 1
                return ConsumerGroupHeartbeatResponse(
                    member_id=member_id, member_epoch=epoch, heartbeat_interval_ms=interval_ms
                )
        return super().beat(member_id, epoch, **said)

    def fast(
        self, member_id: str, epoch: int, instance_id: str | None = None, client_id: str = "", host: str = CLIENT_HOST
    ) -> int:
        client_id = client_id or f"client-{member_id}"
        return self.sessions.answer_consumer_heartbeat(
            GROUP_ID, member_id, instance_id, epoch, client_id, host, self.now_ms
        )

    def step_wall_clock(self, step_ms: int) -> None:
        self.set_wall_clock(self.wall_ahead_ms + step_ms)

    def topics_changed(self) -> None:
        """As the metadata store says it."""
        self.sessions.close_all_heartbeats()


def settled(names: Iterable[str] = ("a",)) -> FastWorld:
    """A group whose members have all partitions, and whose heartbeats the sessions answer."""
    world = FastWorld()
    for name in names:
        world.enter(name, "t", "u", instance_id=INSTANCES.get(name))
    for _ in range(4):
        for name in names:
            world.beat(name, world.epoch(name), owned=world.assigned(name), instance_id=INSTANCES.get(name))
    return world


def test_a_settled_member_needs_the_core_no_more():
    world = settled()
    written = world.written()
    assert world.fast("a", 2) == 500
    assert world.written() == written


def test_such_a_heartbeat_renews_the_session():
    world = settled()
    deadline_ms = world.sessions.deadline_ms(GROUP_ID, "a")
    assert deadline_ms is not None
    timeout_ms = deadline_ms - world.now_ms
    for _ in range(3):
        world.advance(timeout_ms - 1)
        assert world.fast("a", 2) == 500
    world.advance(timeout_ms)
    assert world.fast("a", 2) == -1 and not world.consumer.members


def test_a_heartbeat_that_the_member_has_not_sent_before_is_for_the_core():
    world = settled(["a", "s"])
    epoch = world.epoch("a")
    assert world.fast("a", epoch) == world.fast("s", epoch, "instance") == 500
    for answered in (
        world.fast("a", epoch + 1),
        world.fast("a", epoch - 1),
        world.fast("a", 0),
        world.fast("a", -1),
        world.fast("a", -2),
        world.fast("a", epoch, "instance"),
        world.fast("s", epoch),
        world.fast("s", epoch, "other"),
        world.fast("nobody", epoch),
        world.fast("a", epoch, client_id="another"),
        world.fast("a", epoch, host="/10.0.0.1"),
    ):
        assert answered == -1


def test_the_heartbeat_that_gives_a_member_all_that_it_is_to_have_is_the_last_one_for_the_core():
    world = settled()
    world.enter("b")
    for name in ("a", "b", "a"):
        world.beat(name, world.epoch(name), owned=world.assigned(name))
    epoch = world.epoch("b")
    assert world.fast("b", epoch) == -1
    assert World.beat(world, "b", epoch).assignment is not None
    assert world.fast("b", epoch) == 500
    written = world.written()
    assert world.beat("b", epoch, owned=world.assigned("b")).assignment is None
    assert world.written() == written


def test_the_steps_of_a_member_leave_the_others_to_the_sessions():
    world = settled(["a", "b", "c"])
    epoch = world.epoch("a")
    World.beat(world, "b", epoch, names=["t"])
    for _ in range(3):
        World.beat(world, "a", world.epoch("a"), owned=world.assigned("a"))
    epoch = world.epoch("a")
    assert world.fast("a", epoch) == 500
    assert world.epoch("c") < epoch
    World.beat(world, "c", world.epoch("c"))
    assert world.fast("a", epoch) == 500


def test_a_step_of_a_member_closes_its_own_heartbeats():
    world = settled()
    world.enter("b")
    assert World.beat(world, "a", 2, owned=world.assigned("a")).member_epoch == 2, "it has to give partitions up"
    assert world.fast("a", 2) == -1


def waiting() -> FastWorld:
    """A group in which `b`, and then `c`, have joined since the last target, and wait for the assignment interval."""
    world = FastWorld(settings=WAITING)
    world.enter("a", "t")
    world.advance(500)
    world.enter("b", "t")
    assert world.fast("b", world.epoch("b")) == 500
    world.enter("c", "t")
    return world


def test_members_that_wait_for_the_assignment_interval_need_the_core_when_it_is_over():
    world = waiting()
    epochs = {name: world.epoch(name) for name in ("b", "c")}
    world.advance(INTERVAL_MS - 501)
    assert all(world.fast(name, epoch) == 500 for name, epoch in epochs.items())
    world.advance(1)
    assert all(world.fast(name, epoch) == -1 for name, epoch in epochs.items())
    assert World.beat(world, "b", epochs["b"]).member_epoch == world.consumer.epoch == world.consumer.target_epoch


def test_the_first_that_joins_after_a_target_closes_the_heartbeats_of_those_that_had_it():
    world = FastWorld(settings=WAITING)
    world.enter("a", "t")
    world.beat("a", world.epoch("a"), owned=world.assigned("a"))
    assert world.fast("a", world.epoch("a")) == 500
    world.enter("b", "t")
    assert world.fast("a", world.epoch("a")) == -1


@pytest.mark.parametrize("step_ms", [-3_600_000, 3_600_000, INTERVAL_MS])
def test_a_wall_clock_that_was_set_ends_the_wait(step_ms: int):
    world = waiting()
    world.step_wall_clock(step_ms)
    assert world.fast("b", world.epoch("b")) == -1
    assert World.beat(world, "b", world.epoch("b")).member_epoch == world.consumer.target_epoch == world.consumer.epoch


@pytest.mark.parametrize("subscription", [{"names": ["u"]}, {"pattern": "t.*"}, {"rack_id": "r"}])
def test_whoever_changes_what_it_said_closes_the_heartbeats_of_those_that_wait(subscription: dict[str, Any]):
    world = waiting()
    World.beat(world, "c", world.epoch("c"), **subscription)
    assert world.fast("b", world.epoch("b")) == -1


def test_a_regular_expression_closes_the_heartbeats_of_those_that_wait_also_while_another_one_is_resolved():
    world = waiting()
    DelayedWork(world)
    World.beat(world, "c", world.epoch("c"), pattern="t.*")
    World.beat(world, "c", world.epoch("c"), pattern="")
    assert world.consumer.is_resolving and not world.consumer.pattern_subscribers
    World.beat(world, "b", world.epoch("b"))
    assert world.fast("b", world.epoch("b")) == 500
    world.enter("d", pattern="u.*")
    assert world.fast("b", world.epoch("b")) == -1


@pytest.mark.parametrize("change", ["join", "leave", "subscribe", "topic", "static leave", "restart"])
def test_what_changes_the_group_closes_the_heartbeats_of_all(change: str):
    world = settled(["a", "b", "s"])
    epochs = {name: world.epoch(name) for name in ("a", "b", "s")}
    assert world.fast("a", epochs["a"]) == world.fast("b", epochs["b"]) == 500
    if change == "join":
        world.enter("c")
    elif change == "leave":
        assert world.depart("b") == NONE
    elif change == "subscribe":
        world.beat("b", epochs["b"], names=["t"])
    elif change == "static leave":
        assert world.depart("s", -2, "instance") == NONE
    elif change == "topic":
        world.fixed.grow("t", 6)
        world.topics_changed()
    else:
        world.restart()
    for name, epoch in epochs.items():
        assert world.fast(name, epoch, INSTANCES.get(name)) == -1


def test_a_commit_closes_nothing():
    world = settled()
    assert world.commit_offsets("a", 2, {0: 5}) == {NONE}
    assert world.fast("a", 2) == 500


def test_a_connection_that_closed_closes_the_heartbeats_of_its_members():
    world = settled("ab")
    world.sessions.await_clients([(GROUP_ID, "a")])
    assert world.fast("a", world.epoch("a")) == -1
    assert world.fast("b", world.epoch("b")) > 0
    world.beat("a", world.epoch("a"))
    assert world.fast("a", world.epoch("a")) > 0, "the core knows by which connection it comes"


def test_all_are_left_to_the_core_while_requests_are_measured():
    world = settled()
    world.sessions.leaves_heartbeats = True
    assert world.fast("a", 2) == -1


def test_members_with_a_regular_expression_are_left_to_the_core():
    """Time alone may have its topics looked for again."""
    world = FastWorld()
    world.enter("a", pattern="t.*")
    for _ in range(4):
        world.beat("a", world.epoch("a"), owned=world.assigned("a"))
    assert world.fast("a", world.epoch("a")) == -1


def test_members_that_reconcile_are_left_to_the_core():
    world = settled()
    world.enter("b")
    answer = World.beat(world, "a", 2)
    assert answer.assignment is not None
    assert world.fast("a", answer.member_epoch) == -1, "it has not shown yet what it gave up"


def test_members_that_wait_for_others_are_left_to_the_core():
    """What they wait for is theirs with the heartbeat after it was given up, which is no change of them."""
    world = settled()
    world.enter("b")
    epoch = world.epoch("b")
    assert epoch == world.consumer.target_epoch == world.consumer.epoch
    for _ in range(3):
        World.beat(world, "b", epoch)
        assert world.fast("b", epoch) == -1


def test_a_session_that_has_ended_is_over_even_before_its_timer_fires():
    world = settled()
    deadline_ms = world.sessions.deadline_ms(GROUP_ID, "a")
    assert deadline_ms is not None
    for at_ms, answered in ((deadline_ms, -1), (deadline_ms - 1, 500)):
        took = world.sessions.answer_consumer_heartbeat(GROUP_ID, "a", None, 2, "client-a", CLIENT_HOST, at_ms)
        assert took == answered


def test_a_very_long_member_id_is_left_to_the_core():
    long_id = "m" * 127
    world = settled([long_id, long_id[:-1]])
    assert world.fast(long_id, world.epoch(long_id)) == -1
    assert world.fast(long_id[:-1], world.epoch(long_id[:-1])) == 500


def play(seed: int, uses_sessions: bool, settings: Mapping[str, str]) -> tuple[list[Any], int]:
    """A random history; all that clients hear, what the group is in the end, and what was written."""
    draw = random.Random(seed)
    world = FastWorld(uses_sessions, settings=settings)
    epochs: dict[str, int] = {}
    heard: list[Any] = []
    for _ in range(STEPS):
        name = draw.choice(NAMES)
        instance_id = INSTANCES.get(name)
        epoch = epochs.get(name, 0)
        match draw.choices(range(11), weights=[30, 12, 3, 4, 2, 3, 2, 1, 5, 1, 1])[0]:
            case 0 if epoch > 0:
                said: dict[str, Any] = {}
            case 1 if epoch > 0 and world.whole_group is not None and name in world.consumer.members:
                said = {"owned": world.assigned(name)}
            case 2 if epoch > 0:
                said = {"names": draw.sample(sorted(TOPICS), draw.randint(0, 2))}
            case 3:
                epoch = 0
                said = {"names": draw.sample(sorted(TOPICS), draw.randint(1, 2)), "owned": {}, "timeout_ms": 5_000}
            case 4 if epoch > 0:
                epoch, said = (-2 if instance_id and draw.random() < 0.5 else -1), {}
            case 5:
                world.advance(draw.choice((1, 400, 3_000, 20_000, 46_000)))
                continue
            case 6:
                world.fixed.grow("t", world.fixed.partition_count("t") + 1)
                world.topics_changed()
                continue
            case 7:
                world.restart()
                continue
            case 8 if epoch > 0:
                heard.append(sorted(world.commit_offsets(name, epoch, {0: draw.randint(0, 9)})))
                continue
            case 9 if epoch > 0:
                epoch, said = epoch + draw.choice((-1, 1)), {}
            case 10:
                world.step_wall_clock(draw.choice((-3_600_000, -1_000, 1_000, 3_600_000)))
                continue
            case _:
                continue
        answer = world.beat(name, epoch, instance_id=instance_id, **said)
        heard.append((name, answer.error_code, answer.member_epoch, answer.heartbeat_interval_ms, world.given(answer)))
        epochs[name] = max(answer.member_epoch, 0) if answer.error_code == NONE else 0
    heard += [world.written(), world.described()]
    return heard, world.answered_by_sessions


@pytest.mark.parametrize("settings", [{}, WAITING], ids=["without an assignment interval", "with one"])
def test_nobody_notices_who_answers(settings: Mapping[str, str]):
    by_sessions = 0
    for seed in range(60):
        heard, answered = play(seed, True, settings)
        assert heard == play(seed, False, settings)[0], f"seed {seed}"
        by_sessions += answered
    assert by_sessions > 500


# ---- commits of members that are steady so


def test_a_commit_of_a_steady_member_takes_the_short_way():
    world = settled()
    epoch = world.epoch("a")
    deadline_ms = world.sessions.deadline_ms(GROUP_ID, "a")
    world.advance(100)
    assert world.commit_offsets("a", epoch, {0: 5, 3: 6}) == {NONE}
    assert world.steady_commits == 1
    assert world.sessions.deadline_ms(GROUP_ID, "a") == deadline_ms, "heartbeats alone renew the session of a consumer"
    committed = world.shard.machine.groups[GROUP_ID].offsets.by_topic["t"]
    assert {index: offset.offset for index, offset in committed.items()} == {0: 5, 3: 6}


@pytest.mark.parametrize(
    ("epoch_off", "version", "error"), [(1, 9, "STALE_MEMBER_EPOCH"), (0, 8, "UNSUPPORTED_VERSION")]
)
def test_a_commit_of_another_epoch_or_of_an_old_version_is_left_to_the_core(epoch_off, version, error):
    world = settled()
    assert world.commit_offsets("a", world.epoch("a") + epoch_off, {0: 5}, version=version) == {ErrorCode[error]}
    assert world.steady_commits == 0


@pytest.mark.parametrize("closed_by", ["an event of the group", "a change of the metadata"])
def test_a_commit_after_the_heartbeats_were_closed_is_left_to_the_core(closed_by):
    world = settled(("a", "b"))
    epoch = world.epoch("a")
    if closed_by == "an event of the group":
        world.beat("b", -1)
    else:
        world.topics_changed()
    assert world.commit_offsets("a", epoch, {0: 5}) == {NONE}
    assert world.steady_commits == 0

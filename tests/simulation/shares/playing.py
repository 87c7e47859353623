"""Random histories of a share group, and their end: all that is left is delivered, and nothing stays locked."""

import random
from collections.abc import Sequence
from typing import Final, NamedTuple

from tests.model.memory_files import ProcessKilled
from tests.simulation.instrumented import defects_of
from tests.simulation.reproducible import reproducible
from tests.simulation.shares.delivered import ACCEPT, DELIVERIES_MAX, LOCK_MS
from tests.simulation.shares.world import ShareWorld, setup_of

STEPS: Final = 100
WEIGHTS: Final = {
    "produce": 12,
    "fetch": 20,
    "acknowledge": 20,
    "disconnect": 3,
    "wait": 6,
    "die_writing": 1,
    "fill_disk": 1,
    "kill": 1,
    "lose_power": 1,
    "stop": 1,
}
"""Step → how often it is chosen, among the others."""
VALUES: Final = {"wait": (0, 10, 600, LOCK_MS // 2, LOCK_MS - 1, LOCK_MS), "die_writing": (1, 60, 150, 400)}
FULL_BYTES: Final = (0, 0, 40, 120, 300)


IDLE_MAX: Final = 2
"""Fetches without records after which there are none."""


class Step(NamedTuple):
    """`kind` is a method of ShareWorld."""

    kind: str
    who: int
    value: int


class History(NamedTuple):
    is_durable: bool
    turns: int
    members: int
    steps: Sequence[Step]
    is_steady: bool = True
    """Whether requests of steady members need no handler."""


def history_of(seed: int, steps: int = STEPS) -> History:
    rng = random.Random(seed)
    chosen = []
    for kind in rng.choices(list(WEIGHTS), list(WEIGHTS.values()), k=steps):
        values = FULL_BYTES if kind == "fill_disk" else VALUES.get(kind)
        chosen.append(Step(kind, rng.randrange(4), rng.choice(values) if values else rng.randrange(1 << 11)))
    is_durable, turns, members = rng.random() < 0.5, rng.choice((0, 1, 2, 4)), rng.randrange(1, 5)
    return History(is_durable, turns, members, chosen, is_steady=rng.random() < 0.8)


def play(history: History) -> ShareWorld:
    """Returns what became of it. Raises whatever says that a rule is broken."""
    defects: list[BaseException] = []
    with defects_of(defects), reproducible():
        setup = setup_of(is_durable=history.is_durable, turns=history.turns, is_steady=history.is_steady)
        world = ShareWorld(setup, history.members, defects)
        for step in history.steps:
            _take(world, step)
        _finish(world)
        if defects:
            raise defects[0]
    return world


def _take(world: ShareWorld, step: Step) -> None:
    world.seen[f"step {step.kind}"] += 1
    member = world.members[step.who % len(world.members)]
    try:
        getattr(world, step.kind)(member, step.value)
    except ProcessKilled:
        world.seen["died while writing"] += 1
        world.start_again()
    world.hear_producers()
    for each in world.members:
        world.hear(each)
    if world.defects:
        raise world.defects[0]


def _finish(world: ShareWorld) -> None:
    """The members end, the last one accepts all that is left, and another start finds the same."""
    world.start_again()
    server, last = world.server, world.members[0]
    ends = world.ends()
    idle = 0
    for _ in range(DELIVERIES_MAX * (sum(ends) + 10)):
        world.fetch(last, 10)
        server.advance(1_000)
        world.hear(last)
        held = [(number, each.held_by(last.name)) for number, each in enumerate(world.partitions)]
        if not any(offsets for _, offsets in held):
            idle += 1
            server.advance(LOCK_MS)  # what could not be stored is acquired until then
            if idle > IDLE_MAX:
                break
            continue
        idle = 0
        for number, offsets in held:
            if offsets:
                world._acknowledge(last, number, offsets, ACCEPT)
                server.advance(1_000)
                world.hear(last)
    missing = [(number, each.missing) for number, each in enumerate(world.partitions) if each.missing]
    assert not missing, f"never delivered: {missing}"
    lags = [end - done for end, done in zip(ends, world.done_until(), strict=True)]
    assert not any(lags), f"not done: {lags}"
    before = world.stored()
    world.start_again()
    assert world.stored() == before, "another start has read another state"


def shrunk(history: History) -> History:
    """The history without steps that it does not need to break a rule."""
    size = max(len(history.steps) // 2, 1)
    while size:
        for start in range(0, len(history.steps), size):
            shorter = history._replace(steps=[*history.steps[:start], *history.steps[start + size :]])
            if _breaks_a_rule(shorter):
                history = shorter
                break
        else:
            size //= 2
    return history


def _breaks_a_rule(history: History) -> bool:
    try:
        play(history)
    except Exception:
        return True
    return False

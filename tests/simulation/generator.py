"""Random histories: their clients and their steps. One `random.Random` decides all, so a seed determines a history."""

from itertools import accumulate
from random import Random
from typing import Final

from tests.simulation.consumers import PATTERNS, PROTOCOLS, STATIC_PREFIX, SUBSCRIPTIONS, TRANSFERS
from tests.simulation.extremes import EXTREMES
from tests.simulation.history import ClientSetup, History, Setup, Step

GROUPS: Final = (TRANSFERS, "orders", "billing")

LIVELY: Final[dict[str, float]] = {
    "act": 30,
    "everybody": 14,
    "wait": 6,
    "wait_for_deadline": 5,
    "stand_still": 0.5,
    "commit": 7,
    "heartbeat": 3,
    "sync": 3,
    "join": 2,
    "again": 2,
    "transact": 26,
    "zombie": 2,
    "give_up": 1,
    "produce": 14,
    "read": 1.5,
    "read_later": 0.5,
    "delete_records": 0.5,
    "delete_topic": 0.4,
    "inspect": 0.6,
    "forge_marker": 0.2,
    "delete_offsets": 1,
    "fetch": 1,
    "leave": 3,
    "crash": 2,
    "reconnect": 2,
    "stall": 1,
    "subscribe": 2,
    "offer": 1,
    "delete": 1,
    "extreme": 2,
    "describe": 0.5,
    "batch": 4,
    "kill": 0.6,
    "flush": 0.5,
    "set_wall_clock": 0.5,
    "stop": 0.3,
    "delete_old_audit": 0.3,
    "break_group": 1,
    "beat": 2,
    "dawdle": 1,
    "migrate": 1,
}
"""Kind of step → how often, relative to the others."""
FAULTY: Final = LIVELY | {
    "kill": 1.5,
    "die_writing": 2.5,
    "lose_power": 1,
    "flush": 1.5,
    "fill_disk": 2,
    "break_reads": 0.7,
}
CALM: Final = LIVELY | {"everybody": 40, "crash": 0.5, "leave": 1, "reconnect": 0.5, "offer": 0.2, "delete": 0.3}
TRANSACTING: Final = CALM | {"transact": 60, "zombie": 4, "produce": 20, "die_writing": 3, "lose_power": 0}
"""Kills amid transactions, and nothing that makes their outcome uncertain."""
PROFILES: Final = (LIVELY, FAULTY, CALM, TRANSACTING)
WAITS_MS: Final = ((1, 500), (1, 500), (500, 4_000), (4_000, 25_000))
CONSUMERS: Final = (0, 0.3, 0.7, 1)
"""How many of the clients of a history begin with the consumer protocol."""
BREAKING: Final = frozenset({"fill_disk", "break_reads", "die_writing"})
CLOCK_STEPS_MS: Final = (3_600_000, -3_600_000, 8 * 24 * 3_600_000)
HEALING: Final = Step("heal")
HEALING_CHANCE: Final = 0.25


STEPS: Final = 120
"""Before the end: `ending` adds some hundred requests more."""


def history_of(seed: int, steps: int = STEPS) -> History:
    """The history that a seed stands for."""
    random = Random(seed)
    of_commits = Random(f"commits of {seed}")  # of its own: the steps do not depend on it
    setup = _setup(random)._replace(
        has_steady_commits=of_commits.random() < 0.8, drains_steady=of_commits.random() < 0.7
    )
    chooser = HistoryGenerator(random, len(setup.clients))
    return History(setup, tuple(chooser.step() for _ in range(steps)))


class HistoryGenerator:
    """Random steps, each kind with the weight of its profile. A broken disk is soon healed."""

    def __init__(self, random: Random, clients: int) -> None:
        self._random = random
        self._clients = clients
        profile = random.choice(PROFILES)
        self._kinds = list(profile)
        self._up_to = list(accumulate(profile.values()))
        self._disk_is_broken = False

    def step(self) -> Step:
        random = self._random
        if self._disk_is_broken and random.random() < HEALING_CHANCE:
            self._disk_is_broken = False
            return HEALING
        (kind,) = random.choices(self._kinds, cum_weights=self._up_to)
        self._disk_is_broken = self._disk_is_broken or kind in BREAKING
        return Step(kind, random.randrange(self._clients), self._value(kind))

    def _value(self, kind: str) -> int:
        random = self._random
        match kind:
            case "wait":
                return random.choice(
                    (random.randint(1, 500), random.randint(500, 4_000), random.randint(4_000, 25_000))
                )
            case "wait_for_deadline":
                return random.randrange(3)
            case "heartbeat":
                return random.choice((0, 0, 1, 2, 3, 4, 5, 5))
            case "commit":
                return random.choice((0, 0, 0, 1, 2, 3, 4, 5))
            case "sync":
                return random.choice((0, 1, 2, 3, 4, 5, 5, 5))
            case "join":
                return random.randrange(6)
            case "extreme":
                return random.randrange(len(EXTREMES))
            case "leave":
                return random.randrange(4)
            case "beat":
                return random.randrange(7)
            case "migrate":
                return random.randrange(2)
            case "dawdle":
                return random.choice((500, 3_000, 12_000, 30_000))
            case "stall" | "stand_still":
                return random.randint(1, 15_000)
            case "subscribe":
                return random.randrange(len(SUBSCRIPTIONS) * len(PATTERNS) + 1)
            case "offer":
                return int(random.choice((0, 0, 1, 1, *range(len(PROTOCOLS)))))
            case "batch":
                return random.randint(2, 8)
            case "die_writing" | "fill_disk":
                return random.choice((0, 1, random.randint(1, 800), random.randint(800, 6_000)))
            case "kill":
                return random.choice((0, 0, 0, 1, 2, 100))
            case "break_group":
                return random.choice((0, 0, 1, 2, 3))
            case "set_wall_clock":
                return random.choice((0, *CLOCK_STEPS_MS))
            case "lose_power":
                return random.randrange(1 << 16)
            case "describe" | "delete_offsets" | "fetch" | "give_up":
                return random.randrange(2)
            case "everybody" | "transact" | "zombie" | "produce" | "read" | "read_later" | "delete_records" | "inspect":
                return random.randrange(1_000)
            case "forge_marker":
                return random.randrange(2)
        return 0


def _setup(random: Random) -> Setup:
    groups = GROUPS[: random.choice((1, 2, 2, 3))]
    consumers = random.choice(CONSUMERS)
    clients = []
    for number in range(random.randint(2, 7)):
        is_static = random.random() < 0.35
        # The same instance twice now and then: one fences the other.
        instance_id = f"{STATIC_PREFIX}{random.randint(0, number)}" if is_static else None
        clients.append(
            ClientSetup(
                group_id=random.choice(groups),
                instance_id=instance_id,
                join_version=random.choice((5, 9) if is_static else (3, 4, 9)),
                session_timeout_ms=random.choice((3_000, 10_000)),
                rebalance_timeout_ms=random.choice((5_000, 20_000)),
                transactional_id=f"x{number if random.random() < 0.7 else random.randint(0, number)}",
                bumps_epoch=random.random() < 0.6,
                protocol="consumer" if random.random() < consumers else "classic",
            )
        )
    is_durable = random.random() < 0.2
    return Setup(
        clients=tuple(clients),
        partitions=random.choice((1, 2)),
        initial_delay_ms=random.choice((0, 0, 1_000, 3_000)),
        max_size=random.choice((100, 100, 100, 2)),
        roll_ms=random.choice((7 * 24 * 3_600_000, 5_000, 15_000)),
        fast_path=random.random() < 0.8,
        lingers=random.random() < 0.3,
        turns=0 if is_durable else random.choice((0, 0, 1, 2, 5)),
        is_durable=is_durable,
        assignment_interval_ms=random.choice((0, 1_000)),
    )

"""Random scripts: which clients there are, and what happens to them and to the server when."""

from random import Random
from typing import Final, NamedTuple

from interop.builds import CLASSIC, CONSUMER

SESSION_MS: Final = 6_000
HEARTBEAT_MS: Final = 1_000
MAX_POLL_MS: Final = 9_000
BEGIN_MS: Final = 6_000
"""All members are in the group by then, if nothing is slow."""
UNTIL_MS: Final = 45_000
QUIET_MS: Final = 12_000
"""After the last action, longer than a session."""


class Kind(NamedTuple):
    """A client of the matrix, and what is known of it."""

    client: str
    protocols: tuple[str, ...]
    assignors: tuple[tuple[str, ...], ...]
    leaves_late: bool
    """It leaves when poll() is not called for max.poll.interval.ms."""
    says_why: bool


KINDS: Final = {
    "kafka-python": Kind("kafka-python", (CLASSIC,), (("range",), ("roundrobin",), ("sticky",)), True, False),
    "confluent-kafka": Kind(
        "confluent-kafka", (CLASSIC, CONSUMER), (("range",), ("roundrobin",), ("cooperative-sticky",)), True, False
    ),
    "java": Kind("java", (CLASSIC, CONSUMER), (("range",), ("roundrobin",), ("cooperative-sticky",)), True, True),
    "franz-go": Kind("franz-go", (CLASSIC,), (("range",), ("roundrobin",), ("cooperative-sticky",)), False, False),
}


class RealConsumer(NamedTuple):
    """A deployed consumer: all its processes are made alike."""

    kind: str
    protocol: str
    assignors: tuple[str, ...]
    instance_id: str | None
    starts: bool

    @property
    def client(self) -> str:
        return f"{self.kind}-consumer" if self.protocol == CONSUMER else self.kind


class Step(NamedTuple):
    """`kind` is a method of `playing.Player`; `who` a consumer."""

    at_ms: int
    kind: str
    who: int = 0
    value: int = 0


class Script(NamedTuple):
    """What is played."""

    seed: int
    consumers: tuple[RealConsumer, ...]
    partitions: int
    steps: tuple[Step, ...]
    reported_ms: tuple[int, ...]


WEIGHTS: Final[dict[str, float]] = {
    "start": 3,
    "close": 5,
    "kill": 6,
    "suspend": 5,
    "block": 4,
    "grow": 1,
    "kill_server": 2,
    "stop_server": 2,
}
RESTARTS_MS: Final = (500, 2_000, 4_000, 8_000, 14_000, 0)
"""After how long a process follows; 0: none does."""
PAUSES_MS: Final = (2_000, 4_000, 8_000, 13_000)


def script_of(seed: int, kinds: tuple[str, ...] = tuple(KINDS)) -> Script:
    """The script of a seed. All classic members have an assignor in common."""
    random = Random(seed)
    number = random.randint(2, 4)
    names = [random.choice(kinds) for _ in range(number)]
    common = random.choice(("range", "range", "roundrobin", "cooperative-sticky"))
    consumers = tuple(_consumer(random, name, index, common) for index, name in enumerate(names))
    kinds_of_steps = random.choices(list(WEIGHTS), list(WEIGHTS.values()), k=random.randint(3, 7))
    times = sorted(random.randrange(BEGIN_MS, UNTIL_MS - QUIET_MS) for _ in kinds_of_steps)
    steps = tuple(
        Step(at_ms, kind, random.randrange(number), _value(random, kind))
        for at_ms, kind in zip(times, kinds_of_steps, strict=True)
    )
    told = tuple(sorted(random.sample(range(BEGIN_MS, UNTIL_MS), random.choice((0, 1, 2)))))
    return Script(seed, consumers, random.choice((4, 6)), steps, told)


def _consumer(random: Random, name: str, index: int, common: str) -> RealConsumer:
    kind = KINDS[name]
    assignors = (common,) if (common,) in kind.assignors else ("range",)
    return RealConsumer(
        name,
        random.choice(kind.protocols),
        assignors,
        f"i-{index}" if random.random() < 0.25 else None,
        index == 0 or random.random() < 0.85,
    )


def _value(random: Random, kind: str) -> int:
    if kind in ("close", "kill"):
        return random.choice(RESTARTS_MS)
    if kind in ("suspend", "block"):
        return random.choice(PAUSES_MS)
    if kind in ("kill_server", "stop_server"):
        return random.choice((0, 1_000, 3_000))
    return random.randint(1, 3)

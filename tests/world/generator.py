"""Random histories. One `random.Random` decides all, so a seed determines a history."""

from random import Random
from typing import Final

from tests.world.actions import PATTERNS
from tests.world.clients import COMPANY_ASSIGNOR
from tests.world.history import Action, ConsumerSetup, History, Setup

SHORT: Final = (200, 1_500)
MIDDLE: Final = (1_500, 8_000)
LONG: Final = (8_000, 30_000)
DURATIONS: Final = (SHORT, MIDDLE, MIDDLE, LONG)
FOREVER: Final = 0

WEIGHTS: Final[dict[str, float]] = {
    "start": 6,
    "kill": 8,
    "lose_host": 4,
    "close": 6,
    "crash_loop": 2,
    "roll": 2,
    "suspend": 5,
    "starve": 2,
    "block": 5,
    "die_joining": 2,
    "unsubscribe": 2,
    "subscribe": 3,
    "cut": 4,
    "proxy": 3,
    "proxy_all": 2,
    "refuse": 2,
    "mute": 2,
    "create_topic": 1,
    "grow_topic": 2,
    "delete_topic": 2,
    "remove_member": 2,
    "reset_offsets": 1,
    "delete_offsets": 1,
    "delete_group": 1,
    "kill_coordinator": 4,
    "stop_coordinator": 3,
    "pause_coordinator": 4,
    "fill_disk": 1,
}
"""Kind of action → how often, relative to the others."""
COMES_AGAIN: Final = frozenset({"kill", "lose_host", "close"})
LASTING: Final = frozenset(
    {"suspend", "starve", "block", "cut", "proxy", "proxy_all", "refuse", "mute", "delete_topic", "pause_coordinator"}
)
OFFSETS_APART: Final = 25
"""Each so manieth history is about offsets that stand still, which takes minutes."""
OFFSETS_UNTIL_MS: Final = 280_000
OFFSET_ACTIONS: Final = ("open_transaction", "stick")
PATTERNS_APART: Final = 12
"""Each so manieth history has members that subscribe to regular expressions, and topics that come and go."""
PATTERN_ACTIONS: Final = ("subscribe_to_pattern", "create_other_topic", "create_other_topic", "delete_other_topic")
TAKEOVERS_APART: Final = 10
"""Each so manieth history has several nodes, as in front of a cluster: where one ends, the next one takes over."""
TAKEN_OVER: Final = {"kill_coordinator": "kill_leader", "stop_coordinator": "stop_leader"}
AWAY_MS: Final = (300, 6_000)
FIRST_MS: Final = 9_000
"""When the first of it happens: most groups are stable by then."""

Profile = tuple[tuple[str, tuple[str, ...]], ...]
PROFILES: Final[tuple[tuple[float, Profile], ...]] = (
    (4, (("java", ("range",)), ("librdkafka", ("range",)), ("kafka-python", ("range",)))),
    (1, (("java", ("range",)),)),
    (1, (("java", ("roundrobin",)), ("kafkajs", ("roundrobin",)))),
    (1, (("java", ("sticky",)), ("kafka-python", ("sticky",)))),
    (1, (("java", ("range", "cooperative-sticky")),)),
    (4, (("java", ("cooperative-sticky",)), ("librdkafka", ("cooperative-sticky",)))),
    (1.5, (("java", (COMPANY_ASSIGNOR,)),)),
    (4, (("modern", ()),)),
    (2, (("modern", ()), ("java", ("range",)))),
    (1, (("modern", ()), ("java", ("cooperative-sticky",)), ("librdkafka", ("cooperative-sticky",)))),
)
"""How often, and the kinds and assignors of the clients of a group."""
SESSIONS_MS: Final = (6_000, 10_000, 10_000, 15_000)


def history_of(seed: int) -> History:
    """The history of a seed."""
    random = Random(seed)
    (profile,) = random.choices([each for _, each in PROFILES], [weight for weight, _ in PROFILES])
    setup = _setup(random, profile, seed)
    until_ms = random.choice((40_000, 60_000, 60_000, 90_000))
    actions = sorted(_actions(random, len(setup.consumers), until_ms))
    if seed % OFFSETS_APART == 0:
        return _about_offsets(setup, actions, seed)
    if seed % PATTERNS_APART == 1:
        setup, actions = _with_patterns(setup, actions, seed, until_ms)
    if seed % TAKEOVERS_APART == 3:
        setup, actions = setup._replace(in_cluster=True), _with_takeovers(actions, seed, until_ms)
    reported_ms = tuple(sorted(random.randrange(FIRST_MS, until_ms) for _ in range(3)))
    return History(setup, tuple(actions), until_ms, reported_ms)


def _with_takeovers(actions: list[Action], seed: int, until_ms: int) -> list[Action]:
    """The same with nodes that take over, once at least; some ends are followed by a new start of the same node."""
    random = Random(f"takeovers {seed}")
    changed = [
        action._replace(kind=TAKEN_OVER.get(action.kind, action.kind)) if random.random() < 0.8 else action
        for action in actions
    ]
    more = [
        Action(
            random.randrange(FIRST_MS - 6_000, until_ms - 3_000),
            random.choice(tuple(TAKEN_OVER.values())),
            value=random.choice((0, random.randrange(*AWAY_MS), random.randrange(*AWAY_MS), random.randrange(*LONG))),
        )
        for _ in range(random.choice((1, 1, 2)))
    ]
    return sorted([*changed, *more])


def _with_patterns(setup: Setup, actions: list[Action], seed: int, until_ms: int) -> tuple[Setup, list[Action]]:
    """The same with members that subscribe to regular expressions, most of them to nothing else."""
    random = Random(f"patterns {seed}")
    consumers = tuple(
        consumer._replace(
            kind="modern",
            assignors=(),
            pattern=random.choice(PATTERNS),
            topics=random.choice(((), (), consumer.topics)),
        )
        if consumer.kind == "modern" or random.random() < 0.7
        else consumer
        for consumer in setup.consumers
    )
    more = [
        Action(
            random.randrange(FIRST_MS - 6_000, until_ms - 3_000),
            random.choice(PATTERN_ACTIONS),
            random.randrange(len(consumers)),
            random.randrange(24),
        )
        for _ in range(random.choice((1, 2, 3, 5)))
    ]
    return setup._replace(consumers=consumers), sorted([*actions, *more])


def _about_offsets(setup: Setup, actions: list[Action], seed: int) -> History:
    """A longer history, in which partitions stand still, and transactions stay open."""
    random = Random(f"offsets {seed}")
    isolated = random.random() < 0.7
    consumers = tuple(consumer._replace(read_committed=isolated) for consumer in setup.consumers)
    for _ in range(random.choice((1, 2, 3))):
        kind, at_ms = random.choice(OFFSET_ACTIONS), random.randrange(FIRST_MS, 80_000)
        value = random.choice((0, 0, random.randrange(*LONG), random.randrange(100_000, 180_000)))
        actions.append(Action(at_ms, kind, random.randrange(len(consumers)), value))
    reported_ms = tuple(sorted(random.randrange(90_000, OFFSETS_UNTIL_MS) for _ in range(4)))
    return History(setup._replace(consumers=consumers), tuple(sorted(actions)), OFFSETS_UNTIL_MS, reported_ms)


def _setup(random: Random, profile: Profile, seed: int) -> Setup:
    count = random.choice((1, 2, 2, 3, 3, 3, 4, 5))
    static = random.choice((0, 0, 0, 1, 1, 0.5))
    session_ms = random.choice(SESSIONS_MS)
    poll_ms = random.choice((12_000, 20_000, 40_000))
    client_id = random.choice(("", "", "", "billing"))
    same_topics = random.random() < 0.8
    has_two = random.random() < 0.3
    topics = ("t", "u") if has_two and random.random() < 0.7 else ("t",)
    consumers = []
    for number in range(count):
        kind, assignors = random.choice(profile)
        subscribed = topics if same_topics else random.choice((("t",), ("t", "u")))
        is_static = random.random() < static
        consumers.append(
            ConsumerSetup(
                kind,
                assignors,
                subscribed,
                f"i-{number}" if is_static else None,
                client_id,
                session_ms,
                min(3_000, session_ms // 3),
                poll_ms,
                starts=number == 0 or random.random() < 0.85,
            )
        )
    first = ("t", random.choice((1, 2, 4, 6, 6, 8)))
    return Setup(
        tuple(consumers),
        (first, ("u", random.choice((1, 3)))) if has_two else (first,),
        random.choice((0, 0, 3_000)),
        random.choice(SESSIONS_MS),
        random.choice((1_000, 2_000, 3_000)),
        random.choice((100, 100, 100, 100, max(1, count - 1))),
        seed,
    )


def _actions(random: Random, consumers: int, until_ms: int) -> list[Action]:
    """Some alone, others close together: what nobody listed is a combination."""
    actions: list[Action] = []
    at_ms = FIRST_MS
    for _ in range(random.choice((1, 1, 2, 3, 4, 5, 6, 8))):
        if random.random() < 0.5 or not actions:
            at_ms = random.randrange(FIRST_MS - 6_000, max(FIRST_MS, until_ms - 12_000))
        else:
            at_ms += random.randrange(0, 4_000)
        (kind,) = random.choices(list(WEIGHTS), list(WEIGHTS.values()))
        actions.append(Action(at_ms, kind, random.randrange(consumers), _value(random, kind)))
    return actions


def _value(random: Random, kind: str) -> int:
    lasting = random.randrange(*random.choice(DURATIONS))
    if kind in COMES_AGAIN:
        return random.choice((0, lasting, lasting))
    if kind in LASTING:
        return lasting
    match kind:
        case "kill_coordinator" | "stop_coordinator" | "fill_disk":
            return random.randrange(*AWAY_MS)
        case "crash_loop":
            return random.randrange(2, 6)
        case "roll":
            return random.choice((1_000, 2_001, 5_000, 10_001))
        case "start" | "subscribe" | "create_topic" | "grow_topic" | "reset_offsets":
            return random.randrange(8)
    return 0

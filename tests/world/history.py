"""A history of a group as plain data: who consumes, and what happens to whom when. Any action may be left out of it."""

from typing import Final, NamedTuple

GROUP_ID: Final = "orders"


class ConsumerSetup(NamedTuple):
    """How one deployed consumer is made. All its processes, one after the other, are made alike."""

    kind: str = "java"
    """The name of a `clients.ClientKind`."""
    assignors: tuple[str, ...] = ("range",)
    """What its clients offer in JoinGroup; of no account in the protocol of consumer groups."""
    topics: tuple[str, ...] = ("t",)
    instance_id: str | None = None
    client_id: str = ""
    """Empty: one of its own."""
    session_timeout_ms: int = 10_000
    heartbeat_ms: int = 3_000
    """`heartbeat.interval.ms`, in the classic protocol."""
    max_poll_interval_ms: int = 30_000
    pattern: str = ""
    """`SubscribedTopicRegex`, beside its topics; only in the protocol of consumer groups (KIP-848)."""
    read_committed: bool = False
    """`isolation.level`: it waits for the end of transactions."""
    starts: bool = True
    """Whether it runs from the beginning; else an action starts it."""


class Setup(NamedTuple):
    """What a history begins with."""

    consumers: tuple[ConsumerSetup, ...]
    topics: tuple[tuple[str, int], ...] = (("t", 6),)
    """Names of topics and their partitions."""
    initial_delay_ms: int = 0
    consumer_session_ms: int = 10_000
    """`group.consumer.session.timeout.ms`."""
    consumer_heartbeat_ms: int = 2_000
    """`group.consumer.heartbeat.interval.ms`."""
    max_size: int = 100
    seed: int = 0
    """Of the delays of the network and of the clients."""
    in_cluster: bool = False
    """Nodes in front of a cluster lead, one after the other: each says so as it begins."""


class Action(NamedTuple):
    """`kind` is a method of `actions.Actions`, `who` a consumer (modulo their number), `value` depends on the kind."""

    at_ms: int
    """After the begin of the history."""
    kind: str
    who: int = 0
    value: int = 0


class History(NamedTuple):
    """A setup, what happens, and when it is over."""

    setup: Setup
    actions: tuple[Action, ...] = ()
    until_ms: int = 60_000
    reported_ms: tuple[int, ...] = ()
    """When claims are made, beside those at the end."""


def as_code(history: History) -> str:
    """The history as Python text for a regression test."""
    setup = history.setup
    consumers = "".join(f"            {_fields(consumer, ConsumerSetup())},\n" for consumer in setup.consumers)
    plain = Setup(())
    others = [
        f"{name}={value!r}"
        for name, value in setup._asdict().items()
        if name != "consumers" and value != getattr(plain, name)
    ]
    tail = "".join(f"        {other},\n" for other in others)
    actions = "".join(f"        Action({', '.join(_shortest(action))}),\n" for action in history.actions)
    return (
        f"History(\n    Setup(\n        (\n{consumers}        ),\n{tail}    ),\n    (\n{actions}    ),\n"
        f"    until_ms={history.until_ms},\n    reported_ms={history.reported_ms!r},\n)"
    )


def _fields(found: ConsumerSetup, plain: ConsumerSetup) -> str:
    different = (f"{name}={value!r}" for name, value in found._asdict().items() if value != getattr(plain, name))
    return f"ConsumerSetup({', '.join(different)})"


def _shortest(action: Action) -> list[str]:
    values = [str(action.at_ms), repr(action.kind), str(action.who), str(action.value)]
    while values[-1] == "0":
        values.pop()
    return values

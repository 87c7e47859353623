"""A history as plain data: who there is and what happens, step by step. Any step may be left out of it."""

from typing import NamedTuple


class ClientSetup(NamedTuple):
    """One client process. `join_version` below 4 knows no MEMBER_ID_REQUIRED, below 5 no static members."""

    group_id: str
    instance_id: str | None = None
    join_version: int = 9
    session_timeout_ms: int = 10_000
    rebalance_timeout_ms: int = 20_000
    transactional_id: str = "x0"
    bumps_epoch: bool = True
    """Whether the transactions of its producer have epochs of their own (KIP-890)."""
    protocol: str = "classic"
    """`consumer`: it begins with ConsumerGroupHeartbeat (KIP-848), in version 0 if `join_version` is old."""


class Setup(NamedTuple):
    """What a history begins with. `partitions` is that of `__consumer_offsets`: the number of shards."""

    clients: tuple[ClientSetup, ...]
    partitions: int = 1
    initial_delay_ms: int = 0
    max_size: int = 100
    roll_ms: int = 7 * 24 * 3_600_000
    """`log.roll.ms`: with little of it there are many segments, and snapshots of producers."""
    fast_path: bool = True
    has_steady_commits: bool = True
    """Whether commits come as frames, so that those of steady members take the short way."""
    drains_steady: bool = True
    """Whether they are drained by themselves, if nothing else waits; else with all other requests."""
    lingers: bool = False
    """Whether audit records wait for others (`group.audit.linger.ms`)."""
    turns: int = 0
    """Turns of the event loop that follow each step; 0: as many as there is something to do."""
    assignment_interval_ms: int = 0
    """`group.consumer.assignment.interval.ms`."""
    is_durable: bool = False
    """Whether an append counts only when it is flushed (`log.flush.policy=always`)."""


class Step(NamedTuple):
    """`kind` is a method of `harness.Harness`, `who` a client (modulo their number); `value` depends on the kind."""

    kind: str
    who: int = 0
    value: int = 0


class History(NamedTuple):
    """A setup and the steps that follow it."""

    setup: Setup
    steps: tuple[Step, ...]


def as_code(history: History) -> str:
    """The history as Python text for a regression test."""
    clients = "".join(f"            {client!r},\n" for client in history.setup.clients)
    others = ", ".join(f"{name}={value!r}" for name, value in list(history.setup._asdict().items())[1:])
    steps = "".join(f"        {_step_as_code(step)},\n" for step in history.steps)
    return f"History(\n    Setup(\n        (\n{clients}        ),\n        {others},\n    ),\n    (\n{steps}    ),\n)"


def _step_as_code(step: Step) -> str:
    values = [repr(step.kind), str(step.who), str(step.value)]
    while values[-1] == "0":
        values.pop()
    return f"Step({', '.join(values)})"

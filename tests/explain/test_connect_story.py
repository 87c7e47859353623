"""What is told of a Kafka Connect cluster: who runs what, what moved, and until when its leader waits."""

import struct

from coordinator.audit import schema
from coordinator.audit.workers import BYTES_READ_MAX, worker_tasks
from coordinator.explain.memory import packed, unpacked
from coordinator.explain.story import story_of
from tests.audit.stories import sync
from tests.core.test_connect_protocol import assignment, tasks
from tests.explain.consumers import Consumers, clock, text


def worker(
    connectors: tuple[str, ...] = (), revoked: bytes | None = None, delay_ms: int = 0, **numbers: list[int]
) -> bytes:
    """An assignment of `connectors`, and of tasks by the names of their connectors."""
    own = {connector: [-1] for connector in connectors} | {
        name: ([-1] if name in connectors else []) + number for name, number in numbers.items()
    }
    return assignment(1, tasks(**own), tasks() if revoked is None else revoked, struct.pack(">i", delay_ms))


def workers() -> Consumers:
    """A cluster of `a` alone, which runs a connector and three tasks."""
    group = Consumers(protocol="sessioned")
    group.join("a", protocol_type="connect")
    sync(group.sim, {group.ids["a"]: worker(("sink",), sink=[0, 1], source=[0])})
    return group


def grow(group: Consumers, of_a: bytes, of_b: bytes) -> None:
    """A second worker joins, and both are given something."""
    group.join("b", protocol_type="connect")
    group.join("a")
    sync(group.sim, {group.ids["a"]: of_a, group.ids["b"]: of_b})


def test_the_audit_has_what_a_worker_was_given():
    (event,) = [each for each in workers().sim.audited() if isinstance(each, schema.MemberAssigned)]
    assert event.worker == schema.WorkerTasks(["sink"], {"sink": [0, 1], "source": [0]}, {}, 12, 0)
    assert (event.readable, event.partitions) == (False, {})


def test_consumers_are_no_workers():
    events = Consumers().group_of("a").sim.audited()
    assert [event.worker for event in events if isinstance(event, schema.MemberAssigned)] == [None]


def test_why_tells_what_the_workers_run():
    told = text(workers().story())
    assert "1 worker of Kafka Connect runs 1 connector and 3 tasks, by the configurations up to offset 12." in told
    assert "another worker" not in told


def test_what_came_to_another_worker_is_named_with_the_end_of_the_delay():
    group = workers()
    of_b = worker(delay_ms=300_000, source=[0])
    grow(group, worker(("sink",), revoked=tasks(sink=[-1, 1]), delay_ms=300_000, sink=[0]), of_b)
    told = text(group.story())
    assert "2 workers of Kafka Connect run 1 connector and 2 tasks, by the configurations up to offset 12." in told
    assert "b got source-0." in told
    assert "a was to give up the connector sink and sink-1, for the next rebalance." in told
    assert "Until 22:18:20 the leader waits for workers that went, and gives what they ran to nobody else" in told


def test_a_rebalance_that_moves_nothing_says_so():
    group = workers()
    grow(group, worker(("sink",), sink=[0, 1], source=[0]), worker())
    assert "No connector and no task came to another worker." in text(group.story())


def test_what_is_remembered_between_batches_is_enough():
    group = workers()
    before = unpacked(packed(group.history()))
    grow(group, worker(("sink",), sink=[0, 1]), worker(source=[0]))
    for event in group.sim.audited():
        before.apply(event)
    assert before.latest is not None
    assert text(story_of(before, before.latest, clock)) == text(group.story())
    assert "b got source-0." in text(group.story())


def test_very_many_tasks_are_counted():
    found = worker_tasks("connect", worker(many=list(range(schema.WORKER_TASKS_NAMED_MAX + 1))), 1)
    assert found == schema.WorkerTasks([], {}, {}, 12, 0, schema.WORKER_TASKS_NAMED_MAX + 1)


def test_what_is_too_large_or_no_assignment_is_not_read():
    data = worker(many=list(range(200)))
    assert worker_tasks("connect", data, 1) is not None
    assert worker_tasks("connect", data, 2_000) is None
    assert worker_tasks("connect", data + bytes(BYTES_READ_MAX), 1) is None
    assert worker_tasks("connect", data[:50], 1) is None
    assert worker_tasks("other", data, 1) is None

"""The sticky assignor is equal to Kafka's, and keeps what it promises whatever the members had before."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.core.consumer.assignors.registry import result_of
from coordinator.core.streams.assignors.sticky import StreamsSubscriber, TaskSource, assignment_steps
from coordinator.core.streams.tasks import TaskAssignment, flat_tasks
from tests.examples import examples
from tests.golden_vectors import golden_vectors

VECTORS = golden_vectors("streams-assignors/sticky.jsonl.gz")


def filled(tasks: dict[str, list[int]]) -> dict[str, tuple[int, ...]]:
    return {subtopology_id: tuple(numbers) for subtopology_id, numbers in tasks.items() if numbers}


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["case"] for vector in VECTORS])
def test_the_answer_is_kafkas(vector: dict[str, Any]) -> None:
    subscribers = [
        StreamsSubscriber(member["id"], member["process_id"], member["active"], member["standby"])
        for member in vector["members"]
    ]
    processes = {process["id"]: process["members"] for process in vector["processes"]}
    sources = [TaskSource(part["id"], part["tasks"], part["stateful"]) for part in vector["subtopologies"]]
    found = result_of(assignment_steps(subscribers, processes, sources, vector["num_standby_replicas"] or 0))
    assert found == {
        member_id: TaskAssignment(filled(tasks["active"]), filled(tasks["standby"]))
        for member_id, tasks in vector["assignment"].items()
    }


TASKS = st.dictionaries(st.sampled_from("abc"), st.lists(st.integers(0, 5), unique=True), max_size=3)
MEMBERS = st.lists(st.tuples(st.integers(0, 3), TASKS, TASKS), min_size=1, max_size=8)
SOURCES = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=3)


@given(members=MEMBERS, parts=SOURCES, standbys=st.integers(0, 3))
@settings(max_examples=examples(200), deadline=None)
def test_each_task_has_one_owner_and_standbys_elsewhere(
    members: list[tuple[int, Any, Any]], parts: list[tuple[int, bool]], standbys: int
) -> None:
    subscribers = [
        StreamsSubscriber(f"m{number}", f"p{process}", active, standby)
        for number, (process, active, standby) in enumerate(members)
    ]
    processes: dict[str, list[str]] = {}
    for subscriber in subscribers:
        processes.setdefault(subscriber.process_id, []).append(subscriber.member_id)
    sources = [TaskSource("abc"[number], tasks, stateful) for number, (tasks, stateful) in enumerate(parts)]
    found = result_of(assignment_steps(subscribers, processes, sources, standbys))
    assert found.keys() == {subscriber.member_id for subscriber in subscribers}
    all_tasks = {(source.subtopology_id, task) for source in sources for task in range(source.tasks)}
    active = Counter(task for assigned in found.values() for task in flat_tasks(assigned.active))
    assert active == Counter(dict.fromkeys(all_tasks, 1))
    copies: Counter[tuple[str, int]] = Counter()
    for member_ids in processes.values():
        held = [
            task
            for member_id in member_ids
            for tasks in (found[member_id].active, found[member_id].standby)
            for task in flat_tasks(tasks)
        ]
        assert len(held) == len(set(held)), "no process has a task twice"
        copies.update(held)
    for source in sources:
        expected = min(standbys, len(processes) - 1) if source.is_stateful else 0
        for task in range(source.tasks):
            assert copies[source.subtopology_id, task] == 1 + expected

"""The bridge between steps, by which requests are handled, and coroutines, which ask the cluster."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import coordinator.cluster
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.brokers.tasks import Tasks, ask_about_all, completed
from coordinator.runtime.slices import Slices, Steps, awaited

FOLDER = Path(coordinator.cluster.__file__).parent
ASKS_THE_CLUSTER = (
    "brokers/",
    "groups/",
    "log/",
    "nodes/",
    "relay/upstreams.py",
    "sentinels/",
    "node.py",
    "security.py",
)
"""Where coroutines are; all else of a node are steps and callbacks."""
STARTS_TASKS = {"brokers/tasks.py", "relay/upstreams.py"}


def files_with(pattern: str) -> set[str]:
    return {
        str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.py") if re.search(pattern, path.read_text("utf-8"))
    }


def test_coroutines_are_where_the_cluster_is_asked() -> None:
    assert [file for file in sorted(files_with(r"\basync def ")) if not file.startswith(ASKS_THE_CLUSTER)] == []


def test_tasks_are_started_by_one_helper() -> None:
    assert files_with(r"create_task|ensure_future|TaskGroup") == STARTS_TASKS


async def value() -> int:
    await asyncio.sleep(0)
    return 7


async def failure() -> int:
    await asyncio.sleep(0)
    raise BrokerError("away")


def asking(tasks: Tasks, *asks: Callable[[], Any]) -> Steps[list[object]]:
    found: list[object] = []
    for ask in asks:
        try:
            found.append((yield from tasks.steps(ask)))
        except BrokerError as problem:
            found.append(str(problem))
        yield
    return found


def test_steps_wait_for_coroutines_and_get_what_they_raise() -> None:
    assert asyncio.run(played(value, failure, value)) == [7, "away", 7]


async def played(*asks: Callable[[], Any]) -> object:
    """The result of the same steps in slices and in a task."""
    in_slices: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    slices = Slices(asyncio.get_running_loop().call_soon)
    slices.start(asking(Tasks(), *asks), in_slices.set_result, in_slices.set_exception, source="127.0.0.1")
    in_task = await completed(asking(Tasks(), *asks))
    assert await in_slices == in_task
    return in_task


def test_steps_in_a_task_are_closed_with_it() -> None:
    closed: list[str] = []

    def forever() -> Steps[None]:
        try:
            yield from awaited(lambda answered: None)
        finally:
            closed.append("closed")

    async def story() -> None:
        tasks = Tasks()
        tasks.start(completed(forever()))
        await asyncio.sleep(0)
        assert not closed
        await tasks.stop()

    asyncio.run(story())
    assert closed


def test_steps_whose_coroutine_is_cancelled_do_not_go_on() -> None:
    went_on: list[object] = []

    async def story() -> None:
        tasks = Tasks()
        slices = Slices(asyncio.get_running_loop().call_soon)
        slices.start(asking(tasks, asyncio.Event().wait), went_on.append, went_on.append)
        await asyncio.sleep(0)
        await tasks.stop()
        await asyncio.sleep(0)

    asyncio.run(story())
    assert went_on == []


def test_work_is_repeated_until_its_owner_stops() -> None:
    times: list[int] = []

    async def story() -> None:
        tasks = Tasks()
        is_done = asyncio.Event()

        async def work() -> None:
            times.append(len(times))
            if len(times) == 3:
                is_done.set()

        tasks.every(0, work)
        await is_done.wait()
        await tasks.stop()

    asyncio.run(asyncio.wait_for(story(), 10))
    assert times[:3] == [0, 1, 2]


@pytest.mark.parametrize("at_once", [1, 3])
def test_so_many_are_asked_about_at_once(at_once: int) -> None:
    waiting: list[Callable[[Any], None]] = []
    most = 0

    def ask(element: int, answered: Callable[[Any], None]) -> None:
        nonlocal most
        waiting.append(answered)
        most = max(most, len(waiting))

    async def story() -> None:
        task = Tasks().start(ask_about_all(range(10), ask, at_once))
        while not task.done():
            await asyncio.sleep(0)
            if waiting:
                waiting.pop()(None)

    asyncio.run(asyncio.wait_for(story(), 10))
    assert most == at_once

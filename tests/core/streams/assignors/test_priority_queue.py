"""The queue hands out the least first; equal ones in the order of java.util.PriorityQueue."""

import pytest

from coordinator.core.streams.assignors.priority_queue import JavaPriorityQueue


def polled(numbers: list[tuple[int, str]]) -> list[str]:
    queue: JavaPriorityQueue[tuple[int, str]] = JavaPriorityQueue(lambda element: element[0])
    for number in numbers:
        queue.add(number)
    found = []
    while queue:
        found.append(queue.poll()[1])
    return found


def test_the_least_comes_first() -> None:
    assert polled([(3, "c"), (1, "a"), (2, "b"), (0, "z")]) == ["z", "a", "b", "c"]


def test_equal_ones_come_as_in_java() -> None:
    """As jshell prints it for new PriorityQueue<>(comparing(by number)) filled with a to e, all 0."""
    assert polled([(0, "a"), (0, "b"), (0, "c"), (0, "d"), (0, "e")]) == ["a", "e", "d", "c", "b"]


def test_an_empty_queue_has_nothing() -> None:
    with pytest.raises(IndexError):
        JavaPriorityQueue[int](lambda element: element).poll()

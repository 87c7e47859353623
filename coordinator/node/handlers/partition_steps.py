"""The loop of requests that are about partitions, topic by topic: one step for each of them."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from coordinator.runtime.slices import Steps

T = TypeVar("T")
P = TypeVar("P")
R = TypeVar("R")
A = TypeVar("A")


def answer_partitions(
    topics: Iterable[tuple[T, Iterable[P]]], answer: Callable[[T, P], R], collect: Callable[[T, list[R]], A]
) -> Steps[list[A]]:
    """Return what `collect` makes of each topic and the answers for its partitions, in the order of the request.

    `topics` are pairs of a topic and its partitions, each as the request or the handler has it.
    """
    answered = []
    for topic, partitions in topics:
        results = []
        for partition in partitions:
            results.append(answer(topic, partition))
            yield
        answered.append(collect(topic, results))
    return answered

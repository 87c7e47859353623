"""A java.util.PriorityQueue: the sticky assignor depends on the order of elements with equal priority."""

from collections.abc import Callable
from typing import Generic, TypeVar

Element = TypeVar("Element")


class JavaPriorityQueue(Generic[Element]):
    """A binary heap with the sift-up and sift-down of Java's.

    The priority of an element may change only while it is not in the queue: poll it, change it, add it again.
    """

    __slots__ = ("_heap", "_priority")

    def __init__(self, priority: Callable[[Element], float]) -> None:
        self._priority = priority
        self._heap: list[tuple[float, Element]] = []

    def __bool__(self) -> bool:
        return bool(self._heap)

    def add(self, element: Element) -> None:
        heap = self._heap
        entry = (self._priority(element), element)
        place = len(heap)
        heap.append(entry)
        while place > 0:
            parent = (place - 1) >> 1
            if entry[0] >= heap[parent][0]:
                break
            heap[place] = heap[parent]
            place = parent
        heap[place] = entry

    def poll(self) -> Element:
        """The element of the least priority, which is no longer in the queue.

        Raises:
            IndexError: the queue is empty.
        """
        heap = self._heap
        last = heap.pop()
        if not heap:
            return last[1]
        least, heap[0] = heap[0], last
        self._sift_down(last)
        return least[1]

    def _sift_down(self, entry: tuple[float, Element]) -> None:
        heap = self._heap
        place, count = 0, len(heap)
        while place < count >> 1:
            child = 2 * place + 1
            if child + 1 < count and heap[child][0] > heap[child + 1][0]:
                child += 1
            if entry[0] <= heap[child][0]:
                break
            heap[place] = heap[child]
            place = child
        heap[place] = entry

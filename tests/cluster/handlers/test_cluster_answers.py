"""Fetched offsets whose answers are large come from the cluster one after the other."""

from types import SimpleNamespace
from typing import Any

from coordinator.cluster.handlers.cluster_answers import ClusterAnswers
from coordinator.runtime.slices import Awaited, Steps

LARGE, SMALL = 2 << 20, 100


class Asking:
    """Requests of clients, and those of them that the cluster was asked and has not answered."""

    def __init__(self) -> None:
        self.answers = ClusterAnswers()
        self.asked: list[str] = []
        self._waiting: dict[str, Awaited[int]] = {}
        self._clients: dict[str, Steps[Any]] = {}
        self._groups: dict[str, str] = {}

    def ask(self, client: str, group_id: str) -> None:
        def steps() -> Steps[None]:
            self.asked.append(client)
            waiting = self._waiting[client] = Awaited[int](is_urgent=False)
            size_bytes = yield from waiting.steps()
            if size_bytes:  # else the cluster answered an error
                self.answers.answered(group_id, size_bytes)

        self._groups[client] = group_id
        self._clients[client] = self.answers.in_turn(group_id, steps)
        self._run(client)

    def answer(self, client: str, size_bytes: int) -> None:
        self.asked.remove(client)
        self._waiting.pop(client).answer(size_bytes)

    def disconnect(self, client: str) -> None:
        if client in self.asked:
            self.asked.remove(client)
        self._clients.pop(client).close()

    def _run(self, client: str) -> None:
        try:
            while True:
                waited_for = next(self._clients[client])
                if type(waited_for) is Awaited:
                    waited_for.when_answered(lambda _: self._run(client))
                    return
        except (StopIteration, KeyError):
            self._clients.pop(client, None)

    def commit(self, group_id: str, text: str) -> None:
        partition = SimpleNamespace(committed_metadata=text)
        self.answers.committed(group_id, SimpleNamespace(topics=[SimpleNamespace(partitions=[partition])]))


def asking(known: dict[str, int]) -> Asking:
    made = Asking()
    for group_id, size_bytes in known.items():
        made.answers.answered(group_id, size_bytes)
    return made


def test_the_first_request_of_a_group_tells_how_large_its_answer_is():
    made = Asking()
    for client in "abc":
        made.ask(client, "g")
    made.ask("d", "other")
    assert made.asked == ["a", "d"]
    made.answer("a", SMALL)
    assert sorted(made.asked) == ["b", "c", "d"]


def test_large_answers_wait_for_each_other_and_small_ones_do_not():
    made = asking({"large": LARGE, "larger": 2 * LARGE, "small": SMALL})
    made.ask("a", "large")
    made.ask("b", "larger")
    made.ask("c", "small")
    assert made.asked == ["a", "c"]
    made.answer("a", LARGE)
    assert made.asked == ["c", "b"]


def test_an_error_says_nothing_of_the_size():
    made = Asking()
    for client in "abc":
        made.ask(client, "g")
    made.answer("a", 0)
    assert made.asked == ["b"]


def test_clients_that_disconnect_keep_nobody_waiting():
    made = asking({"large": LARGE})
    for client in "abcd":
        made.ask(client, "large")
    made.disconnect("b")
    made.disconnect("a")
    assert made.asked == ["c"]
    made.answer("c", LARGE)
    assert made.asked == ["d"]


def test_a_group_becomes_large_by_what_is_committed():
    made = asking({"g": SMALL})
    for _ in range(3):
        made.commit("g", "m" * (1 << 19))
    made.ask("a", "g")
    made.ask("b", "g")
    assert made.asked == ["a"]

"""Steps of a load wait for an answer, and take no more notice of it when they were cancelled."""

from coordinator.runtime.slices import Awaited, Steps
from coordinator.runtime.waiting_steps import WaitingSteps


def never() -> bool:
    return False


class Load:
    """Steps that wait once, and what came of them."""

    def __init__(self) -> None:
        self.awaited: Awaited[str] = Awaited(is_urgent=False)
        self.taken: list[str] = []
        self.resumed = 0
        self.steps = WaitingSteps(self._run(), self._resume)

    def _run(self) -> Steps[None]:
        self.taken.append("asked")
        self.taken.append((yield from self.awaited.steps()))

    def _resume(self) -> None:
        self.resumed += 1


def test_steps_go_on_with_the_answer():
    load = Load()
    assert not load.steps.run(never)
    assert (load.steps.is_waiting, load.taken, load.resumed) == (True, ["asked"], 0)
    load.awaited.answer("answered")
    assert (load.steps.is_waiting, load.resumed) == (False, 1)
    assert load.steps.run(never)
    assert load.taken == ["asked", "answered"]


def test_cancelled_steps_hear_of_no_answer():
    load = Load()
    load.steps.run(never)
    load.steps.cancel()
    load.awaited.answer("late")
    assert (load.resumed, load.taken) == (0, ["asked"])
    assert load.steps.run(never), "there are no more steps"

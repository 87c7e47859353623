"""Play a history to its end."""

from tests.simulation import epilogue
from tests.simulation.harness import Harness
from tests.simulation.history import History
from tests.simulation.instrumented import defects_of
from tests.simulation.reproducible import reproducible


def play(history: History) -> Harness:
    """Returns what became of it. Raises whatever says that a rule is broken."""
    defects: list[BaseException] = []
    with defects_of(defects), reproducible():
        harness = Harness(history.setup, defects)
        for step in history.steps:
            harness.play(step)
        epilogue.play(harness)
    return harness

"""Play a history to its end."""

from tests.simulation import epilogue
from tests.simulation.harness import Harness
from tests.simulation.history import History
from tests.simulation.instrumented import defects_of


def play(history: History) -> Harness:
    """Returns what became of it. Raises whatever says that a rule is broken."""
    harness = Harness(history.setup)
    with defects_of(harness.defects):
        for step in history.steps:
            harness.play(step)
        epilogue.play(harness)
    return harness

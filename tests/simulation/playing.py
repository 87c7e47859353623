"""Play a history to its end."""

from tests.simulation import ending
from tests.simulation.history import History
from tests.simulation.stage import Stage
from tests.simulation.watched import defects_of


def play(history: History) -> Stage:
    """Returns what became of it. Raises whatever says that a rule is broken."""
    stage = Stage(history.setup)
    with defects_of(stage.defects):
        for step in history.steps:
            stage.play(step)
        ending.play(stage)
    return stage

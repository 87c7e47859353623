"""The step that only histories with transactions have."""

from dataclasses import dataclass
from typing import Any

from tests.differential.steps import Rest, Send, step_from_json


@dataclass(frozen=True)
class Restart:
    """Both servers are killed or stopped, and started again. `last` is sent, and answered, at the last moment."""

    how: str
    """kill or stop."""
    last: Send | None

    def as_json(self) -> dict[str, Any]:
        return {"restart": self.how, "last": self.last and self.last.as_json()}


TransactionStep = Send | Rest | Restart


def transaction_step_from_json(written: dict[str, Any]) -> TransactionStep:
    if "restart" not in written:
        step = step_from_json(written)
        assert isinstance(step, Send | Rest), step
        return step
    last = written["last"] and step_from_json(written["last"])
    assert last is None or isinstance(last, Send), last
    return Restart(written["restart"], last)

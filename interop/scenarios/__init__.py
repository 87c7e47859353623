"""The scenarios of the matrix, by name, in the order of the report."""

from typing import Final

from interop.scenarios import (
    assignments,
    membership,
    offsets,
    restarts,
    static,
    streaming,
    timeouts,
    tools,
    topics,
    unavailable,
)
from interop.scenarios.scenario import Scenario

SCENARIOS: Final[dict[str, Scenario]] = {
    scenario.name: scenario
    for module in (membership, timeouts, static, assignments, topics, offsets, tools, restarts, unavailable, streaming)
    for scenario in module.SCENARIOS
}

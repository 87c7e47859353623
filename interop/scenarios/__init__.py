"""The scenarios of the matrix, by name, in the order of the report."""

from typing import Final

from interop.scenarios import (
    assignments,
    membership,
    migration,
    offsets,
    restarts,
    secured,
    share,
    static,
    streaming,
    timeouts,
    tools,
    topics,
    unavailable,
)
from interop.scenarios.scenario import Scenario

MODULES: Final = (
    membership,
    timeouts,
    static,
    assignments,
    topics,
    offsets,
    tools,
    restarts,
    unavailable,
    migration,
    streaming,
    secured,
    share,
)
REFUSALS: Final = tuple(scenario.name for scenario in secured.REFUSALS)
"""Those in which a member is refused, and told why."""
SCENARIOS: Final[dict[str, Scenario]] = {scenario.name: scenario for module in MODULES for scenario in module.SCENARIOS}

"""Members that connect with TLS, and log in."""

from interop.scenarios.scenario import Scenario
from interop.scenarios.timeouts import killed
from interop.scene import Scene
from interop.security import TITLES


def _scenario(security: str) -> Scenario:
    """Two members join and read, and the session of one ends, over a secured listener."""

    def play(scene: Scene) -> None:
        killed(scene)

    play.__name__ = f"over_{security.replace('-', '_')}"
    return Scenario(f"joins, reads, a session ends: {TITLES[security]}", play, needs=(security,), security=security)


SCENARIOS = tuple(map(_scenario, TITLES))

"""A coordinator for tests of other people: the real server in this process, with its logs in memory."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coordinator.faults.specs import FaultError
    from coordinator.testing.aio import AsyncCoordinator
    from coordinator.testing.coordinator import Coordinator
    from coordinator.testing.errors import TestingError, WaitTimeout

__all__ = ["AsyncCoordinator", "Coordinator", "FaultError", "TestingError", "WaitTimeout"]


def __getattr__(name: str) -> Any:
    """Import what is asked for: pytest imports this package at its start, also where no test needs a coordinator."""
    from importlib import import_module

    from coordinator.garbage import no_collections

    modules = {
        "AsyncCoordinator": "coordinator.testing.aio",
        "Coordinator": "coordinator.testing.coordinator",
        "FaultError": "coordinator.faults.specs",
        "TestingError": "coordinator.testing.errors",
        "WaitTimeout": "coordinator.testing.errors",
    }
    if name not in modules:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with no_collections():
        return getattr(import_module(modules[name]), name)

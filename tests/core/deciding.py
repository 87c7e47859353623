"""Groups and contexts for tests that call a decision by itself, without a shard."""

from collections.abc import Mapping
from typing import Any

from coordinator.config.settings import Config
from coordinator.core.decision import Environment, OperationContext
from coordinator.core.groups.group import Group
from coordinator.core.kinds.table import new_group
from tests.simulation.server import AnyTopics


class NoSessions:
    """Every session is over."""

    def is_over(self, group_id: str, member_id: str, now_ms: int) -> bool:
        return True

    def last_renewed_ms(self, group_id: str, member_id: str) -> int | None:
        return None

    def timeout_ms(self, group_id: str, member_id: str) -> int | None:
        return None


def context(now_ms: int = 0, version: int = 0, settings: Mapping[str, str] | None = None) -> OperationContext:
    return OperationContext(1, version, "client", "/127.0.0.1", environment_with(settings), now_ms, now_ms)


def environment_with(settings: Mapping[str, str] | None = None) -> Environment:
    return Environment(Config(settings or {}), AnyTopics(), NoSessions(), lambda: "uuid")


def group_with(group_id: str = "g", **fields: Any) -> Group:
    """A group whose membership has these fields."""
    group = new_group(group_id)
    for name, value in fields.items():
        assert hasattr(group.membership, name), name
        setattr(group.membership, name, value)
    return group

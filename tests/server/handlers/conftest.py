import pytest

from tests.server.handlers.group_node import GroupNode


@pytest.fixture
def node() -> GroupNode:
    return GroupNode()

import pytest

from tests.front.handlers.group_node import GroupNode


@pytest.fixture
def node() -> GroupNode:
    return GroupNode()

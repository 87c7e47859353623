"""Each attack on a node in front of a Kafka in a small form, as those on servers are."""

import pytest

from tests.differential.kafka import KafkaMissing
from tests.hostile import nodes
from tests.hostile.checks import check_small_form
from tests.hostile.node_target import NodeTarget

pytestmark = pytest.mark.realtime


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    try:
        made = NodeTarget(tmp_path_factory.mktemp("target"))
    except KafkaMissing as missing:
        pytest.skip(str(missing))
    with made as running:
        yield running


@pytest.mark.parametrize("attack", nodes.ATTACKS, ids=lambda attack: attack.name)
def test_the_victim_is_served_and_the_memory_is_bounded(target, attack):
    check_small_form(attack, target)

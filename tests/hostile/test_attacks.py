"""Each attack in a small form: the server keeps its memory, and serves a victim beside it and after it.

How long the victim waits is measured by `make hostile`, with attacks of full size on a quiet machine.
"""

import pytest

from tests.hostile.__main__ import ATTACKS
from tests.hostile.attack import Attack
from tests.hostile.target import MIB, Target

SCALE = 0.02
MEMORY_AT_MOST = 64 * MIB
MEMORY_PER_BYTE_AT_MOST = 20


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    with Target(tmp_path_factory.mktemp("target")) as running:
        yield running


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_the_victim_is_served_and_the_memory_is_bounded(target, attack, tmp_path):
    if attack.settings is None:
        check(attack, target)
    else:
        with Target(tmp_path, attack.settings) as own:
            check(attack, own)


def check(attack: Attack, target: Target) -> None:
    harm = attack.play(target, SCALE)
    assert harm.memory_bytes < MEMORY_AT_MOST + MEMORY_PER_BYTE_AT_MOST * harm.sent_bytes
    assert "unhandled" not in target.logged

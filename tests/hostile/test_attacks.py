"""Each attack in a small form: the server keeps its memory, and serves a victim beside it and after it.

How long the victim waits is measured by `make hostile`, with attacks of full size on a quiet machine.
"""

import pytest

from tests.hostile.__main__ import ATTACKS
from tests.hostile.checks import check_small_form
from tests.hostile.target import Target

OF_SERVERS = [attack for attack in ATTACKS if attack.target is Target]


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    with Target(tmp_path_factory.mktemp("target")) as running:
        yield running


@pytest.mark.parametrize("attack", OF_SERVERS, ids=lambda attack: attack.name)
def test_the_victim_is_served_and_the_memory_is_bounded(target, attack, tmp_path):
    if attack.settings is None:
        check_small_form(attack, target)
    else:
        with attack.target_in(tmp_path) as own:
            check_small_form(attack, own)

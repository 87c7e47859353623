"""Some random histories; `make simulate` plays more."""

import pytest

from tests.transactions.histories import play

SEEDS = (59, 69, *range(100, 118))
"""59 and 69: snapshots and transaction indexes that did not fit each other after several crashes."""


@pytest.mark.parametrize("seed", SEEDS)
def test_consumers_get_whole_transactions_and_no_others(seed):
    play(seed)

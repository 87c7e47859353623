"""Each part of a node registers the values of its metrics; of what a node does not have there are none."""

import pytest

from coordinator.metrics.declarations.node import OFFLINE_LOG_DIRECTORIES, UNCLEANABLE_LOGS
from tests.admin.http_client import Scrape, with_node

OF_STORAGE = ("coordinator_compactions_total", UNCLEANABLE_LOGS.name, OFFLINE_LOG_DIRECTORIES.name)
OF_TRANSACTIONS = (
    "coordinator_transactional_ids",
    "coordinator_transactions_open",
    "coordinator_transactions_ending",
    "coordinator_transactions_timed_out_total",
)


def test_a_node_has_the_values_of_its_storage_and_its_transactions(tmp_path):
    scrape = with_node(tmp_path, lambda node: Scrape(node.admin or ""))
    assert [scrape.value(name) for name in (*OF_STORAGE, *OF_TRANSACTIONS)] == [0] * 7


@pytest.mark.parametrize("name", OF_TRANSACTIONS)
def test_a_node_without_a_data_plane_has_none_of_transactions(tmp_path, name):
    scrape = with_node(tmp_path, lambda node: Scrape(node.admin or ""), has_data_plane=False)
    assert [scrape.value(of_storage) for of_storage in OF_STORAGE] == [0] * 3
    with pytest.raises(KeyError):
        scrape.value(name)

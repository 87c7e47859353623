"""What ListTransactions asks for."""

import pytest

from _wire.messages.list_transactions import ListTransactionsRequest
from coordinator.core.transactions.admin import parse_filter
from coordinator.patterns import InvalidPattern


def test_names_of_states_that_do_not_exist_are_said_once():
    requested, unknown = parse_filter(ListTransactionsRequest(state_filters=["Ongoing", "ongoing", "ongoing"]))
    assert requested is not None
    assert unknown == ["ongoing"]


def test_nothing_is_listed_if_no_state_exists():
    assert parse_filter(ListTransactionsRequest(state_filters=["a", "b"])) == (None, ["a", "b"])


def test_a_bad_pattern_is_refused_whatever_the_states_are():
    """As Kafka: it reads the pattern first."""
    for states in (["Ongoing"], ["ongoing"], []):
        with pytest.raises(InvalidPattern):
            parse_filter(ListTransactionsRequest(state_filters=states, transactional_id_pattern="("))

"""What two clusters never have in common is left out of what is compared, whatever value it has by chance."""

import pytest

from tests.cluster.beside_kafka import normalised_text


@pytest.mark.parametrize("number", ["7", "5854", "58541"])
def test_the_group_of_a_console_consumer_has_a_number_of_any_length(number: str) -> None:
    """With five digits it is as long as a UUID as Kafka writes it."""
    assert normalised_text(f"console-consumer-{number} Classic") == "console-consumer-N Classic"


def test_identifiers_of_kafka_are_left_out_and_names_are_not() -> None:
    assert (
        normalised_text("Cluster ID: 5L6g3nShT-eMCtK--X86sw, group verifiable-2")
        == "Cluster ID: ID, group verifiable-2"
    )

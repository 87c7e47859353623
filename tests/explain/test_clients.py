"""Which library a client is, by the name that it gives."""

import pytest

from coordinator.audit.schema import MemberRef
from coordinator.explain.clients import Library, all_are, library_of


@pytest.mark.parametrize(
    ("name", "version", "library"),
    [
        ("apache-kafka-java", "4.3.1", Library.JAVA),
        ("kafka-python", "3.0.12", Library.KAFKA_PYTHON),
        ("confluent-kafka-python", "2.16.1-rdkafka-2.16.0", Library.LIBRDKAFKA),
        ("confluent-kafka-javascript", "1.9.1-librdkafka-2.14.2", Library.LIBRDKAFKA),
        ("librdkafka", "2.0.2", Library.LIBRDKAFKA),
        ("node-javascript-client", "1.0", Library.OTHER),
        ("kgo", "1.20", Library.OTHER),
        ("sarama", "1.46", Library.OTHER),
        ("", "", Library.OTHER),
    ],
)
def test_a_library_is_known_by_its_name(name, version, library):
    assert library_of(MemberRef("id", "c", "/h", None, name, version)) is library


def test_one_other_client_makes_a_group_one_of_others():
    java = MemberRef("id", "c", "/h", None, "apache-kafka-java", "4.3.1")
    assert all_are([java, java], frozenset({Library.JAVA}))
    assert not all_are([java, MemberRef("id", "c")], frozenset({Library.JAVA}))

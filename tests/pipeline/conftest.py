"""One Spark session for all tests of the pipeline; what it costs to start is paid once."""

import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from coordinator.pipeline.java import JavaMissing
from coordinator.pipeline.session import spark_session
from coordinator.pipeline.tables import Tables

PARTITIONS: Final = 4


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    try:
        with spark_session() as session:
            yield session
    except JavaMissing as missing:
        pytest.fail(str(missing), pytrace=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use Spark, so that `make check` can leave them out."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(tmp_path / "tables")


class AuditTopic:
    """A topic like the audit topic, on a real server, under a name of its own."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.name = f"audit-{uuid.uuid4().hex[:8]}"
        admin = KafkaAdminClient(bootstrap_servers=bootstrap)
        admin.create_topics([NewTopic(self.name, num_partitions=PARTITIONS, replication_factor=1)])
        admin.close()

    def append(self, group_id: str, values: Iterable[bytes]) -> None:
        """Keyed by the group, so that its events lie in one partition, in order."""
        producer = KafkaProducer(bootstrap_servers=self.bootstrap)
        for value in values:
            producer.send(self.name, key=group_id.encode(), value=value, headers=[("ce_specversion", b"1.0")])
        producer.flush()
        producer.close()

    def delete_all_records(self) -> None:
        """As the retention time does."""
        partitions = [TopicPartition(self.name, number) for number in range(PARTITIONS)]
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        admin.delete_records(dict.fromkeys(partitions, -1))
        admin.close()


@pytest.fixture
def audit_topic(server: Any) -> AuditTopic:
    return AuditTopic(server.bootstrap)

"""What is told of groups of a real Kafka, by its records alone, and by its records and its log."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count

import pytest
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ResourcePattern,
    ResourceType,
)

from coordinator.client.bootstrap import Bootstrap
from coordinator.internal_topics import OFFSETS_TOPIC
from coordinator.observe.sources import LogOptions, observe_group
from interop.builds import CLASSIC, CONSUMER
from interop.driver import Driver, python_driver
from tests.differential.kafka import KafkaMissing
from tests.observe.kafka_cases import CASES, LEFT_OPEN, TOLD, KafkaScene, cell, false_causes, without_evidence
from tests.observe.logged_kafka import AT_ONCE, LoggedKafka

pytestmark = [pytest.mark.realtime, pytest.mark.timeout(240)]

numbers = count()
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
"""Everybody may do everything with what has no ACL."""
PLAYED = (
    ("a_process_is_killed_and_another_joins", CLASSIC, LEFT_OPEN),
    ("a_static_member_restarts", CLASSIC, TOLD),
    ("a_process_is_killed", CONSUMER, LEFT_OPEN),
    ("a_subscription_changes", CONSUMER, TOLD),
)
"""Case, protocol, and what records alone tell."""


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedKafka]:
    try:
        with LoggedKafka(tmp_path_factory.mktemp("kafka"), settings={**AT_ONCE, **AUTHORIZER}) as running:
            yield running
    except KafkaMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize(("name", "protocol", "by_records"), PLAYED)
def test_what_happened_is_told_and_nothing_else(name: str, protocol: str, by_records: str, kafka: LoggedKafka):
    with ExitStack() as stack:
        start = partial(Driver, python_driver("confluent-kafka"))
        scene = KafkaScene(kafka, start, f"seen{next(numbers)}", stack, protocol=protocol)
        did = CASES[name].play(scene)
        scene.wait_until_told(*did)
        records, both = scene.seen(with_logs=False), scene.seen(with_logs=True)
    assert (cell(records, did), cell(both, did)) == (by_records, TOLD)
    for history in (records, both):
        assert false_causes(history, did, name) == []
        assert without_evidence(history) == []


def test_without_the_right_to_read_the_records_the_log_tells_what_it_can(kafka: LoggedKafka):
    with ExitStack() as stack:
        start = partial(Driver, python_driver("confluent-kafka"))
        scene = KafkaScene(kafka, start, f"seen{next(numbers)}", stack)
        did = CASES["a_member_closes"].play(scene)
        denied = ACL(
            principal="User:ANONYMOUS",
            host="*",
            operation=ACLOperation.READ,
            permission_type=ACLPermissionType.DENY,
            resource_pattern=ResourcePattern(ResourceType.TOPIC, OFFSETS_TOPIC),
        )
        admin = scene.admin()
        admin.create_acls([denied])
        try:
            server = Bootstrap(kafka.bootstrap)
            by_log = observe_group(scene.group, server, LogOptions((str(kafka.server_log),)))
            by_polls = observe_group(scene.group, server, LogOptions())
        finally:
            admin.delete_acls([ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, denied.resource_pattern)])
    assert any("READ on topic __consumer_offsets" in note for note in by_log.notes)
    assert cell(by_log.history, did) == TOLD
    assert "Without the records" in by_log.unknown
    assert by_polls.present is not None and by_polls.history.last_seq < 0
    assert "The present is all that is known" in by_polls.unknown

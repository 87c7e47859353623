"""The hashes that a real Kafka stored of the same topics (tests/golden/metadata_hash/kafka-4.3.1.json)."""

import json
from typing import Any
from uuid import UUID

import pytest

from coordinator.core.consumer.metadata_hash import metadata_hash
from tests.golden_vectors import golden_path

GROUPS: list[dict[str, Any]] = json.loads(golden_path("metadata_hash/kafka-4.3.1.json").read_text())["groups"]


def topics_of(group: dict[str, Any]) -> list[tuple[str, bytes, int]]:
    return [(each["name"], UUID(each["id"]).bytes, each["partitions"]) for each in group["topics"]]


@pytest.mark.parametrize("group", GROUPS, ids=[",".join(each["name"] for each in group["topics"]) for group in GROUPS])
def test_the_hash_is_kafkas_in_any_order_of_the_topics(group: dict[str, Any]):
    assert metadata_hash(topics_of(group)) == group["metadata_hash"]
    assert metadata_hash(reversed(topics_of(group))) == group["metadata_hash"]


def test_no_topics_have_no_hash():
    assert metadata_hash([]) == 0


def test_a_topic_that_grows_is_made_again_or_renamed_changes_the_hash():
    topic = ("orders", bytes(16), 3)
    others = [("orders", bytes(16), 4), ("orders", bytes(15) + b"\1", 3), ("order", bytes(16), 3)]
    assert len({metadata_hash([each]) for each in (topic, *others)}) == 4

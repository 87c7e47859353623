"""Names of topics and of the folders of their partitions."""

import pytest

from coordinator.log.config import LogConfig
from coordinator.log.errors import InvalidTopicName
from coordinator.log.names import check_topic_name, folder_name, parse_folder_name

CONFIG = LogConfig(segment_bytes=1_000)


@pytest.mark.parametrize("topic", ["a", "A.b_c-9", "x" * 249, "...", "__consumer_offsets"])
def test_valid_topic_names(topic):
    check_topic_name(topic)
    assert parse_folder_name(folder_name(topic, 12)) == (topic, 12)


@pytest.mark.parametrize("topic", ["", ".", "..", "x" * 250, "a/b", "a b", "ä", "a\n", "a\0"])
def test_invalid_topic_names(topic):
    with pytest.raises(InvalidTopicName):
        check_topic_name(topic)


@pytest.mark.parametrize("name", ["topic", "topic-", "topic-x", "topic-01", "-1", "a-0.abc-delete", ".lock", "a b-0"])
def test_folders_that_are_not_partitions(name):
    assert parse_folder_name(name) is None

"""Changes of configs; what Kafka 4.3.1 answered to each is in the tables."""

import pytest

from _wire.errors import ErrorCode
from coordinator.broker.configs.config_changes import Operation, changed, replaced
from coordinator.broker.configs.group_config_keys import GROUP_KEYS_BY_NAME
from coordinator.broker.configs.topic_config_keys import KEYS_BY_NAME
from coordinator.broker.topics import TopicError

SET, DELETE, APPEND, SUBTRACT = range(4)


@pytest.mark.parametrize(
    ("before", "operation", "after"),
    [
        ({}, ("retention.ms", SET, "5"), {"retention.ms": "5"}),
        ({"retention.ms": "5", "segment.ms": "6"}, ("retention.ms", DELETE, None), {"segment.ms": "6"}),
        ({}, ("retention.ms", DELETE, None), {}),
        ({}, ("nope", DELETE, None), {}),
        ({}, ("cleanup.policy", APPEND, "compact"), {"cleanup.policy": "delete,compact"}),
        (
            {"cleanup.policy": "delete,compact"},
            ("cleanup.policy", APPEND, "compact"),
            {"cleanup.policy": "delete,compact"},
        ),
        ({"cleanup.policy": "delete,compact"}, ("cleanup.policy", SUBTRACT, "delete"), {"cleanup.policy": "compact"}),
        ({"cleanup.policy": "compact"}, ("cleanup.policy", SUBTRACT, "compact"), {"cleanup.policy": ""}),
        ({}, ("cleanup.policy", APPEND, "compact,compact"), {"cleanup.policy": "delete,compact"}),
    ],
)
def test_an_operation_changes_one_config(before, operation, after):
    unchanged = dict(before)
    assert changed(before, [Operation(*operation)], KEYS_BY_NAME) == after
    assert before == unchanged


@pytest.mark.parametrize(
    ("operations", "error", "message"),
    [
        ([("retention.ms", SET, None)], ErrorCode.INVALID_REQUEST, "Null value not supported for : retention.ms"),
        (
            [("cleanup.policy", APPEND, None)],
            ErrorCode.INVALID_REQUEST,
            "Null value not supported for : cleanup.policy",
        ),
        (
            [("retention.ms", APPEND, "x")],
            ErrorCode.INVALID_CONFIG,
            "Can't APPEND to key retention.ms because its type is not LIST.",
        ),
        (
            [("retention.ms", SUBTRACT, "x")],
            ErrorCode.INVALID_CONFIG,
            "Can't SUBTRACT to key retention.ms because its type is not LIST.",
        ),
        (
            [("retention.ms", SET, "1"), ("retention.ms", SET, "2")],
            ErrorCode.INVALID_REQUEST,
            "Error due to duplicate config keys",
        ),
        ([("cleanup.policy", 9, "delete")], ErrorCode.INVALID_REQUEST, "Unknown operation 9"),
    ],
)
def test_an_operation_that_cannot_be_is_refused(operations, error, message):
    with pytest.raises(TopicError) as refused:
        changed({}, [Operation(*operation) for operation in operations], KEYS_BY_NAME)
    assert (refused.value.error, str(refused.value)) == (error, message)


def test_a_config_of_another_kind_of_resource_is_no_list():
    with pytest.raises(TopicError, match=r"Can't APPEND to key cleanup\.policy because its type is not LIST."):
        changed({}, [Operation("cleanup.policy", APPEND, "compact")], GROUP_KEYS_BY_NAME)


def test_all_configs_are_replaced():
    assert replaced([("retention.ms", "5"), ("segment.ms", "6")]) == {"retention.ms": "5", "segment.ms": "6"}
    assert replaced([]) == {}


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([("retention.ms", None)], "Null value not supported for : retention.ms"),
        ([("retention.ms", "1"), ("retention.ms", "2")], "Error due to duplicate config keys"),
    ],
)
def test_a_replacement_that_cannot_be_is_refused(entries, message):
    with pytest.raises(TopicError) as refused:
        replaced(entries)
    assert (refused.value.error, str(refused.value)) == (ErrorCode.INVALID_REQUEST, message)

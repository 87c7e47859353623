"""The steps in which Kafka is known to do something wrong, and no others."""

from typing import Any

import pytest

from tests.differential.consumer.known import ABANDONED, FORGOTTEN, defect_of
from tests.differential.consumer.steps import Wait
from tests.differential.steps import Send


def state(group_state: str, *members: tuple[str, str | None], error_code: int = 0) -> dict[str, Any]:
    described = [{"member_id": member_id, "instance_id": instance_id} for member_id, instance_id in members]
    return {"groups": {"groups": [{"error_code": error_code, "group_state": group_state, "members": described}]}}


def join(member_id: str) -> Send:
    return Send("s1", "K", "JoinGroup", 5, {"group_id": "~g", "member_id": member_id})


def heartbeat(epoch: int, instance_id: str | None) -> Send:
    body = {"group_id": "~g", "member_id": "A", "member_epoch": epoch, "instance_id": instance_id}
    return Send("s1", "A", "ConsumerGroupHeartbeat", 1, body)


@pytest.mark.parametrize(
    ("step", "before", "defect"),
    [
        (join("K"), state("Empty"), FORGOTTEN),
        (join(""), state("Empty"), ""),
        (join("K"), state("Stable", ("A", None)), ""),
        (join("K"), state("Dead", error_code=69), ""),
        (heartbeat(0, "i1"), state("Reconciling", ("A", None)), ABANDONED),
        (heartbeat(0, "i1"), state("Reconciling", ("A", "i1")), ""),
        (heartbeat(0, "i1"), state("Reconciling", ("B", None)), ""),
        (heartbeat(0, None), state("Reconciling", ("A", None)), ""),
        (heartbeat(2, "i1"), state("Reconciling", ("A", None)), ""),
        (Wait(10), state("Empty"), ""),
        (join("K"), None, ""),
    ],
)
def test_steps_with_a_defect_of_kafka_are_known(step: Any, before: dict[str, Any] | None, defect: str) -> None:
    assert defect_of(step, before) == defect

"""What Kafka 4.3.1 does wrong with consumer groups (docs/decisions/010): a history ends where it shows."""

from typing import Any

from coordinator.core.consumer.member import NO_EPOCH
from tests.differential.consumer.steps import ConsumerStep
from tests.differential.steps import Send

EMPTY = "Empty"
FORGOTTEN = "Kafka has forgotten an empty consumer group for a JoinGroup that it refuses"
ABANDONED = "Kafka has taken the partitions from a member that joined again as a static one"


def defect_of(step: ConsumerStep, state: dict[str, Any] | None) -> str:
    """What Kafka may do wrong in a step that is taken in this state of the groups; it may show in later steps."""
    if state is None or not isinstance(step, Send):
        return ""
    groups = [group for group in state["groups"]["groups"] if group["error_code"] == 0]
    if step.api == "JoinGroup" and step.body["member_id"]:
        return FORGOTTEN if any(group["group_state"] == EMPTY for group in groups) else ""
    if step.api == "ConsumerGroupHeartbeat" and step.body["member_epoch"] == NO_EPOCH and step.body.get("instance_id"):
        members = [member for group in groups for member in group["members"]]
        is_new = all(member["instance_id"] != step.body["instance_id"] for member in members)
        is_member = any(member["member_id"] == step.body["member_id"] for member in members)
        return ABANDONED if is_new and is_member else ""
    return ""

"""The texts of events and decisions, which may be part of error messages, do not grow with the group."""

from coordinator.core.consumer.conversion_events import GroupConverted
from coordinator.core.consumer.kind import CONSUMER
from coordinator.core.consumer.member import MemberMetadata
from coordinator.core.consumer.target import TargetInput
from coordinator.core.consumer.target_events import TargetComputationStarted


def test_a_kind_of_group_is_told_by_its_name() -> None:
    event = GroupConverted(group_id="g", at_ms=0, kind=CONSUMER, member_id="a")
    assert repr(event) == "GroupConverted(group_id='g', at_ms=0, kind=GroupKind('consumer'), member_id='a')"


def test_the_members_of_a_target_are_told_by_their_number() -> None:
    members = {str(number): MemberMetadata("c", "/h") for number in range(10_000)}
    asked = TargetInput("uniform", members, {}, {}, is_homogeneous=True)
    event = TargetComputationStarted(group_id="g", at_ms=0, epoch=1, member_id="a", asked=asked)
    assert repr(event).endswith("member_id='a', asked=TargetInput('uniform', 10000 members))")

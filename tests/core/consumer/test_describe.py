"""ConsumerGroupDescribe, and what it costs the others."""

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from coordinator.core.consumer.describe import DESCRIPTIONS
from coordinator.core.groups.descriptions import MEMBERS_PER_OPERATION
from tests.core.consumer.world import World
from tests.simulation.server import ClientContext
from tests.simulation.simulation import GROUP_ID

MEMBERS = 3 * MEMBERS_PER_OPERATION


def test_a_description_counts_as_many_operations_as_its_members_take():
    world = World()
    for number in range(MEMBERS):
        world.enter(f"m{number}")
    context = ClientContext.of(1, 1, "admin", world)
    decision = DESCRIPTIONS.describe(world.whole_group, ConsumerGroupDescribeRequest(group_ids=[GROUP_ID]), context)
    assert decision.weight == 3
    assert DESCRIPTIONS.describe(None, ConsumerGroupDescribeRequest(group_ids=["other"]), context).weight == 0


def test_members_are_shown_with_what_they_have_and_what_they_are_to_get():
    world = World()
    world.enter("a")
    world.enter("b")
    described = world.described()
    assert (described.error_code, described.group_state) == (ErrorCode.NONE, "Reconciling")
    shown = {
        member.member_id: tuple(
            [index for topic in assignment.topic_partitions for index in topic.partitions]
            for assignment in (member.assignment, member.target_assignment)
        )
        for member in described.members
    }
    assert shown == {"a": ([0, 1, 2], [0, 1]), "b": ([], [2])}

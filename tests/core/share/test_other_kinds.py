"""Requests of other protocols to the id of a share group, and ShareGroupHeartbeat to those of other groups."""

from _wire.errors import NONE, ErrorCode
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.list_groups import ListGroupsRequest
from coordinator.core.kinds import operations
from tests.core.share.world import ShareWorld
from tests.simulation.simulation import GROUP_ID, Sent


def emptied() -> ShareWorld:
    world = ShareWorld()
    world.share_enter("a")
    world.share_beat("a", -1)
    return world


def test_members_of_other_protocols_cannot_join_a_share_group_with_or_without_members() -> None:
    world = ShareWorld()
    world.share_enter("a")
    for _ in range(2):
        assert world.join("j").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        assert world.enter("c").error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert world.beat("c", 3).error_code == ErrorCode.GROUP_ID_NOT_FOUND
        world.share_beat("a", -1)


def test_offsets_are_neither_committed_nor_deleted_and_none_are_there() -> None:
    world = emptied()
    assert world.commit_offsets("", -1, {0: 1}) == {ErrorCode.GROUP_ID_NOT_FOUND}
    assert world.fetch_error(None, -1) is NONE


def test_share_members_cannot_join_other_groups() -> None:
    world = ShareWorld()
    world.enter("c")
    for _ in range(2):
        for epoch in (0, 1, -1):
            answer = world.share_beat("a", epoch, *(["t"] if epoch == 0 else []))
            assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        world.depart("c")


def test_it_is_listed_with_its_type_as_protocol_type() -> None:
    world = ShareWorld()
    world.share_enter("a")
    for state in ("Stable", "Empty"):
        sent = Sent()
        world.submit(operations.LIST_GROUPS, GROUP_ID, ListGroupsRequest(types_filter=["SHARE"]), sent, "admin", 5)
        (group,) = sent.response.groups
        assert (group.protocol_type, group.group_type, group.group_state) == ("share", "share", state)
        world.share_beat("a", -1)


def test_describe_groups_does_not_know_it() -> None:
    world = ShareWorld()
    world.share_enter("a")
    sent = Sent()
    world.submit(operations.DESCRIBE_GROUPS, GROUP_ID, DescribeGroupsRequest(groups=[GROUP_ID]), sent, "admin", 5)
    (group,) = sent.response.groups
    assert group.group_state == "Dead"
    assert world.described().error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_it_is_described() -> None:
    world = ShareWorld()
    world.share_enter("a")
    described = world.share_described()
    assert (described.error_code, described.group_state, described.assignor_name) == (NONE, "Stable", "simple")
    assert (described.group_epoch, described.assignment_epoch) == (3, 3)
    (member,) = described.members
    assert (member.member_id, member.member_epoch, list(member.subscribed_topic_names)) == ("a", 3, ["t"])
    (topic,) = member.assignment.topic_partitions
    assert (topic.topic_name, list(topic.partitions)) == ("t", [0, 1, 2])


def test_what_is_no_share_group_is_not_described() -> None:
    world = ShareWorld()
    assert world.share_described().error_code == ErrorCode.GROUP_ID_NOT_FOUND
    world.enter("c")
    assert world.share_described().error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert ShareWorld().share_described("").error_code == ErrorCode.INVALID_GROUP_ID


def test_an_empty_one_is_deleted() -> None:
    world = ShareWorld()
    world.share_enter("a")
    assert world.delete_group().error is ErrorCode.NON_EMPTY_GROUP
    world.share_beat("a", -1)
    before = len(world.written())
    assert world.delete_group().error is NONE
    assert world.written()[before:] == [(12, False), (15, False), (11, False)]
    world.restart()
    assert not world.exists
    assert world.enter("c").error_code == NONE

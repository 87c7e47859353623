from _wire.messages.delete_groups import DeleteGroupsRequest
from coordinator.core.groups import admin


def test_a_group_that_is_named_twice_is_deleted_once():
    request = DeleteGroupsRequest(groups_names=["a", "b", "a"])
    assert [(group_id, part.groups_names) for group_id, part in admin.delete_per_group(request)] == [
        ("a", ["a"]),
        ("b", ["b"]),
    ]

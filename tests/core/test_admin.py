from _wire.errors import ErrorCode
from coordinator.core import admin
from coordinator.core.admin import ALL_OPERATIONS, NO_AUTHORIZED_OPERATIONS
from coordinator.core.group import Group


def test_an_unknown_group_is_described_as_dead_with_what_may_be_done_with_it():
    missing = admin.describe(Group("unheard-of"), 5, True)
    assert (missing.error_code, missing.group_state) == (ErrorCode.NONE, "Dead")
    assert missing.authorized_operations == ALL_OPERATIONS


def test_from_v6_on_an_unknown_group_is_an_error_and_nothing_may_be_done_with_it():
    missing = admin.describe(Group("unheard-of"), 6, True)
    assert (missing.error_code, missing.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    assert missing.authorized_operations == NO_AUTHORIZED_OPERATIONS

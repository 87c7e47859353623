"""What the connection of a member tells of when it was heard."""

from coordinator.core.groups.connection_at_removal import ConnectionAtRemoval, heard_until


def test_the_answer_to_a_request_that_waited_is_no_sign_of_life():
    assert heard_until(9_000, ConnectionAtRemoval(is_open=False, closed_ms=4_000)) == 4_000
    assert heard_until(3_000, ConnectionAtRemoval(is_open=False, closed_ms=4_000)) == 3_000
    assert heard_until(9_000, ConnectionAtRemoval(is_open=True)) == 9_000
    assert heard_until(9_000, ConnectionAtRemoval()) == 9_000
    assert heard_until(None, ConnectionAtRemoval(is_open=False, closed_ms=4_000)) is None

"""What goes wrong in a test; each message says what to do."""


class TestingError(Exception):
    """The coordinator of a test was asked for something impossible. The message is one line."""

    __test__ = False


class WaitTimeout(TestingError, AssertionError):
    """What a test waited for did not come in time. The message says what came instead."""

"""What goes wrong in a test; each message says what to do."""


class TestingError(Exception):
    """The coordinator of a test was asked for something impossible. The message is one line."""

    __test__ = False


def require_whole(name: str, value: int | None, least: int = 0) -> None:
    """Raises TestingError: the value is neither None nor a whole number from `least` on."""
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
        raise TestingError(f"{name}={value!r}: expected a whole number from {least} on")


def require_seconds(name: str, value: float) -> None:
    """Raises TestingError: the value is no number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TestingError(f"{name}={value!r}: expected a number of seconds")


class WaitTimeout(TestingError, AssertionError):
    """What a test waited for did not come in time. The message says what came instead."""

"""What can go wrong when a broker is asked."""

from _wire.errors import ErrorCode


class BrokerError(Exception):
    """A broker cannot be reached, closed the connection, did not answer in time, or sent what cannot be decoded.

    The message is one line. Whether the broker did what it was asked is not known.
    """


class RetriableAnswer(BrokerError):
    """A broker answered with an error that may end."""

    def __init__(self, error: ErrorCode) -> None:
        super().__init__(error.name)
        self.error = error


class ResponseTooLarge(BrokerError):
    """The broker answered with more than a node reads. Asked again, it does so again."""

"""What can go wrong when a broker is asked."""


class BrokerError(Exception):
    """A broker cannot be reached, closed the connection, did not answer in time, or sent what cannot be decoded.

    The message is one line. Whether the broker did what it was asked is not known.
    """


class ResponseTooLarge(BrokerError):
    """The broker answered with more than a node reads. Asked again, it does so again."""

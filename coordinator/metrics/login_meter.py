"""Counts of the logins of a listener, written where they end and read by a scrape."""


class LoginMeter:
    """Logins by SASL since the start."""

    __slots__ = ("expired", "failures", "reauthentication_failures", "reauthentications", "successes")

    def __init__(self) -> None:
        self.successes = 0
        self.failures = 0
        self.reauthentications = 0
        self.reauthentication_failures = 0
        self.expired = 0
        """Connections that were closed because their session had ended."""

    def succeeded(self, is_first: bool) -> None:
        """Count a login; one that is not the first of its connection renews the session (KIP-368)."""
        if is_first:
            self.successes += 1
        else:
            self.reauthentications += 1

    def failed(self, is_first: bool) -> None:
        if is_first:
            self.failures += 1
        else:
            self.reauthentication_failures += 1

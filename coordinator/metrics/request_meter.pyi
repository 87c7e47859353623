from typing import Final

TIME_BOUNDS_MS: Final[tuple[float, ...]]
"""Upper bounds of the histogram of request times, in ms, without +Inf."""

class RequestMeter:
    """What was answered, over all connections. Only compiled connections write it; all times are of answers."""

    def requests(self) -> list[tuple[int, int, int]]:
        """(API key, version, requests), for those that came."""
    def errors(self) -> list[tuple[int, int, int]]:
        """(API key, error code, how often), 0 (NONE) too."""
    def times(self) -> list[tuple[int, list[int], float]]:
        """(API key, requests in each range of TIME_BOUNDS_MS and above the last, sum of the times in ms)."""

class ListenerMeter:
    """What the connections of one listener did. `rejected`: connections that the server closed with a reason."""

    requests: RequestMeter
    created: int
    closed: int
    rejected: int
    bytes_in: int
    bytes_out: int

    def __init__(self, requests: RequestMeter) -> None: ...

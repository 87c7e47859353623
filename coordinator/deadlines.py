"""Deadlines from delays that a client or an operator chose. Imports nothing, and every layer may import it."""

from typing import Final

FAR_FUTURE_MS: Final = 2**62
"""No deadline is later, in ms since the epoch: half of int64, so that compiled code can add to one without overflow."""


def deadline_after(now_ms: int, delay_ms: int) -> int:
    """`delay_ms` after `now_ms`, at most FAR_FUTURE_MS: a delay in a setting or a message can be as large as 2^63-1."""
    return min(now_ms + delay_ms, FAR_FUTURE_MS)

"""Times and durations as Kafka's tools take them (ISO 8601)."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from coordinator.client.wire import ClientError

DURATION: Final = re.compile(
    r"P(?:(?P<days>\d{1,6})D)?(?:T(?:(?P<hours>\d{1,6})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9}(?:\.\d{1,3})?)S)?)?"
)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def time_ms(text: str) -> int:
    """ms since the epoch of a time such as 2026-11-26T08:00:00; without an offset it is UTC, as Kafka's tools have it.

    Raises:
        ClientError: it is no such time, or before 1970.
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ClientError(f"{text} is no time such as 2026-11-26T08:00:00 or 2026-11-26T08:00:00+01:00") from None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    if at < EPOCH:
        raise ClientError(f"{text} is before 1970")
    return (at - EPOCH) // timedelta(milliseconds=1)


def duration_ms(text: str) -> int:
    """ms of a duration such as PT1H30M or P7D.

    Raises:
        ClientError: it is no such duration.
    """
    found = DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        raise ClientError(f"{text} is no duration such as PT1H30M or P7D")
    parts = {name: float(value) for name, value in found.groupdict().items() if value is not None}
    return timedelta(**parts) // timedelta(milliseconds=1)

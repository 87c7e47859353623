"""The time of a line → ms since the epoch.

Brokers write local time without a zone. It is read in the zone that the caller names, or in that of this machine,
unless something around the line (a prefix of `kubectl logs --timestamps`, a field of Docker's) tells the exact time:
the difference between the two is then the zone.
"""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

ZONE_STEP_MS: Final = 15 * 60_000
"""Offsets of zones are multiples of it."""
DELAY_MAX_MS: Final = 2 * 60_000
"""How long after the broker has made a line another program may get it, for its time to tell the broker's zone."""
STEP_BACK_MS: Final = 1_000
CACHED_MAX: Final = 50_000
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)


class LocalTimes:
    """Times without a zone, of one file. The hour that comes twice in autumn is told by the order of the lines."""

    def __init__(self, zone: tzinfo | None) -> None:
        self._zone = zone
        self._minutes: dict[str, tuple[int, int]] = {}
        self._before_ms = -1

    def ms(self, day: str, clock: str, fraction_ms: int, *, is_next: bool = True) -> int:
        """Of `yyyy-MM-dd` and `HH:mm:ss`. Raises ValueError if there is no such time.

        `is_next`: it is that of the next line that is read, and not of one around it.
        """
        minute = f"{day} {clock[:5]}"
        first, second = self._minutes.get(minute) or self._read(minute)
        after_ms = int(clock[6:]) * 1000 + fraction_ms
        found = first + after_ms
        if first != second and found < self._before_ms - STEP_BACK_MS <= second + after_ms:
            found = second + after_ms
        if is_next:
            self._before_ms = found
        return found

    def _read(self, minute: str) -> tuple[int, int]:
        """The two times that the minute may mean. They differ only where clocks go back."""
        local = datetime.strptime(minute, "%Y-%m-%d %H:%M")
        if len(self._minutes) > CACHED_MAX:
            self._minutes.clear()
        both = (self._ms(local), self._ms(local.replace(fold=1)))
        self._minutes[minute] = both if both[0] < both[1] else (both[0], both[0])
        return self._minutes[minute]

    def _ms(self, local: datetime) -> int:
        aware = local.astimezone() if self._zone is None else local.replace(tzinfo=self._zone)
        return (aware - EPOCH) // _MS


def utc_ms(day: str, clock: str, fraction_ms: int = 0) -> int:
    """As if the time were in UTC. Raises ValueError."""
    return (datetime.fromisoformat(f"{day}T{clock}+00:00") - EPOCH) // _MS + fraction_ms


def offset_ms(zone: str) -> int:
    """Of `Z`, `+0200` or `+02:00`."""
    if zone == "Z":
        return 0
    digits = zone[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:] or 0)
    return (-minutes if zone[0] == "-" else minutes) * 60_000


def in_zone_of(exact_ms: int, as_utc_ms: int) -> int | None:
    """The exact time of a local one, if `exact_ms` is when another program got the line. None: it came too late."""
    shift_ms = round((exact_ms - as_utc_ms) / ZONE_STEP_MS) * ZONE_STEP_MS
    found = as_utc_ms + shift_ms
    return found if abs(exact_ms - found) <= DELAY_MAX_MS else None


def fraction_ms(digits: str | None) -> int:
    """Of the digits after the seconds: `7`, `007` or `007683114`."""
    return int(digits[:3].ljust(3, "0")) if digits else 0

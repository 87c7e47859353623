"""In which zone a log is written, by when its file was written last: at the time of its last line."""

from typing import Final

from coordinator.observe.logs.layouts import HEAD
from coordinator.observe.logs.log_files import LogFile
from coordinator.observe.logs.times import DELAY_MAX_MS, ZONE_STEP_MS, LocalTimes, fraction_ms
from coordinator.observe.logs.unwrapping import Unwrapping

ZONE_MAX_MS: Final = 15 * 3_600_000
AGREEING: Final = 3
"""So often in a row another zone has to be found to be believed: clocks go back in autumn, and lines can be forged."""
LAST_LINES: Final = 50


class ZoneByClock:
    """`shift_ms` is what is to be added to times that were read in the zone of this machine."""

    def __init__(self) -> None:
        self.shift_ms = 0
        self._is_found = False
        self._other: int | None = None
        self._votes = 0
        self._looked_at_ms = 0

    def new_file(self) -> None:
        self._looked_at_ms = 0

    def look(self, file: LogFile, data: bytes, unwrap: Unwrapping) -> None:
        """`data` is what was read of the file. Only where it was read to its end, its last line was written last."""
        mtime_ms = file.mtime_ms
        size = file.size
        if mtime_ms == self._looked_at_ms or size is None:
            return
        self._looked_at_ms = mtime_ms
        end = file.read(max(0, size - (64 << 10)), 64 << 10) or data
        found = _shift(end, unwrap, mtime_ms)
        if found is None or found == self.shift_ms:
            self._is_found, self._votes = self._is_found or found is not None, 0
            return
        self._votes = self._votes + 1 if found == self._other else 1
        self._other = found
        if not self._is_found or self._votes >= AGREEING:
            self.shift_ms, self._is_found, self._votes = found, True, 0


def _shift(end: bytes, unwrap: Unwrapping, mtime_ms: int) -> int | None:
    times = LocalTimes(None)
    for line in reversed(end.splitlines()[-LAST_LINES:]):
        head = HEAD.match(unwrap(line).text)
        if head is None:
            continue
        day, clock, fraction, zone = head.group("day", "clock", "fraction", "zone")
        if zone is not None:
            return None
        try:
            apart_ms = mtime_ms - times.ms(day, clock, fraction_ms(fraction))
        except ValueError:
            return None
        shift_ms = round(apart_ms / ZONE_STEP_MS) * ZONE_STEP_MS
        return shift_ms if abs(apart_ms - shift_ms) <= DELAY_MAX_MS and abs(shift_ms) <= ZONE_MAX_MS else None
    return None

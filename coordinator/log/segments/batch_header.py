"""Where the fields of a record batch lie in its header (DefaultRecordBatch.java)."""

from typing import Final

RECORD_FORMAT: Final = 2
OFFSET_BYTES: Final = 8
LENGTH_BYTES: Final = 4
LENGTH_END: Final = OFFSET_BYTES + LENGTH_BYTES
"""The part of a header that determines where the batch ends."""
MAGIC_POSITION: Final = 16
DELTA_POSITION: Final = 23
HEAD_BYTES: Final = 27
"""The part of a header up to the end of its last offset delta."""
TIMESTAMP_BYTES: Final = 8
TIMESTAMPS_END: Final = 43
"""The part of a header up to the end of its largest timestamp."""
"""The largest distance of an offset from the base offset of its segment."""

"""The rows that a batch adds to the tables."""

from typing import Any, Final

from coordinator.audit.schema import AuditEvent
from coordinator.pipeline.columns import TABLES
from coordinator.pipeline.names import COMMITS, OWNERSHIP, SILVER
from coordinator.pipeline.row_columns import RowColumns

BY_COLUMN: Final = frozenset({SILVER, OWNERSHIP, COMMITS})
"""Tables with about as many rows as there are events: their rows never exist as objects of Python."""


Row = dict[str, Any]


class NewRows(dict[str, Any]):
    """Table → its new rows: `RowColumns` of the tables BY_COLUMN, a list of dicts of the others."""

    def __missing__(self, table: str) -> Any:
        rows: Any = RowColumns(TABLES[table]) if table in BY_COLUMN else []
        self[table] = rows
        return rows


def head(event: AuditEvent) -> Row:
    """The columns that the rows of most tables begin with."""
    return {
        "group_id": event.group_id,
        "created_seq": event.created_seq,
        "seq": event.seq,
        "time_ms": event.time_ms,
        "generation_id": event.generation_id,
    }

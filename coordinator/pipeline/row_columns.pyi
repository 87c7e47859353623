from collections.abc import Mapping
from typing import Any, final

import pyarrow as pa

@final
class RowColumns:
    """The rows of a table, kept by column.

    A number that does not fit its column, and a value of another type than a number in a column of numbers, are null.
    Text is what it is; bytes that are no UTF-8 and halves of surrogate pairs have `�` or `?` in their places, and what
    is no text is its JSON.
    """

    def __init__(self, schema: pa.Schema, array_bytes_max: int = 2**31 - 1) -> None:
        """Columns may have strings, bytes, int64, int32, truth values, and times in µs.

        A column of more text than `array_bytes_max` becomes several arrays of Arrow, each of at least one value.

        Raises:
            TypeError: a column has another type.
        """

    def __len__(self) -> int: ...
    def append(self, row: tuple[Any, ...] | Mapping[str, Any]) -> None:
        """Add a row: values in the order of the columns, or a dict, in which what is null may be missing.

        Times are in ms since the epoch; a dict has them under the name of the column with `_ms` in place of `_at`.

        Raises:
            ValueError: a tuple has another number of values than there are columns.
        """

    def table(self) -> pa.Table:
        """Return the rows as Arrow. Nothing may be appended after that."""

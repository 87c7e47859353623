"""The table of the operations of the transaction coordinator, by name."""

from typing import Final

from coordinator.core.operation import Operation
from coordinator.core.transactions import admin, end, initialization, partitions

INIT_PRODUCER_ID: Final = Operation(
    "InitProducerId", initialization.initialize, initialization.error_response, initialization.prepare
)
ADD_PARTITIONS: Final = Operation("add partitions", partitions.add, partitions.error_response)
END_TXN: Final = Operation("EndTxn", end.end, end.error_response, end.prepare_end)
DESCRIBE_TRANSACTIONS: Final = Operation("DescribeTransactions", admin.describe, admin.describe_error)
COMPLETE: Final = Operation("complete", end.complete)
ABORT_TIMED_OUT: Final = Operation("abort timed out", end.abort_timed_out)
EXPIRE: Final = Operation("expire transactional id", end.expire)

OPERATIONS: Final[dict[str, Operation]] = {
    value.name: value for value in list(globals().values()) if isinstance(value, Operation)
}
"""Operation name → operation."""

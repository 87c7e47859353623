"""The table of the operations of the share coordinator, by name."""

from typing import Final

from coordinator.core.operation import Operation
from coordinator.core.share_state import decisions
from coordinator.core.share_state.requests import error_response

INITIALIZE: Final = Operation("initialize share state", decisions.initialize, error_response)
WRITE: Final = Operation("write share state", decisions.write, error_response)
READ: Final = Operation("read share state", decisions.read, error_response)
SUMMARIZE: Final = Operation("summarize share state", decisions.summarize, error_response)
DELETE: Final = Operation("delete share state", decisions.delete, error_response)
FORGET: Final = Operation("forget share state", decisions.forget)
COPY_IF_COLD: Final = Operation("copy cold share state", decisions.copy_if_cold)

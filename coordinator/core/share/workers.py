"""The names of the work that share groups have done beside their requests (`core/groups/background_work.py`)."""

from typing import Final

INITIALIZE_STATES: Final = "initialize states"
"""The request is an `InitializationRequest`."""
COMPUTE_SHARE_TARGET: Final = "compute share target"
"""The request is the event `ShareTargetStarted`."""

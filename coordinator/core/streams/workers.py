"""The names of the work that streams groups have done beside their requests (`core/groups/background_work.py`)."""

from typing import Final

CREATE_INTERNAL_TOPICS: Final = "create internal topics"
"""The request is an `InternalTopicsRequest`."""
COMPUTE_STREAMS_TARGET: Final = "compute streams target"
"""The request is the event `StreamsTargetStarted`."""
RESUME_LOADED_STREAMS: Final = "resume loaded streams group"
"""The request is None."""

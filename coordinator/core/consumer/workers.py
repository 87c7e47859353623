"""The names of the work that consumer groups have done beside their requests (`core/groups/background_work.py`)."""

from typing import Final

RESOLVE_PATTERNS: Final = "resolve patterns"
"""The request is the event `PatternResolutionStarted`."""
COMPUTE_TARGET: Final = "compute target"
"""The request is the event `TargetComputationStarted`."""
RESUME_LOADED: Final = "resume loaded"
"""Members of a loaded group get new time to give up partitions. There is no request."""

from typing import Any

def attribute(path: str) -> Any:
    """What `path` (names joined by dots) leads to from the object; it cannot be set."""

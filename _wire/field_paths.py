"""Finds the array elements that contain a malformed field. Used only after decoding has failed.

A decoder fills its message from front to back, and an array's elements are None until their turn: the element that was
being read is the last one that is there.
"""

from bisect import bisect_left
from sys import intern
from typing import Any


def with_indexes(message: Any, field: str) -> str:
    """`topics.partitions.index` as the generated code names it → `topics[2].partitions[0].index`.

    A struct that a definition uses in several places is named by its kind (`Cursor.topic_name`), and found.
    """
    steps = [
        intern(step) for step in field.split(".")
    ]  # CPython's cache of attributes keeps the names it was asked for
    path, struct = "", message
    if steps[0][:1].isupper():
        path, struct = _newest(message, steps.pop(0))
    for name in steps[:-1]:
        value = getattr(struct, name)
        path, struct = f"{path}{name}{_index(value)}.", _last(value)
    elements = getattr(struct, steps[-1], None)
    index = f"[{_begun(elements)}]" if isinstance(elements, list) else ""  # of no structs: there once it was read
    return f"{path}{steps[-1]}{index}"


def _begun(elements: list[Any]) -> int:
    return bisect_left(elements, True, key=lambda element: element is None)


def _index(value: Any) -> str:
    return f"[{_begun(value) - 1}]" if isinstance(value, list) else ""


def _last(value: Any) -> Any:
    return value[_begun(value) - 1] if isinstance(value, list) and value else value


def _newest(struct: Any, kind: str) -> tuple[str, Any]:
    """(path, struct) of the last struct of that kind that was started; (`kind.`, None) if there is none."""
    if type(struct).__name__ == kind:
        return "", struct
    for name in reversed(struct.FIELDS):
        value = getattr(struct, name)
        if hasattr(_last(value), "FIELDS"):
            path, found = _newest(_last(value), kind)
            if found is not None:
                return f"{name}{_index(value)}.{path}", found
    return f"{kind}.", None

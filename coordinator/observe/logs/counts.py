"""What of a file could not be read."""

from collections.abc import Iterator


class Counts:
    """How many lines each defect has, with the first one."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[int, int]] = {}

    def add(self, what: str, line: int) -> None:
        first, number = self._first.get(what, (line, 0))
        self._first[what] = (first, number + 1)

    def notes(self, name: str) -> Iterator[str]:
        for what, (line, number) in self._first.items():
            yield f"{name}: {what}: {number} (first: line {line})"

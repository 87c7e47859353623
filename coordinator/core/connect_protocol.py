"""The assignment of a worker of Kafka Connect, as its leader encodes it (ConnectProtocol, IncrementalCooperative)."""

import struct
from typing import Final

import msgspec

CONNECT_PROTOCOL_TYPE: Final = "connect"
CONNECTOR: Final = -1
"""The number among its tasks that stands for the connector itself."""
OF_REVOCATIONS: Final = 1
"""The first version with revocations and a delay (KIP-415)."""


class UnreadableAssignment(ValueError):
    """The bytes are none of a worker's assignment."""


class WorkerAssignment(msgspec.Struct, frozen=True):
    """What a worker runs, and what it was to give up: connector → numbers of its tasks, ascending."""

    connectors: tuple[str, ...]
    tasks: dict[str, list[int]]
    revoked: dict[str, list[int]]
    """With `CONNECTOR` for the connector itself."""
    config_offset: int
    """Up to where the leader had read the topic of the configurations."""
    delay_ms: int
    """How long the leader waits for workers that went, until it gives what they ran to others."""
    leader: str


def decode_worker_assignment(data: bytes) -> WorkerAssignment:
    """Read the assignment of a worker; empty bytes assign nothing.

    Raises:
        UnreadableAssignment: the bytes are no assignment.
    """
    if not data:
        return WorkerAssignment((), {}, {}, -1, 0, "")
    reader = _Reader(data)
    version = reader.number(">h")
    reader.number(">h")  # the error, which the group's members have seen
    leader = reader.text()
    reader.text()  # its address
    config_offset = reader.number(">q")
    assigned = reader.tasks()
    revoked, delay_ms = (reader.tasks(), reader.number(">i")) if version >= OF_REVOCATIONS else ({}, 0)
    connectors = tuple(sorted(each for each, numbers in assigned.items() if CONNECTOR in numbers))
    tasks = {each: own for each, numbers in assigned.items() if (own := [one for one in numbers if one != CONNECTOR])}
    return WorkerAssignment(connectors, tasks, revoked, config_offset, delay_ms, leader)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, form: str) -> int:
        try:
            (value,) = struct.unpack_from(form, self._data, self._at)
        except struct.error as problem:
            raise UnreadableAssignment("it ends too early") from problem
        self._at += struct.calcsize(form)
        return int(value)

    def text(self) -> str:
        """A string; null is none."""
        size = max(0, self.number(">h"))
        data = self._data[self._at : self._at + size]
        self._at += size
        if len(data) < size:
            raise UnreadableAssignment("it ends too early")
        try:
            return data.decode()
        except UnicodeDecodeError as problem:
            raise UnreadableAssignment("a name is no UTF-8") from problem

    def tasks(self) -> dict[str, list[int]]:
        """Connector → numbers. Each entry takes bytes, so a count that is too large ends with the bytes."""
        found: dict[str, list[int]] = {}
        for _ in range(self.number(">i")):
            own = found.setdefault(self.text(), [])
            own.extend(self.number(">i") for _ in range(self.number(">i")))
        return {name: sorted(own) for name, own in sorted(found.items())}

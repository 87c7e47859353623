"""Stock kafka-python consumers for the tests of the test kit, each polled by a thread of its own."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.members import Member, stop_all


@contextmanager
def consumers(bootstrap: str, topic: str, group_id: str, count: int = 1, **settings: object) -> Iterator[list[Member]]:
    """So many members, which join together and are closed at the end."""
    members = [
        Member(bootstrap, topic, group_id, client_id=f"{group_id}-{each}", **settings)  # type: ignore[arg-type]
        for each in range(1, count + 1)
    ]
    try:
        yield members
    finally:
        stop_all(member for member in members if member.is_alive())

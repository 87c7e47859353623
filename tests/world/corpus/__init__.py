"""Small histories in which something was told that was not so, by what they are about: each is one kind of fault."""

from typing import Final

from tests.world.corpus import (
    assignors,
    connections,
    consumer_groups,
    full_disks,
    full_groups,
    members,
    patterns,
    pauses,
    rejections,
    restarted_clients,
    restarts,
    static_members,
    takeovers,
    topics,
)
from tests.world.history import History

MODULES: Final = (
    assignors,
    connections,
    consumer_groups,
    full_disks,
    full_groups,
    members,
    patterns,
    pauses,
    rejections,
    restarted_clients,
    restarts,
    static_members,
    takeovers,
    topics,
)


def _all() -> dict[str, History]:
    found: dict[str, History] = {}
    for module in MODULES:
        assert not found.keys() & module.FOUND.keys(), "two histories of one name"
        found |= module.FOUND
    return found


FOUND: Final = _all()

"""Partitions that other nodes may take over at any time."""

from collections.abc import Callable

import msgspec

from coordinator.groups.state_machine import GroupStateMachine
from coordinator.runtime.shard import Shard


class SharedPartitions(msgspec.Struct, frozen=True, kw_only=True):
    """What a coordinator asks before it serves a partition, and does when it gives one up."""

    may_lead: Callable[[int], bool]
    """Whether this node leads a partition. A load that failed is not tried again where another node does."""
    unload: Callable[[Shard[GroupStateMachine], Callable[[], None]], None]
    """(shard, proceed): does what is to be done around `proceed`, which unloads the shard."""

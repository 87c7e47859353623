"""The row of a protocol: by what its groups are explained in another way than others. The rows are in `table.py`."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from coordinator.explain.claims.causes import Change
from coordinator.explain.claims.course import Took
from coordinator.explain.claims.endings import InProgress, Superseded
from coordinator.explain.words import Names


class Waits(msgspec.Struct, frozen=True):
    """A time that members take in a rebalance, as a column of a table."""

    title: str
    ms_of: Callable[[Any], int | None]
    """The part of a member in a generation (`MemberPart`) → the time; None: not known."""


class Protocol(msgspec.Struct, frozen=True):
    """A group protocol, named as ListGroups names the type of its groups."""

    name: str

    # ---- how its groups rebalance

    has_epochs: bool
    """A generation is a group epoch: it rises when the rebalance begins, and members get to its target one by one, and
    keep until then what they have. Otherwise a generation begins when its members are known."""
    joins_again: bool
    """All members send JoinGroup in each rebalance, which waits for them."""
    stores_steps: bool
    """A rebalance goes on after a load of its group."""
    gives_reasons: bool
    """Members may say why they leave or join."""
    has_client_assignors: bool
    """Members choose the assignor, which one of them runs."""

    # ---- words

    generation_name: str
    """What the number of a generation is called."""
    request_number: str
    """What the number that requests of members name is called."""
    session_timeout: str
    """The setting of the session timeout."""
    last_assignment: str
    """Since when changes of topics count."""
    same_topics: Change
    """What a member changed that says something else about the same topics."""
    changed_subscriptions: str | None
    """What several members did that changed their subscriptions; None: it depends on the change."""
    was_late: str
    """What a member did that was removed as it was too slow."""
    nothing_assigned: str
    moved_without_need: str
    """What is added to partitions that moved when it is not known how many had to."""
    cannot_share: Callable[[str], str]
    """Assignors that a client offers → why it cannot join when the group is not known to have an assignor."""

    # ---- waits and paragraphs

    waits: tuple[Waits, ...]
    took: Callable[[Took], str]
    """How long a rebalance of more than a moment took, with its parts."""
    superseded: Callable[[Superseded, str, Names], Iterator[str]]
    """(claim, ` after 2 s` or nothing, names)."""
    in_progress: Callable[[InProgress, Names], str]

    def generation(self, generation_id: int) -> str:
        """`generation 7`, or `group epoch 7`."""
        return f"{self.generation_name} {generation_id}"

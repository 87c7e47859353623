"""How a rebalance ended, or that it has not."""

from coordinator.audit.schema import MemberRef
from coordinator.explain.claims.claim import Claim


class Stable(Claim, frozen=True):
    """The generation was stable at this time: all had their assignments."""

    at_ms: int | None = None


class Superseded(Claim, frozen=True):
    """The next rebalance began before this one was stable."""

    after_ms: int | None = None
    is_epoch: bool = False
    had_target: bool = True
    """Its target assignment was computed (KIP-848)."""
    target_later_ms: int | None = None
    """How long after that its target was computed, for members to reconcile with."""
    never_synced: tuple[MemberRef, ...] = ()


class Converted(Claim, frozen=True):
    """The group became one of another type before it was stable."""

    group_type: str
    at_ms: int | None = None


class Emptied(Claim, frozen=True):
    """The last member was gone."""

    at_ms: int | None = None


class CutShort(Claim, frozen=True):
    """The coordinator loaded the group again, and what the rebalance had reached was lost."""

    at_ms: int | None = None
    is_void: bool = False
    """It had been stable, and was not stored."""


class InProgress(Claim, frozen=True):
    """It is not over. `waits_for`: who has to join, where it is the join phase."""

    is_epoch: bool = False
    has_started: bool = False
    """All have joined; in a consumer group: the target assignment was computed."""
    waits_for: tuple[MemberRef, ...] = ()
    is_ready: bool = True
    """False: a streams group whose topology cannot run, as its topics are not those that it needs (NotReady)."""
    topology_status: str = ""
    """Why it cannot, as in `streams.topology`; empty: that has not been told."""
    topics: tuple[str, ...] = ()
    """Those that are missing or have the wrong number of partitions, as far as they are named."""
    unnamed_topics: int = 0


class EndUnknown(Claim, frozen=True):
    """How it ended is not among the events."""


class CameBackWithOtherTopics(Claim, frozen=True):
    """A static member came back with another subscription, and got what it had (KIP-345)."""

    member: MemberRef
    at_ms: int
    topics_before: tuple[str, ...]
    topics_now: tuple[str, ...]
    unowned: tuple[str, ...] = ()
    """Topics that it subscribes to now and that nobody owns until the next rebalance."""


class EventsMissing(Claim, frozen=True):
    """Some events of the rebalance are missing, so this may not be all."""

"""The protocol of consumer groups (KIP-848): ConsumerGroupHeartbeat."""

from collections.abc import Iterator
from typing import Final

from coordinator.explain.claims.causes import Change
from coordinator.explain.claims.course import Took
from coordinator.explain.claims.endings import InProgress, Superseded
from coordinator.explain.protocols.protocol import Protocol, Waits
from coordinator.explain.words import Names, duration


def _took(claim: Took) -> str:
    count, join, sync = claim.member_count, duration(claim.join_ms), duration(claim.sync_ms)
    whole = {1: "its one member", 2: "both members"}.get(count, f"all {count:,} members")
    text = f"It took {duration(claim.join_ms + claim.sync_ms)}"
    return f"{text}: {join} until the target assignment was computed, {sync} more until {whole} had it."


def _superseded(claim: Superseded, took: str, names: Names) -> Iterator[str]:
    text = f"It never became stable:{took} the group epoch rose again before"
    if claim.had_target:
        yield f"{text} all members had their assignments."
        return
    yield f"{text} its target assignment was computed."
    if claim.target_later_ms is not None:
        later = duration(claim.target_later_ms)
        yield f"That came {later} later, for members to reconcile with until a newer one is there."


def _in_progress(claim: InProgress, names: Names) -> str:
    if claim.has_started:
        return "It is still in progress: not all members have their assignments."
    return (
        "It is still in progress: a heartbeat of a member computes its target assignment, once the assignment"
        " interval since the last one is over."
    )


def _cannot_share(offered: str) -> str:
    return (
        f"the group is a consumer group (KIP-848), and a client of the classic protocol that offers {offered}"
        " cannot be a member of it"
    )


CONSUMER: Final = Protocol(
    name="consumer",
    has_epochs=True,
    joins_again=False,
    stores_steps=True,
    gives_reasons=False,
    has_client_assignors=False,
    generation_name="group epoch",
    request_number="member epoch",
    session_timeout="consumer.session.timeout.ms of the group",
    last_assignment="the last target assignment",
    same_topics=Change.PATTERN,
    changed_subscriptions="changed their subscriptions",
    was_late="kept its partitions",
    nothing_assigned="Its target assigns no partitions.",
    moved_without_need="",
    cannot_share=_cannot_share,
    waits=(Waits("reconciled after", lambda part: part.sync_ms),),
    took=_took,
    superseded=_superseded,
    in_progress=_in_progress,
)

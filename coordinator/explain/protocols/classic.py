"""The classic protocol of JoinGroup and SyncGroup."""

from collections.abc import Iterator
from typing import Final

from coordinator.explain.claims.causes import Change
from coordinator.explain.claims.course import Took
from coordinator.explain.claims.endings import InProgress, Superseded
from coordinator.explain.protocols.protocol import Protocol, Waits
from coordinator.explain.words import BRIEF_MS, Names, duration


def _took(claim: Took) -> str:
    count, join, sync = claim.member_count, duration(claim.join_ms), duration(claim.sync_ms)
    text = f"It took {duration(claim.join_ms + claim.sync_ms)}"
    stored = f"{sync} more until the leader's assignment was stored."
    if claim.waited_for_more:
        waited = "in which the group, which was empty, waited for further members (group.initial.rebalance.delay.ms)"
        return f"{text}, {waited}." if claim.sync_ms < BRIEF_MS else f"{text}: {join} {waited}, {stored}"
    joined = {1: "its one member joined", 2: "both members had joined"}.get(count, f"all {count:,} members had joined")
    return f"{text}: {join} until {joined}, {stored}"


def _superseded(claim: Superseded, took: str, names: Names) -> Iterator[str]:
    yield f"It never became stable:{took} the next rebalance began before its assignment was stored."
    if claim.never_synced:
        yield f"{names.listed(claim.never_synced)} had not sent SyncGroup."


def _in_progress(claim: InProgress, names: Names) -> str:
    if claim.has_started:
        return "It is still in progress: the leader's assignment has not come yet."
    waits = f", and waits for {names.listed(claim.waits_for)} to join" if claim.waits_for else ""
    return f"It is still in progress{waits}."


CLASSIC: Final = Protocol(
    name="classic",
    has_epochs=False,
    joins_again=True,
    stores_steps=False,
    gives_reasons=True,
    has_client_assignors=True,
    generation_name="generation",
    request_number="generation",
    session_timeout="session.timeout.ms",
    last_assignment="the generation before",
    same_topics=Change.PROTOCOLS,
    changed_subscriptions=None,
    was_late="did not rejoin",
    nothing_assigned="Its leader assigned no partitions: there are none, or it does not know them yet.",
    moved_without_need="; how many of them had to is unknown",
    cannot_share=lambda offered: f"it offers {offered}, and no assignor is common to all members",
    waits=(
        Waits("joined after", lambda part: part.join_ms),
        Waits("synced after", lambda part: part.sync_ms),
    ),
    took=_took,
    superseded=_superseded,
    in_progress=_in_progress,
)

"""What is told of groups of real brokers: each recorded case by records alone, by logs alone, and by both."""

import re
from collections import defaultdict
from typing import Final

import pytest

from coordinator.core.causes import Cause, InferredCause
from coordinator.explain.makers.generation import claims_of
from coordinator.explain.story import story_of
from coordinator.explain.words import utc_clock
from coordinator.observe.history import ObservedHistory
from tests.observe.observing import BOTH, LOGS, RECORDS, SOURCES, observed, statements_of
from tests.observe.recordings import Recording, Truth, recordings

GONE: Final = frozenset({Cause.MEMBER_LEFT, Cause.SESSION_EXPIRED, Cause.REBALANCE_TIMEOUT, Cause.SYNC_TIMEOUT})
ANOTHER_WAY: Final = frozenset({Cause.METADATA_CHANGED, Cause.MEMBER_REJOINED, Cause.LEADER_REJOINED})
LEAVES_OPEN: Final[dict[str, frozenset[str]]] = {
    InferredCause.MEMBER_LEFT_OR_EXPIRED: GONE,
    InferredCause.STATIC_REPLACED_OR_BACK: frozenset({Cause.STATIC_REPLACED, Cause.NEW_MEMBER}),
    InferredCause.REJOINED_OR_CHANGED: ANOTHER_WAY,
    InferredCause.LEADER_REJOINED_OR_CHANGED: ANOTHER_WAY,
    InferredCause.TOPICS_OR_SUBSCRIPTION_CHANGED: frozenset({Cause.METADATA_CHANGED, Cause.TOPICS_CHANGED}),
}
"""What is true of a member whose cause is not decided."""

ADDITIONAL: Final = frozenset({Cause.NEW_MEMBER, Cause.TOPICS_CHANGED, Cause.MEMBER_LEFT, Cause.METADATA_CHANGED})
"""Beside what the driver of a recording did: clients that come back, helpers that leave, topics that become known."""

GROUPS: Final = {
    f"{recording.name}-{number}": (recording, group)
    for recording in recordings()
    for number, group in enumerate(recording.groups)
}
CASES: Final = [pytest.param(*values, id=name) for name, values in GROUPS.items()]


def truths(recording: Recording, group: str) -> list[Truth]:
    """What was done to members of the group that have an id, and led to a rebalance."""
    return [
        each
        for each in recording.truth
        if (each.group or recording.groups[0]) == group and each.rebalances and each.member_id is not None
    ]


def told(history: ObservedHistory) -> dict[str | None, set[str]]:
    """Member id → the causes that are told of it."""
    found: dict[str | None, set[str]] = defaultdict(set)
    for generation in history.generations:
        for trigger in generation.triggers:
            if trigger.member is not None:
                found[trigger.member.member_id].add(str(trigger.cause))
        for removal in generation.changes.removed:
            found[removal.member.member_id].add(str(removal.cause))
    for conversion in history.conversions:
        for departed in conversion.departed:
            found[departed.member.member_id].add(str(departed.cause))
    for removal in history.pending_changes.removed:
        found[removal.member.member_id].add(str(removal.cause))
    return found


def is_left_open(truth: Truth, causes: set[str]) -> bool:
    return any(truth.cause in LEAVES_OPEN.get(cause, ()) for cause in causes)


@pytest.mark.parametrize(("recording", "group"), CASES)
def test_what_happened_is_told_by_lines_and_records_together(recording: Recording, group: str):
    found = told(observed(recording, group, BOTH))
    for truth in truths(recording, group):
        assert truth.cause in found[truth.member_id], (truth, found[truth.member_id])


@pytest.mark.parametrize(("recording", "group"), CASES)
def test_by_lines_alone_it_is_told_or_left_open(recording: Recording, group: str):
    """Lines that may be forged are left out where no record confirms them."""
    found = told(observed(recording, group, LOGS))
    has_doubts = any(statement.is_doubtful for statement in statements_of(recording, group))
    for truth in truths(recording, group):
        if truth.line_seen is not False and not has_doubts:
            # Of a topic that appears, the member that notices it first joins again.
            of_any = truth.fields.get("topic_change") or False
            causes = set().union(*found.values()) if of_any else found[truth.member_id]
            assert truth.cause in causes or is_left_open(truth, causes), (truth, causes)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("recording", "group"), CASES)
def test_nothing_else_is_told(recording: Recording, group: str, source: str):
    """A member that went is told as what it did, or as gone: never as something that it did not do."""
    happened: dict[str | None, set[str]] = defaultdict(set)
    for each in (*recording.truth, *_unplanned(recording)):
        happened[each.member_id].add(each.cause)
    for generation in observed(recording, group, source).generations:
        for trigger in generation.triggers:
            if trigger.at_ms > recording.fields["end_ms"] or isinstance(trigger.cause, InferredCause):
                continue
            member_id = None if trigger.member is None else trigger.member.member_id
            known = happened[member_id] | happened[None]
            if not happened[member_id] or trigger.cause in ADDITIONAL:
                continue
            assert str(trigger.cause) in known, (trigger, known)


def _unplanned(recording: Recording) -> list[Truth]:
    return [
        Truth(field["at_ms"], field["cause"], None, field.get("member_id"), None, True, True, None, field)
        for field in recording.fields.get("unplanned") or ()
    ]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("recording", "group"), CASES)
def test_each_story_can_be_told_and_names_its_evidence(recording: Recording, group: str, source: str):
    history = observed(recording, group, source)
    for generation in history.generations:
        story = story_of(history, generation, utc_clock)
        assert not re.search(r"\bNone\b(?! of)", " ".join((story.headline, *story.paragraphs)))
        for claim in claims_of(history, generation).all():
            if claim.evidence.events:
                assert history.places_of(claim), claim


@pytest.mark.parametrize(("recording", "group"), CASES)
def test_records_alone_say_neither_why_a_member_went_nor_when_a_rebalance_of_a_classic_group_began(
    recording: Recording, group: str
):
    for generation in observed(recording, group, RECORDS).generations:
        assert not GONE & {trigger.cause for trigger in generation.triggers}
        assert generation.is_epoch or generation.join_ms is None


def test_lines_of_a_consumer_group_do_not_tell_whether_its_epochs_became_stable():
    history = observed(_recording("k_deleted/4.3.1-consumer"), "g-k_deleted", LOGS)
    (first, _) = history.generations
    story = " ".join(story_of(history, first, utc_clock).paragraphs)
    assert "How it ended is not among the events." in story and "never became stable" not in story


def test_a_share_group_is_one_and_its_epochs_are_not_explained_by_guesses():
    """Its epoch also rises when the state of its partitions is there."""
    recording = _recording("k_share/4.3.1-consumer")
    history = observed(recording, recording.groups[0], LOGS)
    assert history.group_type == "share"
    assert [generation.cause for generation in history.generations] == [Cause.NEW_MEMBER, None]


def test_a_client_that_never_joined_is_not_told_as_a_member_that_left():
    recording = _recording("pending_never_joined/4.3.1-classic")
    history = observed(recording, recording.groups[0], BOTH)
    assert history.generations[1].cause is InferredCause.PENDING_MEMBER_LEFT
    assert not any(each.member.member_id.startswith("never-") for each in history.generations[1].changes.removed)


def _recording(name: str) -> Recording:
    (found,) = [recording for recording in recordings() if recording.name == name]
    return found


@pytest.mark.parametrize("source", [LOGS, BOTH])
@pytest.mark.parametrize("version", ["2.8.2-classic", "3.9.1-classic", "4.3.1-classic"])
def test_a_line_says_that_an_administrator_deleted_the_group(version: str, source: str):
    history = observed(_recording(f"group_deleted/{version}"), "g-group_deleted", source)
    assert [removal.cause for removal in history.removals] == [Cause.ADMIN]
    assert observed(_recording(f"group_deleted/{version}"), "g-group_deleted", RECORDS).removals[0].cause is (
        Cause.GROUP_REMOVED
    )

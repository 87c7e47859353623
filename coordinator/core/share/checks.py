"""What holds for every share group after every step (`groups/checked.py`)."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from coordinator.core.groups.kind import DerivedField, KindChecks
from coordinator.core.groups.states import STABLE
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.states import LEGAL_PREDECESSORS


def durable_part(group: ShareGroup) -> tuple[object, ...]:
    """What the records keep of a group."""
    members = {
        member.member_id: (member.metadata, member.current, group.target(member.member_id))
        for member in group.members.values()
    }
    epochs = group.epoch, group.metadata_hash, group.target_epoch, group.target_computed_ms
    return group.state, *epochs, members, group.states, group.has_stored_states


def derived_fields(group: ShareGroup) -> Iterator[DerivedField]:
    """The fields that follow from others."""
    subscriptions = Counter(member.metadata.topics for member in group.members.values())
    names = Counter(topic for topics in subscriptions for topic in topics)
    yield DerivedField("state", group.state is STABLE, bool(group.members))
    yield DerivedField("subscriptions by name", group.named_topics.subscriptions, dict(subscriptions))
    yield DerivedField("named topics", group.named_topics.counts, dict(names))
    reached = sum(member.current.epoch == group.target_epoch for member in group.members.values())
    yield DerivedField("members at the target epoch", group.reached_count, reached)
    yield DerivedField("targets of nobody", group.targets.keys() - group.members.keys(), set())
    timed = group.initializing_since_ms.keys() - group.states.initializing.keys()
    yield DerivedField("times of topics that are not being initialized", timed, set())


CHECKS: Final = KindChecks(
    legal_predecessors=LEGAL_PREDECESSORS, durable_part=durable_part, derived_fields=derived_fields
)

"""What Kafka 4.3.1 does otherwise on purpose of ours (docs/decisions/010), or by chance: a history ends there."""

import re
from collections.abc import Sequence
from typing import Any, Final

from tests.differential.share_groups.steps import Step, place_of

UNKNOWN_SERVER_ERROR: Final = -1
CHANGES: Final = "change_topic"
MANY_LOCKS: Final = "locks that end together are stored one by one, with the start that holds by then"
UNKNOWN_TOPIC: Final = "a topic id without a name fails the whole ShareFetch"
OF_DELETED_TOPICS: Final = "how many partitions of a deleted topic each member had depends on the ids of topics"
"""Each server makes its own: two playings on one server differ as well. The next heartbeat shares out what is left."""
NOTHING_IN_FLIGHT: Final = "what is acknowledged around the start, with nothing in flight, fails the whole request"
"""A null pointer in `SharePartition.fetchSubMapForAcknowledgementBatch`; here it is an invalid state."""
RELEASED_AT_ONCE: Final = "a ShareFetch may get what it releases itself, if Kafka has stored that before it looks"
STILL_LOADING: Final = "a share partition that is still being loaded is left out"
RELEASE: Final = 2
COUNT_OF_MEMBER: Final = re.compile(r"state\.group\.members\.\w+: (\[\d+, \[.*\], )\d+\] ≠ \1\d+\]")
"""A member that has another number of partitions, and is the same in all else."""
OF_RECORDS: Final = re.compile(r"answer\.places\.(?P<place>\w+:\d+)(: None ≠ |\.acquired: |\.batches: )")
"""What was fetched of a place is different."""


def defect_of(step: Step, kafka: Any, steps: Sequence[Step], found: Sequence[str]) -> str:
    """Why the two may differ after `step`, the last one of `steps`; empty: they must not."""
    if step.kind == "wait" and all(each.startswith(("state.offsets", "state.stored")) for each in found):
        return MANY_LOCKS
    is_deleted = any(each.kind == CHANGES and not each.arguments["partitions"] for each in steps)
    if is_deleted and all(COUNT_OF_MEMBER.fullmatch(each) for each in found):
        return OF_DELETED_TOPICS
    if step.kind == "fetch" and (place := _place_of_all(found)):
        if any(RELEASE in types for _, _, types in step.arguments["adds"].get(place, ())):
            return RELEASED_AT_ONCE
        is_first = not any(place in each.arguments["adds"] for each in steps[:-1] if each.kind == "fetch")
        if is_first and kafka["places"].get(place) is None:
            return STILL_LOADING
    if step.kind == "acknowledge" and kafka["error"] == UNKNOWN_SERVER_ERROR:
        return NOTHING_IN_FLIGHT
    if step.kind == "fetch" and kafka["error"] == UNKNOWN_SERVER_ERROR:
        partitions = {each.arguments["topic"]: each.arguments["partitions"] for each in steps if each.kind == CHANGES}
        member = step.arguments["member"]
        named = [
            place_of(place)
            for each in steps
            if each.kind == "fetch" and each.arguments["member"] == member
            for place in each.arguments["adds"]
        ]
        return UNKNOWN_TOPIC if any(not partitions.get(topic) for topic, _ in named) else ""
    return ""


def _place_of_all(found: Sequence[str]) -> str:
    """The place of whose records alone the answers tell other things; empty: they differ elsewhere, too."""
    places = {match["place"] if (match := OF_RECORDS.match(each)) is not None else "" for each in found}
    return places.pop() if len(places) == 1 else ""

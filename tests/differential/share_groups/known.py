"""What Kafka 4.3.1 does otherwise on purpose of ours (docs/decisions/010), or by chance: a history ends there."""

from collections.abc import Sequence
from typing import Any, Final

from tests.differential.share_groups.steps import Step, place_of

UNKNOWN_SERVER_ERROR: Final = -1
CHANGES: Final = "change_topic"
MANY_LOCKS: Final = "locks that end together are stored one by one, with the start that holds by then"
UNKNOWN_TOPIC: Final = "a topic id without a name fails the whole ShareFetch"


def defect_of(step: Step, kafka: Any, steps: Sequence[Step], found: Sequence[str]) -> str:
    """Why the two may differ after `step`, the last one of `steps`; empty: they must not."""
    if step.kind == "wait" and all(each.startswith(("state.offsets", "state.stored")) for each in found):
        return MANY_LOCKS
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

"""`uniform`: partitions are spread as evenly as can be, and members keep what they have where that is possible."""

from collections.abc import Generator, Mapping, Sequence

from coordinator.core.consumer.assignors import uniform_heterogeneous, uniform_homogeneous
from coordinator.core.consumer.assignors.model import Subscriber, Target


def steps(
    members: Sequence[Subscriber], topics: Mapping[bytes, int], is_homogeneous: bool
) -> Generator[None, None, Target]:
    """Assign in steps; see `AssignmentSteps`."""
    if not is_homogeneous:
        return uniform_heterogeneous.steps(list(members), topics)
    subscribed = members[0].topics if members else frozenset()
    return uniform_homogeneous.steps(
        list(members), {topic_id: count for topic_id, count in topics.items() if topic_id in subscribed}
    )

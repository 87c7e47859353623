from collections.abc import Generator, Mapping, Sequence

from coordinator.core.consumer.assignors.model import Subscriber, Target

def steps(
    members: Sequence[Subscriber], topics: Mapping[bytes, int], is_homogeneous: bool
) -> Generator[None, None, Target]: ...

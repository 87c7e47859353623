from collections.abc import Generator, Mapping

from coordinator.core.consumer.assignors.model import Subscriber, Target

def steps(members: list[Subscriber], topics: Mapping[bytes, int]) -> Generator[None, None, Target]: ...

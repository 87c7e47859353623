"""The assignors of consumer groups by name. `group.consumer.assignors` says which of them a server offers."""

from collections.abc import Generator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeVar

import msgspec

from coordinator.core.consumer.assignors import range, uniform
from coordinator.core.consumer.assignors.model import AssignmentSteps, Subscriber, Target

T = TypeVar("T")


class Assignor(msgspec.Struct, frozen=True):
    """An assignor and its name in ConsumerGroupHeartbeat."""

    name: str
    steps: AssignmentSteps
    """A generator of steps of about a millisecond each; its result is the target."""

    def assign(self, members: Sequence[Subscriber], topics: Mapping[bytes, int], is_homogeneous: bool) -> Target:
        """All steps at once; see `AssignmentSteps`."""
        return result_of(self.steps(members, topics, is_homogeneous))


def result_of(steps: Generator[None, None, T]) -> T:
    """Take all steps at once; their result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


UNIFORM: Final = Assignor("uniform", uniform.steps)
RANGE: Final = Assignor("range", range.steps)

ASSIGNORS: Final[Mapping[str, Assignor]] = MappingProxyType({assignor.name: assignor for assignor in (UNIFORM, RANGE)})

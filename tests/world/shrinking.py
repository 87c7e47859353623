"""Leaves out what a false claim does not need: actions, consumers, times at which it is told, and settings."""

from collections.abc import Callable, Iterator, Sequence

from tests.simulation.shrinking import fewest
from tests.world.history import Action, ConsumerSetup, History, Setup
from tests.world.telling import PRODUCT, FalseClaim, Makers, told_in

Kind = tuple[str, str]
"""The class of a claim, and of an advice its kind."""


def kind_of(found: FalseClaim) -> Kind:
    claim = found.contradiction.claim
    return type(claim).__name__, str(getattr(claim, "kind", ""))


def is_told_falsely(history: History, kind: Kind, makers: Makers = PRODUCT) -> bool:
    """Whether a claim of this kind is false in a history."""
    return any(kind_of(each) == kind for each in told_in(history, makers).false)


def shrink(history: History, kind: Kind, makers: Makers = PRODUCT) -> History:
    """A smaller history in which a claim of the same kind is false. In the given one there must be one."""

    def fails(other: History) -> bool:
        return is_told_falsely(other, kind, makers)

    history = history._replace(actions=tuple(fewest(history.actions, lambda left: fails(_with(history, left)))))
    for smaller in (_without_consumers, _without_times, _with_simpler_setup, _with_simpler_consumers):
        history = _as_long_as_it_fails(history, smaller, fails)
    return history


def _with(history: History, actions: Sequence[Action]) -> History:
    return history._replace(actions=tuple(actions))


def _as_long_as_it_fails(
    history: History, smaller: Callable[[History], Iterator[History]], fails: Callable[[History], bool]
) -> History:
    while True:
        found = next((each for each in smaller(history) if each != history and fails(each)), None)
        if found is None:
            return history
        history = found


def _without_consumers(history: History) -> Iterator[History]:
    """One consumer less; the actions of others go on with them."""
    consumers = history.setup.consumers
    for number in range(len(consumers) if len(consumers) > 1 else 0):
        left = consumers[:number] + consumers[number + 1 :]
        actions = tuple(action._replace(who=_moved(action.who % len(consumers), number)) for action in history.actions)
        yield history._replace(setup=history.setup._replace(consumers=left), actions=actions)


def _moved(who: int, gone: int) -> int:
    return who - 1 if who > gone else 0 if who == gone else who


def _without_times(history: History) -> Iterator[History]:
    yield history._replace(reported_ms=())
    for number in range(len(history.reported_ms)):
        yield history._replace(reported_ms=history.reported_ms[:number] + history.reported_ms[number + 1 :])


def _with_simpler_setup(history: History) -> Iterator[History]:
    plain = Setup(history.setup.consumers)
    for name, value in plain._asdict().items():
        yield history._replace(setup=history.setup._replace(**{name: value}))


def _with_simpler_consumers(history: History) -> Iterator[History]:
    consumers, plain = history.setup.consumers, ConsumerSetup()
    for number, consumer in enumerate(consumers):
        for name, value in plain._asdict().items():
            changed = consumer._replace(**{name: value})
            left = (*consumers[:number], changed, *consumers[number + 1 :])
            yield history._replace(setup=history.setup._replace(consumers=left))

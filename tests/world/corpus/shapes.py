"""How the small histories of the corpus are written."""

from collections.abc import Iterable
from typing import Any, Final

from tests.world.clients import COMPANY_ASSIGNOR
from tests.world.history import Action, ConsumerSetup, History, Setup

JAVA: Final = ConsumerSetup()
COOPERATIVE: Final = ConsumerSetup(assignors=("cooperative-sticky",))
COMPANY: Final = ConsumerSetup(assignors=(COMPANY_ASSIGNOR,))
STICKY: Final = ConsumerSetup(assignors=("sticky",))
MODERN: Final = ConsumerSetup("modern", ())
UNTIL_MS: Final = 60_000


def history(
    consumers: Iterable[ConsumerSetup],
    *actions: Action,
    reported_ms: tuple[int, ...] = (),
    until_ms: int = UNTIL_MS,
    **setup: Any,
) -> History:
    return History(Setup(tuple(consumers), **setup), actions, until_ms, reported_ms)

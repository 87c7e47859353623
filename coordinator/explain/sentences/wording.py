"""What sentences are written with: how members and times are called."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec

from coordinator.explain.claims.claim import Claim
from coordinator.explain.protocols.protocol import Protocol
from coordinator.explain.protocols.table import PROTOCOLS
from coordinator.explain.words import Clock, Names


class Wording(msgspec.Struct, frozen=True):
    """Names of members, times of day, and the protocol of the group."""

    names: Names
    clock: Clock
    protocol: Protocol = PROTOCOLS["classic"]
    """That of the group in the generation."""


Sentences = Callable[[Sequence[Any], Wording], Iterator[str]]
"""From claims of one type, which follow each other, to sentences."""


def rendered(claims: Iterable[Claim], sentences: Mapping[type[Claim], Sentences], wording: Wording) -> Iterator[str]:
    """The sentences of all these claims, in order; those of one type that follow each other are told together."""
    for kind, alike in groupby(claims, key=type):
        yield from sentences[kind](list(alike), wording)

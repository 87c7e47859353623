"""What a rebalance cost, in words."""

from collections.abc import Iterator, Sequence

from coordinator.explain.claims.price import CommitsRefused, Lag, Moved, NothingAssigned, Unowned, UnownedInSum
from coordinator.explain.protocols.protocol import Protocol
from coordinator.explain.sentences.wording import Wording
from coordinator.explain.words import counted, duration, were


def moved(claims: Sequence[Moved], wording: Wording) -> Iterator[str]:
    for claim in claims:
        yield _moved(claim, wording.protocol)


def _moved(claim: Moved, protocol: Protocol) -> str:
    total, first, left = claim.partitions, claim.first_owned, claim.without_owner
    later = f", and {left:,} of them {'has' if left == 1 else 'have'} no owner yet" if left else ""
    if first == total:
        whole = {1: "The partition", 2: "Both partitions"}.get(total, f"All {total:,} partitions")
        return f"{whole} got {_their(total)} first owner."
    new = f" {first:,} of them got {_their(first)} first owner." if first else ""
    if not claim.moved:
        return f"None of {counted(total, 'partition')} moved{later}.{new}"
    return f"{claim.moved:,} of {counted(total, 'partition')} moved{later}{_needlessly(claim, protocol)}.{new}"


def _needlessly(claim: Moved, protocol: Protocol) -> str:
    if claim.needlessly is None:
        return protocol.moved_without_need
    if not claim.needlessly:
        return f", as {'it' if claim.moved == 1 else 'they'} had to"
    return f", {'all' if claim.needlessly == claim.moved > 1 else f'{claim.needlessly:,}'} needlessly"


def _their(count: int) -> str:
    return "its" if count == 1 else "their"


def nothing_assigned(claims: Sequence[NothingAssigned], wording: Wording) -> Iterator[str]:
    for _ in claims:
        yield wording.protocol.nothing_assigned


def unowned(claims: Sequence[Unowned], wording: Wording) -> Iterator[str]:
    for claim in claims:
        yield _unowned_before(claim, wording) if claim.owners else _unowned(claim)


def longest(claim: Unowned) -> str:
    """How long the partitions had no owner: `3.1 s`, `up to 3.1 s`."""
    text = duration(claim.longest_ms)
    return text if text == duration(claim.shortest_ms) else f"up to {text}"


def _unowned(claim: Unowned) -> str:
    count, total = claim.partitions, claim.of
    whole = f"All {total:,} partitions" if total > 1 else "The partition"
    which = whole if count >= total else f"{_counted(claim)} of {counted(total, 'partition')}"
    over = f", over {claim.rebalances} rebalances" if claim.rebalances > 1 else ""
    text = longest(claim)
    if claim.is_at_least:
        text = f"{text} or longer" if text.startswith("up to") else f"at least {text}"
    return f"{which} had no owner for {text}{over}."


def _counted(claim: Unowned) -> str:
    return f"{claim.partitions:,} or more" if claim.or_more else f"{claim.partitions:,}"


def _unowned_before(claim: Unowned, wording: Wording) -> str:
    count, whose = claim.partitions, wording.names.listed(claim.owners)
    which = "the partition" if count == 1 else f"the {count:,} partitions"
    if claim.or_more:
        which = f"{_counted(claim)} partitions"
    if claim.is_at_least:
        return f"Nobody consumed {which} of {whose} for at least {duration(claim.longest_ms)}."
    up_to = "up to " if claim.several else ""
    return (
        f"Nobody consumed {which} of {whose} for {longest(claim)}: {up_to}{duration(claim.before_ms or 0)} before the"
        f" rebalance began, and {up_to}{duration(claim.after_ms or 0)} in it."
    )


def unowned_in_sum(claims: Sequence[UnownedInSum], wording: Wording) -> Iterator[str]:
    for claim in claims:
        if claim.before:
            yield (
                "Before it began, nobody consumed the partitions of the removed members: in sum"
                f" {duration(claim.partition_ms)} of one partition."
            )
        else:
            yield f"Partitions had no owner in it: in sum {duration(claim.partition_ms)} of one partition."


def commits_refused(claims: Sequence[CommitsRefused], wording: Wording) -> Iterator[str]:
    for claim in claims:
        yield f"{counted(claim.count, 'offset commit')} {were(claim.count)} rejected meanwhile."


def lag(claims: Sequence[Lag], wording: Wording) -> Iterator[str]:
    for claim in claims:
        if claim.after is None:
            yield f"The lag was {claim.before:,} when it began."
        else:
            yield f"The lag was {claim.before:,} before and {claim.after:,} after it."

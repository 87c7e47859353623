"""What the world had, the events say, and no claim tells: counted, as claims that are too weak to be of use are."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from coordinator.explain.claims.claim import Claim
from coordinator.explain.claims.findings import CannotJoin
from coordinator.explain.claims.price import Unowned, UnownedInSum
from coordinator.explain.claims.silences import Back, Refused, Silent
from coordinator.explain.facts import RETURN_MS
from coordinator.explain.generation import Outcome
from tests.world.checkers.context import Context
from tests.world.checkers.gaps import gaps
from tests.world.checkers.tolerances import WORTH_TELLING_MS
from tests.world.truth import Fate, Membership, ProcessTruth, Truth

REFUSED_MS: Final = 4_000
"""A client that was refused for so long has tried several times."""
JOINS: Final = frozenset({"JoinGroup", "ConsumerGroupHeartbeat"})
LASTING: Final = frozenset({"GROUP_MAX_SIZE_REACHED", "INCONSISTENT_GROUP_PROTOCOL", "UNRELEASED_INSTANCE_ID"})


def not_told(truth: Truth, context: Context, told: Counter[type[Claim]]) -> Iterator[str]:
    """The name of each claim that is missing. `told` counts those that are there."""
    if context.generation_id < 0:
        yield from _about_the_group(truth, context, told)
        return
    if context.outcome is Outcome.STABLE and not told[Unowned] and not told[UnownedInSum]:
        least = max((gap.least for gap in gaps(truth, context).values()), default=0)
        if least >= WORTH_TELLING_MS:
            yield Unowned.__name__
    silent = {each.member.member_id for each in context.told if isinstance(each, Silent)}
    back = {each.member.member_id for each in context.told if isinstance(each, Back)}
    for member_id in silent:
        removed = truth.removal(member_id, context.known_ms)
        if removed is None or removed.process is None:
            continue
        if _was_refused(removed.process, removed):
            yield Refused.__name__
        if member_id not in back and _is_back(truth, removed, context):
            yield Back.__name__


def _was_refused(process: ProcessTruth, membership: Membership) -> bool:
    """Whether requests of it were refused, and none was handled after that."""
    last = [arrival for arrival in process.arrivals if membership.from_ms <= arrival.at_ms < membership.until_ms]
    return bool(last) and last[-1].fate is Fate.REFUSED


def _is_back(truth: Truth, removed: Membership, context: Context) -> bool:
    """Whether the same client, which can be told by its instance id or its client id and host, joined again."""
    process = removed.process
    assert process is not None
    who = _identity(process)
    others = [each for each in truth.processes if _identity(each) == who and each.consumer != process.consumer]
    came = [
        membership
        for membership in truth.all_memberships()
        if membership.process is not None
        and _identity(membership.process) == who
        and membership.member_id != removed.member_id
        and removed.until_ms < membership.from_ms <= min(removed.until_ms + RETURN_MS, context.reported_ms)
    ]
    return bool(came) and not others


def _identity(process: ProcessTruth) -> tuple[str, ...]:
    return (process.instance_id,) if process.instance_id is not None else (process.client_id, process.host)


def _about_the_group(truth: Truth, context: Context, told: Counter[type[Claim]]) -> Iterator[str]:
    if told[CannotJoin]:
        return
    for process in truth.processes:
        answers = [answer for answer in process.answers if answer.api in JOINS and answer.at_ms <= context.reported_ms]
        since_ms = context.reported_ms - REFUSED_MS
        recent = [answer for answer in answers if answer.at_ms >= since_ms]
        is_refused = len(recent) > 1 and all(each.error in LASTING for each in recent)
        if process.lived_at(context.reported_ms) and is_refused and any(answer.at_ms < since_ms for answer in answers):
            yield CannotJoin.__name__
            return

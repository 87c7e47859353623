"""Tells one generation of a group in words: what began it, what held it up, what it cost, how it ended, what to try."""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from coordinator.audit.schema import MemberRef, Trigger
from coordinator.core.causes import Cause
from coordinator.explain import epoch_story
from coordinator.explain.absences import absences_in, unheard_since_start
from coordinator.explain.advice import advice_for
from coordinator.explain.connect_story import what_workers_run
from coordinator.explain.generation import Generation, Outcome
from coordinator.explain.history import GroupHistory
from coordinator.explain.owners import Absence
from coordinator.explain.reasons import (
    Context,
    Leaving,
    clause,
    several_unheard,
    topic_changes,
    topics_named,
    unknown_leave,
    unknown_leaves,
)
from coordinator.explain.silences import pauses, returns, silences
from coordinator.explain.words import Clock, Names, counted, duration, listed, plain, utc_clock, were

HOLD_UP_MS: Final = 500
"""From how many ms on a member that came later than all others is said to have held up the rebalance."""

TELLS_TOPIC_CHANGES: Final = frozenset({Cause.LEADER_REJOINED, Cause.TOPICS_CHANGED})
"""Causes whose clause names the topics that changed."""

CONSUMERS: Final = "consumer"
"""The protocol type of consumers, whose protocols are assignors."""

IDS_NAMED: Final = 3
SAME_CAUSES_NAMED: Final = 3


class Number(msgspec.Struct, frozen=True, gc=False):
    """A figure of the story. `value` is in the unit of `text`'s name (ms, partitions, …); None: unknown."""

    name: str
    value: int | None
    text: str


class Story(msgspec.Struct, frozen=True, gc=False):
    """A generation in words. The texts are free of control characters, but not of markup such as HTML's."""

    group_id: str
    generation_id: int
    outcome: Outcome
    headline: str
    paragraphs: tuple[str, ...]
    numbers: tuple[Number, ...]
    advice: tuple[str, ...]


def story_of(history: GroupHistory, generation: Generation, clock: Clock = utc_clock) -> Story:
    """The story of one generation of `history`, with times of day as `clock` writes them."""
    context = _context(history, generation)
    headline, *paragraphs = _words(history, context, clock)
    return Story(
        history.group_id,
        generation.generation_id,
        generation.outcome,
        headline,
        tuple(paragraphs),
        tuple(_numbers(generation)),
        tuple(advice_for(context)),
    )


def sentence(history: GroupHistory, generation: Generation, clock: Clock = utc_clock) -> str:
    """Headline and paragraphs of the story as one text."""
    headline, *paragraphs = _words(history, _context(history, generation), clock)
    return " ".join((f"{headline}.", *paragraphs))


def _context(history: GroupHistory, generation: Generation) -> Context:
    names = Names([*(part.member for part in generation.members.values()), *_others(generation)])
    return Context(generation, names, history.before(generation))


def _words(history: GroupHistory, context: Context, clock: Clock) -> list[str]:
    """The headline and the paragraphs."""
    told = _Telling(history, context, clock)
    paragraphs = (told.also(), told.phases(), told.price(), told.ending())
    return [told.headline(), *(each for each in paragraphs if each)]


def first_trigger(generation: Generation) -> Trigger | None:
    if generation.cause is not None:
        return Trigger(generation.cause, generation.member, generation.reason, generation.rebalance_started_ms or 0)
    return generation.triggers[0] if generation.triggers else None


def why(history: GroupHistory, generation: Generation) -> str:
    """The cause as one clause, for a line of a table; "unknown" if the events do not tell it."""
    trigger = first_trigger(generation)
    return "unknown" if trigger is None else clause(trigger, _context(history, generation))


def _others(generation: Generation) -> Iterator[MemberRef]:
    """The members that are not, or no longer, in the generation."""
    seen = set(generation.members)
    changes = generation.changes
    named = [generation.member] if generation.member is not None else []
    for member in (*(each.member for each in changes.removed), *(each.member for each in changes.replaced), *named):
        if member.member_id not in seen:
            seen.add(member.member_id)
            yield member


class _Telling:
    """The paragraphs of one story."""

    def __init__(self, history: GroupHistory, context: Context, clock: Clock) -> None:
        self._history = history
        self._context = context
        self._generation = context.generation
        self._names = context.names
        self._clock = clock

    def headline(self) -> str:
        generation = self._generation
        number = generation.name
        trigger = first_trigger(generation)
        if trigger is None:
            if generation.outcome is Outcome.STABLE and generation.ended_ms is not None:
                return (
                    f"{number} was stable at {self._clock(generation.ended_ms)}; why it began is not among the events"
                )
            return f"{number}: why it began is not among the events"
        assert generation.rebalance_started_ms is not None
        began = self._clock(generation.rebalance_started_ms)
        return f"{number} began {began} because {clause(trigger, self._context)}"

    def also(self) -> str:
        """What came together with the first cause, who came and went, and what cannot be known."""
        sentences = [f"{text[0].upper()}{text[1:]}." for text in self._other_triggers()]
        changes = topic_changes(self._generation)
        first = first_trigger(self._generation)
        if changes and (first is None or first.cause not in TELLS_TOPIC_CHANGES):
            since = "the last target assignment" if self._generation.is_epoch else "the generation before"
            sentences.append(f"Since {since}, {changes}.")
        sentences += self._another_assignor()
        sentences += self._unknown_leaves()
        sentences += absences_in(self._history, self._generation, self._clock)
        if self._generation.changes.removed:
            sentences += unheard_since_start(self._history, self._generation, self._names)
            sentences += pauses(self._generation.changes.removed, self._names)
            sentences += silences(self._generation, self._context.previous, self._names, self._clock)
            sentences += returns(self._history, self._generation, self._names)
        return " ".join(sentences)

    def _another_assignor(self) -> Iterator[str]:
        """In a consumer group, a member that asks for another one raises no epoch: the next epoch uses it."""
        now, previous = self._generation.protocol_name, self._context.previous
        before = "" if previous is None or self._generation.protocol_type != CONSUMERS else previous.protocol_name
        if now and before and now != before:
            yield f"The assignor changed from {plain(before)} to {plain(now)}."

    def _unknown_leaves(self) -> list[str]:
        if self._generation.is_epoch:
            return []  # the protocol has no reasons at all
        left = (Leaving(each) for each in self._generation.changes.removed if each.cause is Cause.MEMBER_LEFT)
        unknown = [each for each in left if each.is_unknown]
        if len(unknown) > 1:
            return [unknown_leaves([each.removal.member for each in unknown], self._names)]
        return [unknown_leave(each, self._names) for each in unknown]

    def _other_triggers(self) -> Iterator[str]:
        """All that made the rebalance necessary or changed its members, except its first cause."""
        first = first_trigger(self._generation)
        by_cause: dict[tuple[Cause, bool], list[Trigger]] = {}
        for trigger in _all_triggers(self._generation):
            if first is None or (trigger.cause, _id_of(trigger)) != (first.cause, _id_of(first)):
                is_unheard = self._context.removal_of(trigger).is_unheard
                by_cause.setdefault((trigger.cause, is_unheard), []).append(trigger)
        for (cause, is_unheard), triggers in by_cause.items():
            if len(triggers) == 1:
                yield f"also, {clause(triggers[0], self._context)}"
            elif is_unheard:
                yield f"also, {several_unheard([self._context.removal_of(each) for each in triggers], self._names)}"
            else:
                yield f"also, {_several(cause, triggers, self._context)}"
        if self._generation.unnamed_triggers:
            count = self._generation.unnamed_triggers
            yield f"{counted(count, 'further cause')} {were(count)} recorded without a name"

    def phases(self) -> str:
        """How long it took, and who held it up."""
        generation = self._generation
        sentences = []
        if generation.outcome is Outcome.STABLE and None not in (generation.join_ms, generation.sync_ms):
            sentences.append(self._duration())
        sentences += self._join_delays()
        sentences += self._sync_delays()
        return " ".join(sentences)

    def _duration(self) -> str:
        generation = self._generation
        assert generation.join_ms is not None and generation.sync_ms is not None
        total_ms = generation.join_ms + generation.sync_ms
        if total_ms < HOLD_UP_MS:
            return f"It took {duration(total_ms)}."
        count = generation.member_count or 0
        if generation.is_epoch:
            return epoch_story.how_long(generation.join_ms, generation.sync_ms, count)
        if self._waited_for_more():
            waited = (
                "in which the group, which was empty, waited for further members (group.initial.rebalance.delay.ms)"
            )
            if generation.sync_ms < HOLD_UP_MS:
                return f"It took {duration(total_ms)}, {waited}."
            return (
                f"It took {duration(total_ms)}: {duration(generation.join_ms)} {waited}, {duration(generation.sync_ms)}"
                " more until the leader's assignment was stored."
            )
        joined = {1: "its one member joined", 2: "both members had joined"}.get(
            count, f"all {count:,} members had joined"
        )
        return (
            f"It took {duration(total_ms)}: {duration(generation.join_ms)} until {joined},"
            f" {duration(generation.sync_ms)} more until the leader's assignment was stored."
        )

    def _join_delays(self) -> Iterator[str]:
        generation, names = self._generation, self._names
        if generation.is_epoch:
            told = epoch_story.late_target(generation, self._clock), epoch_story.held_up(generation, names, HOLD_UP_MS)
            yield from (each for each in told if each is not None)
            return
        late = [each for each in generation.late_members if each.cause is Cause.REBALANCE_TIMEOUT]
        if late:
            timeout = max((each.rebalance_timeout_ms or 0 for each in late), default=0)
            limit = f", {duration(timeout)}" if timeout > 0 else ""
            others = any(part.join_ms is not None for part in generation.members.values())
            waited = f"{',' if limit else ''} for which all others waited" if others else ""
            yield (
                f"{names.listed([each.member for each in late])} never rejoined and {were(len(late))} removed after the"
                f" rebalance timeout{limit}{waited}."
            )
        elif (held := generation.held_up()) and held[1] >= HOLD_UP_MS:
            yield f"{names.of(held[0])} held up the join phase for {duration(held[1])}."
        if generation.pending_members:
            ids = [plain(each) for each in generation.pending_members[:IDS_NAMED]]
            count = len(generation.pending_members)
            yield (
                f"The join phase also waited for {counted(count, 'member id')} that {were(count)} handed out and never"
                f" joined: {listed(ids, more=max(0, count - IDS_NAMED))}."
            )

    def _waited_for_more(self) -> bool:
        """Whether the join phase was the time that an empty group waits for further members: nobody held it up."""
        generation = self._generation
        if not generation.is_from_empty or generation.has_gap:
            return False
        return bool(generation.join_ms) and not generation.late_members and not generation.pending_members

    def _sync_delays(self) -> Iterator[str]:
        generation, names = self._generation, self._names
        if generation.is_epoch:
            return
        late = [each for each in generation.late_members if each.cause is Cause.SYNC_TIMEOUT]
        if late:
            yield f"{names.listed([each.member for each in late])} never sent SyncGroup and {were(len(late))} removed."
        if generation.slowest_sync is not None and generation.slowest_sync[1] >= HOLD_UP_MS:
            slowest, ms = generation.slowest_sync
            role = "the leader, " if slowest.member_id == generation.leader else ""
            yield _first_upper(f"{role}{names.of(slowest)} took {duration(ms)} to send SyncGroup.")

    def price(self) -> str:
        """What moved, what had no owner, and what that did to the lag."""
        generation = self._generation
        sentences = []
        if generation.partitions is not None and generation.partitions_moved is not None:
            sentences.append(_moved(generation))
        sentences += what_workers_run(generation, self._names, self._clock)
        sentences += self._without_owner()
        if generation.commits_rejected:
            rejected = generation.commits_rejected
            sentences.append(f"{counted(rejected, 'offset commit')} {were(rejected)} rejected meanwhile.")
        if generation.lag_before is not None and generation.lag_after is not None:
            sentences.append(f"The lag was {generation.lag_before:,} before and {generation.lag_after:,} after it.")
        elif generation.lag_before is not None:
            sentences.append(f"The lag was {generation.lag_before:,} when it began.")
        return " ".join(sentences)

    def _without_owner(self) -> Iterator[str]:
        """What nobody consumed: since the rebalance began, and what was without an owner before."""
        generation = self._generation
        if not generation.absences:
            yield from self._without_owner_in_sum()
            return
        since: list[Absence] = []
        earlier: list[Absence] = []
        for each in generation.absences:
            # What the generation before revoked, for this one to assign, is part of the same cooperative rebalance.
            (since if each.is_revoked or each.stopped_ms >= generation.disturbed_ms else earlier).append(each)
        if since:
            count, total = sum(each.partitions for each in since), generation.partitions_in_all or 0
            whole = f"All {total:,} partitions" if total > 1 else "The partition"
            which = whole if count >= total else f"{count:,} of {counted(total, 'partition')}"
            over = f", over {generation.tries} rebalances" if generation.tries > 1 else ""
            yield f"{which} had no owner for {_longest(since)}{over}."
        if earlier:
            yield self._without_owner_before(earlier)

    def _without_owner_before(self, absences: list[Absence]) -> str:
        count = sum(each.partitions for each in absences)
        whose = self._names.listed(list({each.member.member_id: each.member for each in absences}.values()))
        began_ms = self._generation.disturbed_ms
        before_ms = max(min(began_ms, each.assigned_ms) - each.stopped_ms for each in absences)
        after_ms = max(each.assigned_ms - max(began_ms, each.stopped_ms) for each in absences)
        up_to = "up to " if len(absences) > 1 else ""
        which = "the partition" if count == 1 else f"the {count:,} partitions"
        gave_up = {each.member.member_id for each in self._generation.changes.removed if each.gave_up}
        if any(each.member.member_id in gave_up for each in absences):
            return f"Nobody consumed {which} of {whose} for at least {_longest(absences).removeprefix('up to ')}."
        return (
            f"Nobody consumed {which} of {whose} for"
            f" {_longest(absences)}: {up_to}{duration(before_ms)} before the rebalance began, and"
            f" {up_to}{duration(after_ms)} in it."
        )

    def _without_owner_in_sum(self) -> Iterator[str]:
        """As the coordinator counted it, if the events do not tell who owned what."""
        generation = self._generation
        if generation.unowned_partition_ms:
            yield f"Partitions had no owner in it: in sum {duration(generation.unowned_partition_ms)} of one partition."
        if generation.silent_partition_ms:
            yield (
                "Before it began, nobody consumed the partitions of the removed members: in sum"
                f" {duration(generation.silent_partition_ms)} of one partition."
            )

    def ending(self) -> str:
        generation = self._generation
        sentences = [_ENDINGS[generation.outcome](self), *self._restarted_with_other_topics()]
        if generation.has_gap and generation.rebalance_started_ms is not None:
            sentences.append("Some of its events are missing, so this may not be all.")
        return " ".join(each for each in sentences if each)

    def _restarted_with_other_topics(self) -> Iterator[str]:
        """A static member that comes back gets what it had, whatever it subscribes to now (KIP-345)."""
        generation = self._generation
        replaced = list(generation.replaced_while_stable)
        if generation is self._history.latest and not generation.is_open:
            replaced += self._history.pending_changes.replaced
        if not replaced:
            return
        owned = {topic for part in generation.members.values() for topic in part.partitions}
        for each in replaced:
            now, before = each.subscribed_topics, each.old_subscribed_topics
            if not now or not before or set(now) == set(before):
                continue
            text = (
                f"At {self._clock(each.at_ms)} the static member {self._names.of(each.member)} came back with a"
                f" subscription to {topics_named(now)} instead of {topics_named(before)}"
            )
            unowned = tuple(sorted(set(now) - set(before) - owned))
            yield f"{text}: nobody owns {topics_named(unowned)} until the next rebalance." if unowned else f"{text}."

    def _at(self) -> str:
        ended_ms = self._generation.ended_ms
        return f" at {self._clock(ended_ms)}" if ended_ms is not None else ""

    def _ended_superseded(self) -> str:
        generation = self._generation
        if generation.converted_to:
            return f"It never became stable: the group became a {generation.converted_to} group{self._at()}."
        if generation.is_epoch:
            return epoch_story.superseded(generation)
        took = f" after {duration(generation.rebalance_ms)}" if generation.rebalance_ms is not None else ""
        text = f"It never became stable:{took} the next rebalance began before its assignment was stored."
        if generation.never_synced:
            text += f" {self._names.listed(generation.never_synced)} had not sent SyncGroup."
        return text

    def _ended_emptied(self) -> str:
        return f"Nobody was left: the group became empty{self._at()}."

    def _ended_cut_short(self) -> str:
        if self._generation.is_void:
            return (
                f"It was lost: the coordinator loaded the group again{self._after_loss()} without it, because it had"
                " not been stored. Its members had to join again."
            )
        return (
            f"It was cut short{self._at()}: the coordinator loaded the group again, and the members had to start over."
        )

    def _after_loss(self) -> str:
        later = [each.time_ms for each in self._history.loads if each.seq > self._generation.last_seq]
        return f" at {self._clock(later[0])}" if later else ""

    def _in_progress(self) -> str:
        generation = self._generation
        if generation.is_epoch:
            return epoch_story.in_progress(generation)
        if self._history.last_ms is None or generation.generation_started_ms is not None:
            return "It is still in progress: the leader's assignment has not come yet."
        came = {each for each, part in generation.members.items() if part.join_ms is not None}
        missing = [each.member for each in self._history.members.values() if each.member.member_id not in came]
        waits = f", and waits for {self._names.listed(missing)} to join" if missing else ""
        return f"It is still in progress{waits}."


def _first_upper(text: str) -> str:
    """A sentence, unless it begins with a name."""
    return text[:1].upper() + text[1:] if text.startswith(("the ", "all ")) else text


_ENDINGS: Final[dict[Outcome, Callable[[_Telling], str]]] = {
    Outcome.STABLE: lambda told: "",
    Outcome.SUPERSEDED: _Telling._ended_superseded,
    Outcome.EMPTIED: _Telling._ended_emptied,
    Outcome.CUT_SHORT: _Telling._ended_cut_short,
    Outcome.IN_PROGRESS: _Telling._in_progress,
    Outcome.UNKNOWN: lambda told: "How it ended is not among the events.",
}


def _id_of(trigger: Trigger) -> str | None:
    return trigger.member.member_id if trigger.member else None


def _all_triggers(generation: Generation) -> list[Trigger]:
    """The recorded triggers, and the changes of the members that are not among them, in order."""
    found = {(each.cause, _id_of(each)): each for each in generation.triggers}
    changes = generation.changes
    for removed in changes.removed:
        trigger = Trigger(removed.cause, removed.member, removed.reason, removed.at_ms)
        found.setdefault((trigger.cause, _id_of(trigger)), trigger)
    for joined in changes.joined:
        trigger = Trigger(Cause.NEW_MEMBER, joined.member, joined.reason, joined.at_ms)
        found.setdefault((trigger.cause, _id_of(trigger)), trigger)
    for replaced in changes.replaced:
        trigger = Trigger(replaced.cause, replaced.member, replaced.reason, replaced.at_ms)
        found.setdefault((trigger.cause, _id_of(trigger)), trigger)
    return sorted(found.values(), key=lambda each: each.at_ms)


_SEVERAL: Final = {
    Cause.NEW_MEMBER: "joined",
    Cause.METADATA_CHANGED: "rejoined with another subscription or other assignors",
    Cause.LEADER_REJOINED: "rejoined as leaders",
    Cause.MEMBER_REJOINED: "rejoined with the same subscription",
    Cause.MEMBER_LEFT: "left",
    Cause.SESSION_EXPIRED: "were silent for their session timeout",
    Cause.REBALANCE_TIMEOUT: "did not rejoin within the rebalance timeout",
    Cause.SYNC_TIMEOUT: "did not send SyncGroup within the rebalance timeout",
    Cause.STATIC_REPLACED: "were restarted",
    Cause.GROUP_MAX_SIZE_REACHED: "had to go because group.max.size was reached",
}
"""What several members did, after their names."""


def _several(cause: Cause, triggers: list[Trigger], context: Context) -> str:
    members = [each.member for each in triggers if each.member is not None]
    did = _SEVERAL.get(cause, f"caused it ({cause.value})")
    if context.generation.is_epoch:
        did = epoch_story.what_several_did(cause, [context.removal_of(each) for each in triggers]) or did
    return f"{context.names.listed(members, SAME_CAUSES_NAMED)} {did}"


def _longest(absences: list[Absence]) -> str:
    """How long the partitions had no owner: `3.1 s`, `up to 3.1 s`."""
    longest, shortest = max(each.ms for each in absences), min(each.ms for each in absences)
    return f"up to {duration(longest)}" if duration(longest) != duration(shortest) else duration(longest)


def _moved(generation: Generation) -> str:
    total, moved = generation.partitions_in_all or 0, generation.partitions_moved or 0
    if not total:
        if generation.protocol_type != CONSUMERS:
            return ""
        if generation.is_epoch:
            return "Its target assigns no partitions."
        return "Its leader assigned no partitions: there are none, or it does not know them yet."
    left = generation.without_owner
    later = f", and {left:,} of them {'has' if left == 1 else 'have'} no owner yet" if left else ""
    first = generation.first_owned
    if first == total:
        whole = {1: "The partition", 2: "Both partitions"}.get(total, f"All {total:,} partitions")
        return f"{whole} got {_their(total)} first owner."
    new = f" {first:,} of them got {_their(first)} first owner." if first else ""
    if not moved:
        return f"None of {counted(total, 'partition')} moved{later}.{new}"
    text = f"{moved:,} of {counted(total, 'partition')} moved{later}"
    needless = generation.moved_needlessly
    if needless is None and generation.is_epoch:
        return f"{text}.{new}"
    if needless is None:
        return f"{text}; how many of them had to is unknown.{new}"
    if not needless:
        return f"{text}, as {'it' if moved == 1 else 'they'} had to.{new}"
    return f"{text}, {'all' if needless == moved > 1 else f'{needless:,}'} needlessly.{new}"


def _their(count: int) -> str:
    return "its" if count == 1 else "their"


def _numbers(generation: Generation) -> Iterator[Number]:
    """The figures of a generation; those that the events do not tell are unknown."""

    def number(name: str, value: int | None, text: str | None = None) -> Number:
        return Number(name, value, "unknown" if value is None else f"{value:,}" if text is None else text)

    def time(name: str, value: int | None) -> Number:
        return number(name, value, None if value is None else duration(value))

    yield number("members", generation.member_count)
    yield time("join_ms", generation.join_ms)
    yield time("sync_ms", generation.sync_ms)
    yield time("rebalance_ms", generation.rebalance_ms)
    yield number("partitions", generation.partitions)
    yield number("partitions_moved", generation.partitions_moved)
    yield number("partitions_moved_needlessly", generation.moved_needlessly)
    yield time("unowned_partition_ms", generation.unowned_partition_ms)
    yield time("silent_partition_ms", generation.silent_partition_ms)
    yield number("commits_rejected", generation.commits_rejected)
    yield number("lag_before", generation.lag_before)
    yield number("lag_after", generation.lag_after)

"""The claims about one generation as a story: a headline, paragraphs, and what to try."""

from collections.abc import Iterator, Mapping
from typing import Final

from coordinator.explain.claims import causes as cause
from coordinator.explain.claims import course, endings, price, silences, streams, workers
from coordinator.explain.claims.claim import Claim
from coordinator.explain.generation import Outcome
from coordinator.explain.makers.generation import GenerationClaims
from coordinator.explain.sentences import advice as advice_words
from coordinator.explain.sentences import causes as cause_words
from coordinator.explain.sentences import course as course_words
from coordinator.explain.sentences import endings as ending_words
from coordinator.explain.sentences import price as price_words
from coordinator.explain.sentences import silences as silence_words
from coordinator.explain.sentences import streams as streams_words
from coordinator.explain.sentences import workers as worker_words
from coordinator.explain.sentences.wording import Sentences, Wording, rendered

SENTENCES: Final[Mapping[type[Claim], Sentences]] = {
    **dict.fromkeys(
        (
            cause.Joined,
            cause.Resubscribed,
            cause.LeaderAsked,
            cause.Rejoined,
            cause.Left,
            cause.RemovedByAdministrator,
            cause.DidNotComeBack,
            cause.Late,
            cause.Restarted,
            cause.Evicted,
            cause.AssignmentTooLarge,
            cause.FaultInjected,
            cause.Caused,
            cause.TopicsFound,
            silences.Silent,
            silences.Unheard,
            silences.Refused,
            silences.Muted,
        ),
        cause_words.also,
    ),
    cause.TopicChanged: cause_words.topics_changed,
    cause.AssignorChanged: cause_words.assignor_changed,
    cause.LeftUnsaid: cause_words.left_unsaid,
    cause.Undecided: cause_words.also,
    cause.Untold: cause_words.unreported,
    silences.StoodStill: silence_words.stood_still,
    silences.ConnectionClosed: silence_words.connections_closed,
    silences.ConnectionOpen: silence_words.connections_open,
    silences.MayBeClosed: silence_words.may_be_closed,
    silences.Back: silence_words.back,
    silences.CameAgain: silence_words.came_again,
    silences.UnheardSinceStart: silence_words.unheard_since_start,
    silences.CoordinatorAway: silence_words.coordinator_away,
    course.Took: course_words.took,
    course.HeldUp: course_words.held_up,
    course.NeverRejoined: course_words.never_rejoined,
    course.PendingIds: course_words.pending_ids,
    course.NeverSynced: course_words.never_synced,
    course.SlowSync: course_words.slow_sync,
    course.GaveUpLate: course_words.gave_up_late,
    course.EarlierTarget: course_words.earlier_target,
    price.Moved: price_words.moved,
    price.NothingAssigned: price_words.nothing_assigned,
    workers.WorkersRun: worker_words.workers_run,
    workers.WorkersGot: worker_words.workers_got,
    workers.WorkersGiveUp: worker_words.workers_give_up,
    workers.WorkersWait: worker_words.workers_wait,
    price.Unowned: price_words.unowned,
    price.UnownedInSum: price_words.unowned_in_sum,
    price.CommitsRefused: price_words.commits_refused,
    price.Lag: price_words.lag,
    streams.CouldNotRun: streams_words.could_not_run,
    streams.TasksMoved: streams_words.tasks_moved,
    streams.ShutdownBefore: streams_words.shutdown_before,
    endings.Stable: ending_words.stable,
    endings.Superseded: ending_words.superseded,
    endings.Converted: ending_words.converted,
    endings.Emptied: ending_words.emptied,
    endings.CutShort: ending_words.cut_short,
    endings.InProgress: ending_words.in_progress,
    endings.EndUnknown: ending_words.end_unknown,
    endings.CameBackWithOtherTopics: ending_words.came_back_with_other_topics,
    endings.EventsMissing: ending_words.events_missing,
}
"""How claims of each type are told in a paragraph."""


def headline(claims: GenerationClaims, wording: Wording) -> str:
    number = wording.protocol.generation(claims.generation_id)
    if isinstance(claims.cause[0], cause.Untold):
        stable = next((claim for claim in claims.ending if isinstance(claim, endings.Stable)), None)
        if claims.outcome is Outcome.STABLE and stable is not None and stable.at_ms is not None:
            return f"{number} was stable at {wording.clock(stable.at_ms)}; why it began is not among the events"
        return f"{number}: why it began is not among the events"
    why = cause_words.why(claims.cause, wording)
    if claims.began_ms is not None:
        return f"{number} began {wording.clock(claims.began_ms)} because {why}"
    stable = next((claim for claim in claims.ending if isinstance(claim, endings.Stable)), None)
    until = "" if stable is None or stable.at_ms is None else f", and was stable at {wording.clock(stable.at_ms)}"
    return f"{number} began because {why}{until}"


def paragraphs(claims: GenerationClaims, wording: Wording) -> Iterator[str]:
    """What else there is to tell, without empty paragraphs."""
    unheard = [claim for claim in (*claims.cause, *claims.also) if isinstance(claim, silences.Unheard)]
    blame = list(silence_words.not_to_blame(unheard, wording)) if unheard else []
    for section in (claims.also, claims.course, claims.price, claims.ending):
        sentences = list(rendered(section, SENTENCES, wording))
        if section is claims.also:
            sentences += blame
        if sentences:
            yield " ".join(sentences)


def advice(claims: GenerationClaims, wording: Wording) -> Iterator[str]:
    """What to try, the most useful first."""
    yield from (advice_words.advice(advice, wording) for advice in claims.advice)

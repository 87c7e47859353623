"""Silences, and what connections tell of them: true by what arrived, who lived, and when the coordinator was away."""

from typing import Final

from coordinator.explain.claims import silences as claims
from coordinator.explain.claims.claim import Claim
from tests.world.checkers.context import Check, Context
from tests.world.checkers.tolerances import BEAT_MS, EXPIRY_MS, INSTANT_MS, NETWORK_MS
from tests.world.history import GROUP_ID
from tests.world.recorder import LOADED_AGAIN_MS
from tests.world.server import FIRST_NODE_ID
from tests.world.spans import FOREVER, overlap, without
from tests.world.truth import Arrival, Away, AwayKind, Ended, Fate, ProcessTruth, Truth


def silent(claim: claims.Silent, truth: Truth, context: Context) -> str | None:
    process = truth.process_of(claim.member.member_id)
    if process is None:
        return None
    member_id, until_ms = claim.member.member_id, claim.until_ms
    since_ms = until_ms - (claim.timeout_ms or 0) if claim.since_ms is None else claim.since_ms
    # What was done to it before a heartbeat of it was read, and rejected, did not end its session.
    rejections = [each.at_ms for each in process.answers if claim.rejected and each.error == claim.rejected]
    done_ms = max((at_ms for at_ms in rejections if since_ms <= at_ms <= until_ms), default=since_ms)
    blame = done_to(process, done_ms, until_ms) if claim.is_known else ""
    if blame and own_fault(process, truth, since_ms, until_ms) + BEAT_MS < (claim.timeout_ms or 0):
        return blame
    heard = [
        arrival
        for arrival in truth.arrivals(member_id, since_ms + NETWORK_MS, until_ms - INSTANT_MS)
        if arrival.fate is Fate.HANDLED
        and arrival.member_id == member_id
        and not (claim.committed_ms is not None and arrival.api == "OffsetCommit")
        and not ((claim.rejected or not claim.is_known) and _was_rejected(process, arrival))
    ]
    if heard:
        return f"{heard[0].api} of it arrived {heard[0].at_ms - since_ms} ms after the silence is said to begin"
    asked_ms = since_ms
    if claim.since_ms is None:  # it goes back to what came of it last, if nothing is known of its begin
        asked_ms = truth.last_arrival(member_id, until_ms, Fate.HANDLED) or since_ms
    if claim.rejected and not _had(process, claim.rejected, min(asked_ms, since_ms) - NETWORK_MS, until_ms):
        return f"no request of it was answered with {claim.rejected}"
    if claim.since_ms is None:
        return None
    last_ms = truth.last_arrival(member_id, until_ms, Fate.HANDLED)
    if last_ms is not None and since_ms - last_ms > NETWORK_MS:
        return f"the last of it arrived {since_ms - last_ms} ms before the silence is said to begin"
    away_ms = truth.was_away(since_ms, until_ms)
    # Of one whose connection is not known it may as well have been a quota or a right.
    is_explained = own_fault(process, truth, since_ms, until_ms) or done_to(process, since_ms, until_ms)
    listened_ms = until_ms - since_ms - away_ms
    if away_ms > EXPIRY_MS and listened_ms + BEAT_MS < (claim.timeout_ms or until_ms) and not is_explained:
        return f"the coordinator was away for {away_ms} ms, and nothing was wrong with the member"
    return None


def _had(process: ProcessTruth, error: str, from_ms: int, until_ms: int) -> bool:
    """Whether it was answered with an error in a time."""
    return any(answer.error == error and from_ms <= answer.at_ms <= until_ms for answer in process.answers)


def _was_rejected(process: ProcessTruth, arrival: Arrival) -> bool:
    """Whether it was answered with an error."""
    return any(
        answer.api == arrival.api and answer.error != "NONE" and abs(answer.at_ms - arrival.at_ms) <= INSTANT_MS
        for answer in process.answers
    )


def done_to(process: ProcessTruth, from_ms: int, until_ms: int) -> str:
    """What the coordinator did to a member."""
    refused = [
        arrival for arrival in process.arrivals if arrival.fate is Fate.REFUSED and from_ms < arrival.at_ms < until_ms
    ]
    if refused:
        return f"{len(refused)} requests of it were refused, the first was {refused[0].api}"
    muted_ms = process.muted.within(from_ms, until_ms)
    if not any(arrival.fate is Fate.UNREAD and from_ms < arrival.at_ms < until_ms for arrival in process.arrivals):
        return ""  # there was nothing to be read
    return f"nothing was read from its connection for {muted_ms} ms" if muted_ms > NETWORK_MS else ""


def own_fault(process: ProcessTruth, truth: Truth, from_ms: int, until_ms: int) -> int:
    """For how many ms in which the coordinator listened the process could, or did, send nothing for its own reasons."""
    faults = [*process.suspended.all, *process.starved.all, *process.cut.all, *process.proxied.all]
    faults.append((process.ended_ms, FOREVER))
    if not process.kind.beats_alone:
        faults += process.blocked.all
    faults += process.out.all
    healthy = without([(from_ms, until_ms)], faults)
    faulty = without([(from_ms, until_ms)], healthy)
    away = [(each.from_ms, each.until_ms) for each in truth.away]
    return overlap(without(faulty, away), from_ms, until_ms)


def unheard(claim: claims.Unheard, truth: Truth, context: Context) -> str | None:
    membership = truth.removal(claim.member.member_id, context.known_ms)
    if membership is None or membership.process is None:
        return None
    timeout_ms = claim.timeout_ms or 0
    removed_ms = membership.until_ms
    if not claim.is_known:
        paused = [each.until_ms - each.from_ms for each in truth.away if each.until_ms <= removed_ms + INSTANT_MS]
        return None if max(paused, default=0) + NETWORK_MS >= claim.paused_ms else "it did not stand still for so long"
    heard_ms = truth.last_arrival(membership.member_id, removed_ms, Fate.HANDLED) or 0
    from_ms = max(membership.from_ms, removed_ms - timeout_ms - claim.paused_ms - BEAT_MS)
    paused_ms = truth.was_away(from_ms, removed_ms + INSTANT_MS)
    if paused_ms + NETWORK_MS < claim.paused_ms:
        return f"the coordinator stood still for {paused_ms} ms"
    fault_ms = own_fault(membership.process, truth, max(from_ms, heard_ms), removed_ms)
    if timeout_ms and fault_ms >= timeout_ms:
        return f"it could send nothing for {fault_ms} ms in which the coordinator listened: it was to blame"
    return None


def refused(claim: claims.Refused, truth: Truth, context: Context) -> str | None:
    # It is about the removal that follows: who comes again by the same id, and leaves, was refused before that.
    removal = truth.removal_after(claim.member.member_id, claim.since_ms, context.known_ms)
    if removal is None or removal.process is None:
        return None
    since_ms, until_ms = claim.since_ms - NETWORK_MS, removal.until_ms
    sent = [arrival for arrival in removal.process.arrivals if since_ms <= arrival.at_ms <= until_ms]
    found = [each for each in sent if each.fate is Fate.REFUSED]
    if not found:
        return "nothing of it was refused then"
    if claim.api not in {each.api for each in found}:
        return f"no {claim.api} of it was refused"
    if found[0].at_ms - claim.since_ms > BEAT_MS:
        return f"it was refused first {found[0].at_ms - claim.since_ms} ms later"
    # What is read after a pause may have come over a connection that was closed in it.
    came_ms = found[0].at_ms - truth.was_away(removal.from_ms, found[0].at_ms + 1)
    is_of_one = not any(came_ms < disconnection <= removal.until_ms for disconnection in removal.process.disconnections)
    before = sum(each.at_ms < until_ms for each in found)
    if claim.count > len(found) or (is_of_one and claim.count < before):
        return f"{len(found)} of its requests were refused"
    handled = [each for each in sent if each.fate is Fate.HANDLED and found[0].at_ms < each.at_ms < until_ms]
    handled = [each for each in handled if each.api != "OffsetCommit"]  # which renews no session in a consumer group
    # A first JoinGroup is of the member that it made: its process has come as another one, when it had the right again.
    handled = [each for each in handled if truth.is_of(each, claim.member.member_id)]
    if handled:
        return f"its {handled[0].api} was handled {handled[0].at_ms - claim.since_ms} ms later"
    if (claim.operation, claim.resource_type, claim.resource_name) != ("READ", "GROUP", GROUP_ID):
        return "it had no right to READ the group"
    return None


def muted(claim: claims.Muted, truth: Truth, context: Context) -> str | None:
    removal = truth.removal(claim.member.member_id, context.known_ms)
    if removal is None or removal.process is None:
        return None
    from_ms = removal.until_ms - max(2 * (claim.timeout_ms or 0), claim.muted_ms)
    muted_ms = removal.process.muted.within(from_ms, removal.until_ms)
    if not min(muted_ms, claim.timeout_ms or 0) - BEAT_MS <= claim.muted_ms <= muted_ms + NETWORK_MS:
        return f"its connection was not read for {muted_ms} ms"
    began_ms = removal.until_ms - (claim.timeout_ms or 0)
    if removal.process.muted.within(began_ms, removal.until_ms) + BEAT_MS >= (claim.timeout_ms or 0):
        return None  # whatever it sent, nobody would have read it
    fault_ms = own_fault(removal.process, truth, began_ms, removal.until_ms)
    if claim.timeout_ms and fault_ms >= claim.timeout_ms - NETWORK_MS:
        return f"it could send nothing for {fault_ms} ms"
    return None


def came_again(claim: claims.CameAgain, truth: Truth, context: Context) -> str | None:
    process = truth.process_of(claim.member.member_id)
    if process is None:
        return None
    if not process.lived_at(claim.at_ms - 2 * NETWORK_MS) and not truth.was_away(process.ended_ms, claim.at_ms):
        return "its process had ended"
    asked = [
        arrival
        for arrival in process.arrivals
        if arrival.fate is Fate.HANDLED
        and arrival.member_id == claim.member.member_id
        and arrival.at_ms >= claim.removed_ms
    ]
    if not any(abs(each.at_ms - claim.at_ms) <= NETWORK_MS for each in asked):
        return "nothing of it arrived then"
    removal = truth.removal(claim.member.member_id, claim.at_ms)
    if removal is None or abs(removal.until_ms - claim.removed_ms) > NETWORK_MS:
        return "it was not removed then"
    last_ms = truth.last_arrival(claim.member.member_id, claim.removed_ms + 1, Fate.HANDLED)
    if claim.silent_ms is not None and last_ms is not None and claim.at_ms - last_ms > claim.silent_ms + NETWORK_MS:
        return f"it had been silent for {claim.at_ms - last_ms} ms"
    return None


def stood_still(claim: claims.StoodStill, truth: Truth, context: Context) -> str | None:
    membership = truth.removal(claim.member.member_id, context.known_ms)
    if membership is None:
        return None
    from_ms = membership.until_ms - claim.silent_ms
    away_ms = truth.was_away(from_ms - NETWORK_MS, membership.until_ms + NETWORK_MS)
    if claim.paused_ms > away_ms + NETWORK_MS:
        return f"it stood still for {away_ms} ms then"
    return None


def connection_closed(claim: claims.ConnectionClosed, truth: Truth, context: Context) -> str | None:
    process = truth.process_of(claim.member.member_id)
    if process is None:
        return None
    paused = [(each.from_ms, each.until_ms) for each in truth.away if each.kind is AwayKind.PAUSED]
    hidden = [*paused, *process.cut.all]
    if not any(_may_be_seen_at(at_ms, claim.at_ms, hidden) for at_ms in process.disconnections):
        return f"no connection of it was closed then; some were, this long before: {_before(process, claim.at_ms)}"
    if claim.lives and not process.lived_at(claim.removed_ms):
        return "its process had ended"
    if claim.closer is claims.Closer.KAFKA_STREAMS:
        return "nobody runs Kafka Streams"
    if claim.closer is claims.Closer.STATIC and process.instance_id is None:
        return "it is no static member"
    if claim.silent_before_ms is not None:
        last_ms = truth.last_arrival(claim.member.member_id, claim.at_ms, Fate.HANDLED)
        if last_ms is not None and abs(claim.at_ms - last_ms - claim.silent_before_ms) > NETWORK_MS:
            return f"it had been silent for {claim.at_ms - last_ms} ms by then"
    if claim.removed_ms < claim.at_ms:
        return "it was removed before"
    return None


def _may_be_seen_at(closed_ms: int, seen_ms: int, hidden: list[tuple[int, int]]) -> bool:
    """Whether the coordinator may have seen a connection close then: while it stands still or is cut off it cannot."""
    if -INSTANT_MS <= seen_ms - closed_ms <= NETWORK_MS:
        return True
    end_ms = closed_ms
    for start, end in sorted(hidden):
        if start - NETWORK_MS <= end_ms <= end:
            end_ms = end  # one after the other, they may hide it longer
            if abs(seen_ms - end_ms) <= NETWORK_MS:
                return True
    return False


def _before(process: ProcessTruth, at_ms: int) -> str:
    return ", ".join(f"{at_ms - disconnection} ms" for disconnection in process.disconnections) or "none"


def connection_open(claim: claims.ConnectionOpen, truth: Truth, context: Context) -> str | None:
    membership = truth.removal(claim.member.member_id, context.known_ms)
    if membership is None or membership.process is None:
        return None
    process, removed_ms = membership.process, membership.until_ms
    is_gone = process.ended is not None and process.ended_ms < removed_ms - NETWORK_MS
    if is_gone and process.ended is not Ended.POWER and not process.cut.at(process.ended_ms):
        return f"its process had ended {removed_ms - process.ended_ms} ms before, and so had its connection"
    if process.cut.at(removed_ms):
        return None  # whatever closed its connection, the coordinator could not see it
    if process.proxied.at(removed_ms) and process.proxied.within(removed_ms - 2 * NETWORK_MS, removed_ms) > NETWORK_MS:
        return "something between had closed its connections"
    return None


def may_be_closed(claim: claims.MayBeClosed, truth: Truth, context: Context) -> str | None:
    process = truth.process_of(claim.member.member_id)
    if process is not None and process.instance_id is None:
        return "it is no static member"
    return None


def back(claim: claims.Back, truth: Truth, context: Context) -> str | None:
    old, new = truth.process_of(claim.member.member_id), truth.process_of(claim.new_member.member_id)
    if old is None or new is None:
        return None
    if old.consumer != new.consumer:
        return f"{claim.new_member.member_id} is of another client"
    since = [
        membership.from_ms
        for membership in truth.all_memberships()
        if membership.member_id == claim.new_member.member_id
    ]
    if since and not any(abs(each - claim.back_ms) <= NETWORK_MS for each in since):
        return f"it is back since {since[0] - claim.back_ms} ms later"
    return _gone(claim, old, truth, context)


def _gone(claim: claims.Back, old: ProcessTruth, truth: Truth, context: Context) -> str | None:
    if claim.is_closed:
        hidden = [(each.from_ms, each.until_ms) for each in truth.away] + old.cut.all
        if not any(_may_be_seen_at(disconnection, claim.gone_ms, hidden) for disconnection in old.disconnections):
            return "its connection was not closed then"
        return None
    membership = truth.removal(claim.member.member_id, context.known_ms)
    if membership is not None and abs(membership.until_ms - claim.gone_ms) > NETWORK_MS:
        return f"it was removed {membership.until_ms - claim.gone_ms} ms later"
    return None


def unheard_since_start(claim: claims.UnheardSinceStart, truth: Truth, context: Context) -> str | None:
    if not truth.starts(claim.start_ms - NETWORK_MS, claim.start_ms + NETWORK_MS):
        return "the coordinator did not start then"
    membership = truth.removal(claim.member.member_id, context.known_ms)
    if membership is None:
        return None
    heard = [
        arrival
        for arrival in truth.arrivals(claim.member.member_id, claim.start_ms, membership.until_ms - INSTANT_MS)
        if arrival.fate is Fate.HANDLED
        and arrival.member_id == claim.member.member_id
        and not (claim.has_committed and arrival.api == "OffsetCommit")
    ]
    return f"{heard[0].api} of it arrived {heard[0].at_ms - claim.start_ms} ms after the start" if heard else None


def coordinator_away(claim: claims.CoordinatorAway, truth: Truth, context: Context) -> str | None:
    match claim.kind:
        case claims.AbsenceKind.PAUSED:
            found = [each for each in truth.away if each.kind is AwayKind.PAUSED]
            fits = any(
                abs(each.from_ms - (claim.from_ms or 0)) <= NETWORK_MS
                and abs(each.until_ms - (claim.until_ms or 0)) <= NETWORK_MS
                for each in found
            )
            return None if fits else "it did not stand still then"
        case claims.AbsenceKind.STOPPED:
            stops = [each.from_ms for each in truth.away if each.kind is AwayKind.STOPPED]
            fits = any(abs(stop - claim.at_ms) <= NETWORK_MS for stop in stops)
            return None if fits else "it was not stopped then"
        case claims.AbsenceKind.UNAVAILABLE:
            fits = any(_fits(claim, truth, start, end) for start, end in truth.full.all)
            return None if fits else "its disk was not full then"
        case claims.AbsenceKind.STARTED:
            return _started(claim, truth, context)
        case claims.AbsenceKind.LED:
            return _led(claim, truth)


def _fits(claim: claims.CoordinatorAway, truth: Truth, full_ms: int, empty_ms: int) -> bool:
    """Whether it is about a time in which the disk was full.

    It is from the first write that failed, until the groups were loaded again: at the next try after there was room.
    """
    from_ms, until_ms = claim.from_ms or 0, claim.until_ms or 0
    tries_ms = LOADED_AGAIN_MS + truth.was_away(empty_ms, until_ms)
    return full_ms <= from_ms <= empty_ms <= until_ms <= empty_ms + tries_ms


def _led(claim: claims.CoordinatorAway, truth: Truth) -> str | None:
    """Another node took over from the one that had led before it."""
    leaders = {each.next_node_id: each for each in truth.away if each.next_node_id is not None}
    node_id = claim.node_id or FIRST_NODE_ID
    away = leaders.get(node_id)
    if away is None or abs(away.until_ms - claim.at_ms) > NETWORK_MS:
        return f"node {node_id} took over from nobody then"
    if claim.other_node_id != max((each for each in leaders if each < node_id), default=FIRST_NODE_ID):
        return f"node {claim.other_node_id} had not led before it"
    return _ended_so(claim, away, truth)


def _started(claim: claims.CoordinatorAway, truth: Truth, context: Context) -> str | None:
    if claim.is_first or abs(claim.at_ms - context.begin_ms) <= NETWORK_MS:
        return None if abs(claim.at_ms - context.begin_ms) <= NETWORK_MS else "that was not the first start"
    found = [each for each in truth.away if each.kind is not AwayKind.PAUSED]
    away = next((each for each in found if abs(each.until_ms - claim.at_ms) <= NETWORK_MS), None)
    if away is None:
        return "it did not start then"
    return _ended_so(claim, away, truth)


def _ended_so(claim: claims.CoordinatorAway, away: Away, truth: Truth) -> str | None:
    """Whether the coordinator before had ended as it is told, and when."""
    was_ordered = claim.end in (claims.End.IN_ORDER, claims.End.IN_ORDER_UNTOLD)
    if claim.end is not claims.End.NOT_KNOWN and was_ordered != (away.kind is AwayKind.STOPPED):
        return f"the one before was {away.kind}"
    if claim.from_ms is not None and claim.from_ms > away.from_ms + NETWORK_MS:
        return f"it was away for {away.until_ms - away.from_ms} ms"
    began_ms = max((start for start in truth.starts(0, away.from_ms) if start != away.until_ms), default=0)
    if claim.from_ms is not None and claim.from_ms < began_ms - NETWORK_MS:
        return "it was there again since then"
    if claim.end is claims.End.IN_ORDER and claim.from_ms is not None and claim.from_ms < away.from_ms - NETWORK_MS:
        return f"it was away for {away.until_ms - away.from_ms} ms"
    return None


CHECKS: Final[dict[type[Claim], Check]] = {
    claims.Silent: silent,
    claims.Unheard: unheard,
    claims.Refused: refused,
    claims.Muted: muted,
    claims.CameAgain: came_again,
    claims.StoodStill: stood_still,
    claims.ConnectionClosed: connection_closed,
    claims.ConnectionOpen: connection_open,
    claims.MayBeClosed: may_be_closed,
    claims.Back: back,
    claims.UnheardSinceStart: unheard_since_start,
    claims.CoordinatorAway: coordinator_away,
}

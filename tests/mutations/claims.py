"""Each of what the claims about groups were once wrong in, put back."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "a member whose requests were refused was silent",
        "silence_of",
        "if removal.is_refused and removal.denied is not None:",
        "if False:",
    ),
    Mutant("a member whose connection was muted was silent", "silence_of", "if removal.is_muted:", "if False:"),
    Mutant(
        "a member that died around a restart was heard until its session ended",
        "Removal.stopped_ms",
        "return self.at_ms - (self.session_timeout_ms or 0) if is_expired else self.at_ms",
        "return self.at_ms",
    ),
    Mutant(
        "nothing is known of the silence of a member that is gone as its group changes its type",
        "groups._converted",
        "take_removal(history, departed, event.time_ms, event.seq)",
        "pass",
    ),
    Mutant(
        "a client cannot join though who had its instance id is gone",
        "_is_over",
        "return refusal.holder.member_id not in history.members",
        "return False",
    ),
    Mutant(
        "the process of a member that asked again may have ended",
        "_for_removal",
        "if again is not None and removal.cause is Cause.SESSION_EXPIRED:",
        "if False:",
    ),
    Mutant(
        "an assignor of an unknown name is eager, whatever its members claim",
        "rebalances._assigned",
        "history.owners.went_on(member.member_id)",
        "pass",
    ),
    Mutant(
        "a member owns its partitions until it was removed",
        "ownership._until_ms",
        "return max(generation.ended_ms or 0, removal.stopped_ms)",
        "return removal.at_ms",
    ),
    Mutant(
        "a member without partitions may have exceeded its poll interval",
        "_why_unsaid",
        "removal.owned != 0 and idle_ms is not None",
        "idle_ms is not None",
    ),
    Mutant(
        "a static member whose restart took too long is gone for good",
        "_for_removal",
        "if back is not None and takes_place and not _was_refused(removal, back.back_ms, context):",
        "if False:",
    ),
    Mutant(
        "the answer to a request that waited is a sign of life",
        "heard_until",
        "return min(heard_ms, connection.closed_ms)",
        "return heard_ms",
    ),
    Mutant(
        "any number of advices is given",
        "advice_claims",
        "return in_order[:ADVICE_MAX]",
        "return in_order",
    ),
)

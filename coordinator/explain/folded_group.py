"""What the events of a group told so far: its generations, its members, who has which partitions."""

from collections import deque
from typing import Final, NamedTuple

from coordinator.audit import schema
from coordinator.audit.schema import AuditEvent, MemberRef
from coordinator.explain.changes import Changes
from coordinator.explain.claims.findings import Identity
from coordinator.explain.generation import CLASSIC, Gap, Generation, Outcome
from coordinator.explain.known_member import MemberSoFar
from coordinator.explain.owners import Owners
from coordinator.explain.reconciliation import Reconciliations

GENERATIONS_KEPT: Final = 1_000
NOTES_KEPT: Final = 1_000
"""How many gaps, loads, offset resets, deletions and rejected requests are kept, the newest of each."""
SHARE_RECORDS_KEPT: Final = 60
"""Intervals of the records of a share group that are kept: as many as its findings may look at, and more."""

EMPTY: Final = "Empty"
STABLE: Final = "Stable"
PREPARING: Final = "PreparingRebalance"
COMPLETING: Final = "CompletingRebalance"
RECONCILED: Final = "STABLE"
"""The state of a member that has what it shall have in its epoch."""
NOT_READY: Final = "NotReady"
"""The state of a streams group whose topology cannot run."""
REBALANCE_STATES: Final = frozenset({PREPARING, COMPLETING, "Assigning", "Reconciling"})


def start_key(event: schema.CoordinatorEvent) -> str:
    """A start or takeover: one node can have several in the same millisecond, and several nodes too."""
    return f"{event.node_id} {event.coordinator_epoch} {event.time_ms}"


class Sign(NamedTuple):
    """That a node was there, at a wall-clock time in ms. Inferred events tell of none."""

    node_id: int | None
    at_ms: int


class Move(NamedTuple):
    """The broker that loaded a group, the one that gave it up, and for how long it had none; None: not seen."""

    broker: int | None = None
    before: int | None = None
    away_ms: int | None = None


class FoldedGroup:
    """A group as its events tell of it, up to the last one applied.

    Keeps the newest `generations_max` generations and `NOTES_KEPT` of all other lists.
    """

    def __init__(
        self,
        group_id: str,
        generations_max: int = GENERATIONS_KEPT,
        changes: Changes | None = None,
        owners: Owners | None = None,
    ) -> None:
        self.group_id = group_id
        self.generations: deque[Generation] = deque(maxlen=generations_max)
        """Oldest first, those that were cut short or superseded too."""
        self.ended: list[Generation] = []
        """Those that the last event applied ended, oldest first: each generation ends once."""
        self.members: dict[str, MemberSoFar] = {}
        self.state = ""
        self.group_type = CLASSIC
        self.generation_id = 0
        self.created_seq = 0
        self.coordinator_epoch = 0
        """That of the last event. Another one: the coordinator has restarted."""
        self.last_seq = -1
        self.first_ms: int | None = None
        self.last_ms: int | None = None
        self.begins_in_the_middle = False
        """Whether the events before the first one are missing, such as those deleted by retention."""
        self.doubles = 0
        self.gaps: deque[Gap] = deque(maxlen=NOTES_KEPT)
        self.loads: deque[schema.GroupLoaded] = deque(maxlen=NOTES_KEPT)
        self.loaded_ms: int | None = None
        """When the last load was."""
        self.joined_ms: dict[Identity, int] | None = None
        """Client → when a member of it joined last, of those present; None: not looked up since that changed."""
        self.conversions: deque[schema.GroupConverted] = deque(maxlen=NOTES_KEPT)
        self.unseen: deque[schema.GroupUnseen] = deque(maxlen=NOTES_KEPT)
        """What nodes that watch the group did not see."""
        self.coordinator_events: deque[schema.CoordinatorEvent] = deque(maxlen=NOTES_KEPT)
        """Starts, stops and pauses of the coordinator itself, if the reader of the events told of them."""
        self.last_sign: Sign | None = None
        """The last event of the group."""
        self.sign_before: Sign | None = None
        """The last one of the coordinator before that of the last event."""
        self.signs: dict[str, Sign | None] = {}
        """Start or takeover (`start_key`) → the last sign of the coordinator before among the events of the group."""
        self.held: deque[schema.GroupHeldByCluster] = deque(maxlen=NOTES_KEPT)
        """Who was in the group at the cluster, if nodes in front of a cluster are to coordinate it."""
        self.denials: deque[schema.AuthorizationDenied] = deque(maxlen=NOTES_KEPT)
        """Requests for this group that the authorizer refused."""
        self.is_folded = False
        """Whether a node coordinates the group by now, so that the last of `held` is over unless both do."""
        self.removals: deque[schema.GroupRemoved] = deque(maxlen=NOTES_KEPT)
        self.resets: deque[schema.OffsetsReset] = deque(maxlen=NOTES_KEPT)
        self.deletions: deque[schema.OffsetsDeleted | schema.OffsetsExpired] = deque(maxlen=NOTES_KEPT)
        self.rejected: deque[schema.RequestRejected] = deque(maxlen=NOTES_KEPT)
        self.share_records: deque[schema.ShareRecords] = deque(maxlen=SHARE_RECORDS_KEPT)
        """What became of the records of a share group, the newest intervals."""
        self.topology: schema.StreamsTopology | None = None
        """Why the topology of a streams group cannot run, as it was told last; None: it can, or it was not told."""
        self.not_ready_ms: int | None = None
        """Since when it cannot."""
        self.failed_topics: dict[str, str] = {}
        """Internal topics of a streams group that could not be created, and why."""
        self.shutdown: schema.StreamsShutdown | None = None
        """The last request that all members of a streams application end."""
        self.is_shutting_down = False
        """Whether it lasts: until the group is empty, or loaded again."""
        self.last_commit_ms: int | None = None
        """The end of the last interval in which offsets were committed."""
        self.clients: dict[str, MemberRef] = {}
        """Member id → the client that took the place of a static member."""
        self.pending_changes = changes or Changes()
        """Who came and who went since the last rebalance began."""
        self.owners = owners or Owners()

    is_observed = False
    is_of_cluster = False
    """Whether another Kafka coordinates the group by now: when our own coordinator is away says nothing of it then."""
    """Whether it is what is seen of a group of another Kafka: much that a coordinator tells itself is not in it."""

    def is_polled(self, generation: Generation) -> bool:
        """Whether its times are those of polls: what happened was some time before them."""
        return False

    def move_of(self, load: schema.GroupLoaded) -> Move:
        """Between which brokers of another Kafka the group moved with it."""
        return Move()

    late_to_rejoin: frozenset[str] = frozenset()
    """Of what is seen of a consumer group: the members of the classic protocol that did not join in time."""
    reasons_are_seen = True
    """Whether what clients say when they leave would be known (KIP-800)."""

    @property
    def exists(self) -> bool:
        return self.last_seq >= 0 and self.state != "Dead"

    @property
    def has_events(self) -> bool:
        """Whether anything was told of it, also if it was never coordinated here."""
        return self.last_seq >= 0 or bool(self.held)

    @property
    def held_by_cluster(self) -> schema.GroupHeldByCluster | None:
        """Who is in the group at the cluster now, though nodes in front of the cluster are to coordinate it."""
        last = self.held[-1] if self.held else None
        if last is None or not last.member_count or (self.is_folded and not last.is_owned):
            return None
        return last

    @property
    def latest(self) -> Generation | None:
        """The newest generation, or the rebalance in progress."""
        return self.generations[-1] if self.generations else None

    @property
    def latest_stable(self) -> Generation | None:
        return next(
            (generation for generation in reversed(self.generations) if generation.outcome is Outcome.STABLE), None
        )

    def generation(self, generation_id: int) -> Generation | None:
        """The newest generation with this id. One that counts is preferred to one that was cut short."""
        found = [generation for generation in self.generations if generation.generation_id == generation_id]
        return max(
            found,
            key=lambda generation: (generation.outcome is not Outcome.CUT_SHORT, generation.first_seq),
            default=None,
        )

    def before(self, generation: Generation) -> Generation | None:
        """The last stable generation before another one, in the same incarnation of the group."""
        for earlier in reversed(self.generations):
            if earlier.first_seq < generation.first_seq and earlier.outcome is Outcome.STABLE:
                return earlier if earlier.created_seq == generation.created_seq else None
        return None

    @property
    def joining(self) -> Generation | None:
        """The generation whose join phase is in progress; a group epoch has none: each change raises it again."""
        latest = self.latest
        if latest is None or not latest.is_open or latest.generation_started_ms is not None:
            return None
        return latest if latest.protocol.joins_again else None

    @property
    def pending(self) -> Changes:
        """Where a change of the members belongs: to the join phase in progress, else to the next rebalance."""
        return self.pending_changes if self.joining is None else self.joining.changes

    @property
    def awaiting(self) -> Generation | None:
        """The superseded epoch whose target is being computed. All epochs since then are superseded, too."""
        for generation in reversed(self.generations):
            if generation.awaits_target:
                return generation
            if not generation.is_open and generation.outcome is not Outcome.SUPERSEDED:
                return None
        return None

    def note_place(self, event: AuditEvent) -> None:
        """Notice missing events and the begin of another incarnation."""
        begins = event.seq == event.created_seq
        if self.last_seq < 0:
            self.first_ms = event.time_ms
            self.begins_in_the_middle = not begins
        elif event.seq != self.last_seq + 1 and not (begins and self.state == "Dead"):
            self.gaps.append(Gap(self.last_seq + 1, event.seq - 1, event.time_ms))
            self.pending_changes = Changes()
            self.owners.forget()
            if self.latest is not None and self.latest.is_open:
                self.latest.has_gap = True
        if event.created_seq != self.created_seq:
            self.end_awaiting()
            self.close_latest(Outcome.UNKNOWN, None)
            self.members.clear()
            self.clients.clear()
            self.pending_changes = Changes()
            self.owners = Owners(are_complete=begins)
            self.forget_topology()
            self.shutdown = None
            self.created_seq = event.created_seq

    def forget_topology(self) -> None:
        """Whether the topology of a streams group can run is told again, if it cannot."""
        self.topology, self.not_ready_ms, self.failed_topics = None, None, {}

    def note_sign(self, event: schema.CoordinatorEvent, sign: Sign | None) -> None:
        """What was the last sign of the coordinator before this start or takeover; None: there is none.

        A history that goes on is told again what it was told before.
        """
        key = start_key(event)
        if key in self.signs:
            return
        self.signs[key] = sign
        if len(self.signs) > NOTES_KEPT:
            del self.signs[next(iter(self.signs))]

    def open_generation(self, event: AuditEvent, generation_id: int) -> Generation:
        """The generation in progress; a new one if its start is not among the events."""
        latest = self.latest
        if latest is not None and latest.is_open and latest.generation_id == generation_id:
            latest.last_seq, latest.coordinator_epoch = event.seq, event.coordinator_epoch
            return latest
        found = self.begin_generation(event, generation_id)
        found.has_gap = True
        return found

    def begin_generation(self, event: AuditEvent, generation_id: int) -> Generation:
        """A new generation; one still in progress is closed, as its end is not among the events."""
        self.close_latest(Outcome.UNKNOWN, None)
        begun = Generation(self.group_id, event.created_seq, generation_id, event.seq, event.seq)
        begun.coordinator_epoch, begun.group_type = event.coordinator_epoch, self.group_type
        begun.reconciliations = Reconciliations() if begun.is_epoch else None
        self.generations.append(begun)
        return begun

    def close_latest(self, outcome: Outcome, at_ms: int | None) -> None:
        """End the generation in progress, if there is one, at `at_ms` since the epoch; None: not known when."""
        if self.latest is not None and self.latest.is_open:
            self.latest.outcome, self.latest.ended_ms = outcome, at_ms
            self.ended.append(self.latest)

    def end_awaiting(self) -> None:
        """A superseded epoch whose target was being computed has ended: the target came, or nobody waits for it."""
        awaiting = self.awaiting
        if awaiting is not None:
            awaiting.awaits_target = False
            self.ended.append(awaiting)

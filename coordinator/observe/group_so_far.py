"""What is known of a group from its records in `__consumer_offsets`, and the events that a change of it stands for.

The records say what a group is, never why. The events have the kinds and fields of the audit (`audit/schema/`), so
that one history (`explain/history.py`) is made of both, and `is_inferred`. What the records do not tell is null or left
out.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from coordinator.audit.schema import TRIGGERS_NAMED_MAX, TopicPartitions
from coordinator.core.causes import Cause, InferredCause, Requester
from coordinator.observe.places import Place

Event = dict[str, Any]

CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
"""The protocol of KIP-848."""
SHARE: Final = "share"
STREAMS: Final = "streams"


class MemberSoFar(msgspec.Struct):
    """A member as the records so far describe it. `epoch` and `is_settled` are those of a consumer group."""

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None = None
    topics: list[str] | None = None
    digest: bytes = b""
    partitions: TopicPartitions = {}
    unnamed_partitions: int = 0
    epoch: int = -1
    is_settled: bool = False
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    server_assignor: str | None = None
    """The one that a member of a consumer group asks for."""
    holds_names: bool = False
    """What it holds is told by the record of a classic group, and no record since its conversion."""

    def reference(self) -> dict[str, Any]:
        return {
            "member_id": self.member_id,
            "client_id": self.client_id,
            "client_host": self.client_host,
            "group_instance_id": self.group_instance_id,
        }

    @property
    def partition_count(self) -> int:
        return count(self.partitions) + self.unnamed_partitions


class GroupSoFar(msgspec.Struct):
    """A group as the records so far describe it. `seq` is that of its last event, whichever incarnation it was of.

    From `triggers` on, the fields are those of a consumer group's epoch.
    """

    seq: int = 0
    created_seq: int = 0
    protocol: str = ""
    """CLASSIC, CONSUMER, SHARE or STREAMS; empty while the group does not exist."""
    generation_id: int = 0
    state: str = ""
    protocol_type: str = ""
    protocol_name: str | None = None
    leader: str | None = None
    members: dict[str, MemberSoFar] = {}
    triggers: list[dict[str, Any]] = []
    """What happened since the last epoch began."""
    removed: dict[str, str | None] = {}
    """Member id → instance id of members whose records were removed: they have left when the epoch rises. A static one
    may be back in the next record, and those of a group that changes its protocol stay."""
    is_converting: bool = False
    """The records of the group were removed while it had members: the next one is of the other protocol."""
    topic_names: dict[str, str] = {}
    """Topic id → how it was named first: that stays, also if another name becomes known."""
    labels: dict[str, str] = {}
    """Topic → the id that it was named by while its group was one of KIP-848, and its name was not known."""
    metadata_hash: int | None = None
    started_ms: int | None = None
    is_open: bool = False
    has_all_members: bool = False
    """Of a group that lines alone tell of: they begin with it, so that all its members are known."""
    has_target: bool = False
    """Of an epoch of a share group, or that polls tell of: its target assignment is there, or was at a poll."""
    reads: dict[str, list[str]] = {}
    """Of a streams group: subtopology → the topics that its tasks read."""
    coordinator: int | None = None
    """The broker that loaded it last."""
    unloaded: Place | None = None
    """Where that broker said that it gave the group up."""
    polled: Place | None = None
    """The last poll that told something; None: no poll has told of it."""
    has_lines: bool = False
    """Whether lines tell what happens to it: then a poll tells how it is, and not what happened."""


def count(partitions: TopicPartitions) -> int:
    return sum(map(len, partitions.values()))


Trigger = dict[str, Any]


def trigger(cause: StrEnum, member: MemberSoFar | None, at_ms: int, reason: str = "") -> Trigger:
    who = None if member is None else member.reference()
    found = {"cause": str(cause), "member": who, "at_ms": at_ms}
    return found | {"reason": reason} if reason else found


class Removed(msgspec.Struct, frozen=True, gc=False):
    """How a member went, as far as it is known: the fields of `member.removed`. The default is all that records say."""

    cause: Cause | InferredCause = InferredCause.MEMBER_LEFT_OR_EXPIRED
    reason: str | None = None
    requested_by: Requester | None = None


GONE: Final = Removed()
MAY_BE_LATE: Final = "may_be_late"
"""Of a member that is gone, for who concludes why: it had not got to its epoch, so it may have been too late to give up
what it had."""


class EventEmitter:
    """Collects the events that what was seen of a group stands for, and numbers them."""

    def __init__(
        self, group_id: str, so_far: GroupSoFar, time_ms: int, explained: Mapping[str, Removed] | None = None
    ) -> None:
        """`explained`: member id → how it went, by what is known beside the records."""
        self.so_far = so_far
        self.time_ms = time_ms
        self.events: list[Event] = []
        self.places: tuple[Place, ...] = ()
        """Where the next events are seen."""
        self.removed_because: Cause | InferredCause = Cause.GROUP_REMOVED
        """Why the group is gone, if it is removed."""
        self.places_of: dict[int, tuple[Place, ...]] = {}
        """`seq` → where the event was seen."""
        self._group_id = group_id
        self._explained = {} if explained is None else explained
        self._state_before, self._generation_before = so_far.state, so_far.generation_id

    def emit(self, kind: str, **own: Any) -> None:
        so_far = self.so_far
        so_far.seq += 1
        if self.places:
            self.places_of[so_far.seq] = self.places
        self.events.append(
            {
                "kind": kind,
                "is_inferred": True,
                "group_id": self._group_id,
                "seq": so_far.seq,
                "created_seq": so_far.created_seq,
                "time_ms": self.time_ms,
                "generation_id": so_far.generation_id,
                "state": so_far.state,
                "generation_id_before": self._generation_before,
                "state_before": self._state_before,
                "coordinator_epoch": None,
                "node_id": self.places[0].broker_id if self.places else None,
                **own,
            }
        )
        self._state_before, self._generation_before = so_far.state, so_far.generation_id

    def create(self, protocol: str, protocol_type: str) -> None:
        """Begin an incarnation of the group."""
        so_far = self.so_far
        so_far.created_seq = so_far.seq + 1
        so_far.protocol, so_far.protocol_type, so_far.state, so_far.generation_id = protocol, protocol_type, "Empty", 0
        self.emit("group.created", group_type=protocol)

    def remove(self) -> None:
        """End the incarnation, if there is one."""
        so_far = self.so_far
        if not so_far.protocol:
            return
        so_far.state = "Dead"
        self.emit("group.removed", cause=str(self.removed_because))
        self.so_far = GroupSoFar(seq=so_far.seq)

    def join(self, member: MemberSoFar) -> None:
        self.so_far.members[member.member_id] = member
        self.emit(
            "member.joined",
            member=member.reference(),
            subscribed_topics=member.topics or [],
            session_timeout_ms=member.session_timeout_ms,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
        )

    def leave(self, member_id: str, removed: Removed | None = None) -> Trigger:
        """Return it as a trigger of the rebalance that it leads to."""
        member = self.so_far.members.pop(member_id)
        how = removed or self._explained.get(member_id, GONE)
        may_be_late = self.so_far.protocol in (CONSUMER, STREAMS) and not member.is_settled
        self.emit(
            "member.removed",
            member=member.reference(),
            cause=str(how.cause),
            reason=how.reason,
            requested_by=how.requested_by,
            session_timeout_ms=member.session_timeout_ms,
            **({MAY_BE_LATE: True} if may_be_late else {}),
        )
        found = trigger(how.cause, member, self.time_ms, how.reason or "")
        return found | {MAY_BE_LATE: True} if may_be_late else found

    def resubscribe(self, member: MemberSoFar, topics: list[str]) -> None:
        """A member subscribes to other topics than before."""
        self.emit("member.rejoined", member=member.reference(), metadata_changed=True, subscribed_topics=topics)

    def replace(self, old_member_id: str, member: MemberSoFar) -> None:
        """A static member came back under another member id."""
        old = self.so_far.members.pop(old_member_id)
        member.partitions, member.unnamed_partitions = old.partitions, old.unnamed_partitions
        self.so_far.members[member.member_id] = member
        self.emit(
            "static_member.replaced",
            member=member.reference(),
            old_member_id=old_member_id,
            old_client_id=old.client_id,
            old_client_host=old.client_host,
            subscribed_topics=member.topics,
            old_subscribed_topics=old.topics,
        )

    def assign(
        self,
        member: MemberSoFar,
        partitions: TopicPartitions,
        unnamed: int,
        join_ms: int | None = None,
        sync_ms: int | None = None,
    ) -> None:
        """Say what a member gained and lost, if anything; and when it joined and synced, if that was seen."""
        partitions = self.labelled(partitions)
        before, now = pairs(member.partitions), pairs(partitions)
        member.partitions, member.unnamed_partitions = partitions, unnamed
        if before == now and join_ms is None:
            return
        own: dict[str, Any] = {"partitions": partitions, "unnamed_partitions": unnamed, "readable": True}
        own |= {"join_ms": join_ms, "sync_ms": sync_ms}
        changes = {"gained": by_topic(now - before), "lost": by_topic(before - now)}
        self.emit("member.assigned", member=member.reference(), **own, **changes)

    def labelled(self, partitions: TopicPartitions) -> TopicPartitions:
        """Each topic by the name that it was told by before: else one topic counts as two."""
        labels = self.so_far.labels
        return (
            {labels.get(member_id, member_id): indexes for member_id, indexes in partitions.items()}
            if labels
            else partitions
        )

    def begin(self, generation_id: int, triggers: list[dict[str, Any]], started_ms: int | None, unseen: int) -> None:
        """A rebalance led, or leads, to a generation. `started_ms` is None if the records do not tell when it began."""
        first = triggers[0] if triggers else {"cause": None, "member": None}
        self.emit(
            "rebalance.started",
            cause=first["cause"],
            member=first["member"],
            reason=first.get("reason"),
            members=len(self.so_far.members),
            triggers=triggers[:TRIGGERS_NAMED_MAX],
            started_ms=started_ms,
            generations_unseen=unseen,
            # A group epoch has risen already; a classic generation is counted when all members have joined.
            **{"generation_id": generation_id - (self.so_far.protocol == CLASSIC)},
        )

    def convert(self, protocol: str) -> None:
        """The group goes on with the other protocol, and with the members that it has."""
        so_far = self.so_far
        so_far.protocol, so_far.state = protocol, "Stable"
        so_far.is_converting = so_far.is_open = False
        so_far.removed, so_far.triggers = {}, []
        so_far.metadata_hash = so_far.started_ms = None
        self.emit(
            "group.converted",
            group_type=protocol,
            protocol_type=so_far.protocol_type,
            protocol_name=so_far.protocol_name,
            leader=so_far.leader,
            members=self.snapshots(),
        )

    def load(self, loaded: Place) -> None:
        """Another broker coordinates the group from now on, or the same one again."""
        so_far, broker = self.so_far, loaded.broker_id
        self.places = (loaded,) if so_far.unloaded is None else (loaded, so_far.unloaded)
        so_far.coordinator, so_far.unloaded = broker, None
        self.emit(
            "group.loaded",
            group_type=so_far.protocol,
            protocol_type=so_far.protocol_type,
            protocol_name=so_far.protocol_name,
            leader=so_far.leader,
            members=self.snapshots(),
            lost=False,
        )

    def snapshots(self) -> list[Event]:
        return [
            {
                "member": member.reference(),
                "partitions": member.partitions,
                "unnamed_partitions": member.unnamed_partitions,
            }
            for member in self.so_far.members.values()
        ]

    def partition_count(self) -> int:
        return sum(member.partition_count for member in self.so_far.members.values())


def pairs(partitions: TopicPartitions) -> set[tuple[str, int]]:
    return {(topic, index) for topic, indexes in partitions.items() for index in indexes}


def by_topic(found: set[tuple[str, int]]) -> TopicPartitions:
    partitions: TopicPartitions = {}
    for topic, index in sorted(found):
        partitions.setdefault(topic, []).append(index)
    return partitions


def delete_or_convert(emitter: EventEmitter) -> None:
    """The records of the group were removed. One with members cannot be deleted: it changes its protocol.

    The records of the other protocol follow at once; records that are removed again are those of no conversion.
    """
    if emitter.so_far.members and not emitter.so_far.is_converting:
        emitter.so_far.is_converting = True
    else:
        emitter.remove()


def renamed(before: TopicPartitions, now: TopicPartitions) -> dict[str, str]:
    """Topic now → topic before, of a member that holds the same when its group changes its protocol.

    Only where one topic of before fits: records of one protocol have ids, and those of the other names.
    """
    missing = {member_id: indexes for member_id, indexes in before.items() if member_id not in now}
    new = {member_id: indexes for member_id, indexes in now.items() if member_id not in before}
    found = {}
    for topic, indexes in new.items():
        fitting = [member_id for member_id, held in missing.items() if sorted(held) == sorted(indexes)]
        same = [member_id for member_id, held in new.items() if sorted(held) == sorted(indexes)]
        if len(fitting) == len(same) == 1:
            found[topic] = fitting[0]
    return found

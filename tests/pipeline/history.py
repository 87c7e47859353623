"""Audit events of a group as a coordinator would tell them: contiguous `seq`, a clock that moves."""

from dataclasses import dataclass, field
from typing import Any

from coordinator.audit.schema import (
    AuditEvent,
    GenerationStable,
    GenerationStarted,
    GroupCreated,
    GroupEmptied,
    GroupLoaded,
    GroupRemoved,
    MemberAssigned,
    MemberRef,
    RebalanceStarted,
    RebalanceSuperseded,
    encode_event,
)
from coordinator.core.causes import Cause


def member(name: str, instance_id: str | None = None) -> MemberRef:
    return MemberRef(f"{name}-id", name, "/127.0.0.1", instance_id)


@dataclass
class History:
    group_id: str = "orders"
    now_ms: int = 1_700_000_000_000
    generation_id: int = 0
    state: str = "Empty"
    created_seq: int = 1
    events: list[AuditEvent] = field(default_factory=list)

    def add(self, kind: type[AuditEvent], state: str, *, next_generation: bool = False, **own: Any) -> None:
        self.now_ms += 10
        before, state_before = self.generation_id, self.state
        self.generation_id += next_generation
        self.state = state
        self.events.append(
            kind(
                group_id=self.group_id,
                seq=len(self.events) + 1,
                created_seq=self.created_seq,
                time_ms=self.now_ms,
                node_id=1,
                coordinator_epoch=3,
                generation_id_before=before,
                generation_id=self.generation_id,
                state_before=state_before,
                state=state,
                **own,
            )
        )

    def created(self) -> "History":
        self.created_seq = len(self.events) + 1
        self.generation_id, self.state = 0, "Empty"
        self.add(GroupCreated, "Empty")
        return self

    def removed(self) -> "History":
        self.add(GroupRemoved, "Dead", cause=Cause.ADMIN)
        return self

    def rebalance(self, cause: Cause, by: MemberRef | None, reason: str = "", members: int = 1) -> "History":
        self.add(RebalanceStarted, "PreparingRebalance", cause=cause, member=by, reason=reason, members=members)
        return self

    def started(self, members: int = 1, leader: str = "a-id") -> "History":
        own: dict[str, Any] = {"protocol_type": "consumer", "protocol_name": "range", "leader": leader}
        self.add(GenerationStarted, "CompletingRebalance", next_generation=True, members=members, join_ms=10, **own)
        return self

    def assigned(self, to: MemberRef, partitions: list[int]) -> "History":
        owned = {"orders": partitions}
        own: dict[str, Any] = {"readable": True, "partitions": owned, "gained": owned, "lost": {}, "kept": {}}
        self.add(MemberAssigned, "CompletingRebalance", member=to, **own)
        return self

    def stable(self, members: int = 1, moved: int = 0) -> "History":
        took: dict[str, Any] = {"join_ms": 10, "sync_ms": 20, "rebalance_ms": 30}
        counted: dict[str, Any] = {"partitions": 6, "partitions_moved": moved, "unowned_partition_ms": 180}
        self.add(GenerationStable, "Stable", members=members, **took, **counted)
        return self

    def superseded(self) -> "History":
        self.add(RebalanceSuperseded, "CompletingRebalance", rebalance_ms=40)
        return self

    def emptied(self) -> "History":
        self.add(GroupEmptied, "Empty", next_generation=True, rebalance_ms=50)
        return self

    def loaded(self, generation_id: int, state: str, void_from_seq: int | None) -> "History":
        """A start after a crash found the group as it was stored, which is another state than that of the audit."""
        self.generation_id = generation_id
        self.add(
            GroupLoaded,
            state,
            protocol_type="consumer",
            protocol_name="range",
            leader="a-id",
            members=[],
            void_from_seq=void_from_seq,
            lost=False,
        )
        return self

    def stable_with(self, cause: Cause, by: MemberRef, members: int = 1) -> "History":
        """One whole generation."""
        return self.rebalance(cause, by).started(members).assigned(by, [0, 1, 2]).stable(members, moved=members - 1)

    def values(self) -> list[bytes]:
        """The records' values, as they lie in the topic."""
        return [encode_event(event) for event in self.events]


def eventful(group_id: str = "orders") -> History:
    """A history in which each kind of ending occurs, and one rebalance is still going on."""
    a, b = member("a"), member("b", instance_id="till-1")
    return (
        History(group_id)
        .created()
        .stable_with(Cause.NEW_MEMBER, a)
        .rebalance(Cause.NEW_MEMBER, b, reason="first words", members=2)
        .started(members=2)
        .superseded()
        .rebalance(Cause.SESSION_EXPIRED, b)
        .started()
        .assigned(a, [0, 1, 2, 3, 4, 5])
        .stable()
        .rebalance(Cause.MEMBER_LEFT, a, reason="closing down", members=0)
        .emptied()
        .rebalance(Cause.NEW_MEMBER, b)
    )

"""What a node sees pass of a group that the cluster coordinates: facts, without a judgement of what they mean.

All times are those of the node, in ms since the epoch. `at_ms` is when it was seen, of an answer: when that passed.
`asked_ms` is when its request did. A fact is kept in a topic until the node that leads the group's partition has read
it.
"""

from typing import Final, TypeAlias

import msgspec

LATE_ANSWER_MS: Final = 1_000
"""Who closes its connection after waiting so long for an answer may have given up; sooner, its process has ended."""


class ClientSighted(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Who sent it: `software` is what the client's library calls itself (KIP-511), empty if it does not."""

    client_id: str = ""
    host: str = ""
    software: str = ""


class Sighting(msgspec.Struct, frozen=True, array_like=True, tag=True, gc=False):
    """What all have."""

    group_id: str
    at_ms: int
    node_id: int


class Asked(Sighting, frozen=True, gc=False):
    """A JoinGroup or SyncGroup passes. `generation_id` is that of a SyncGroup; else -1."""

    api: str
    member_id: str
    """Empty of a client that is new."""
    generation_id: int
    has_assignments: bool
    """It is the SyncGroup of the leader."""
    client: ClientSighted
    reason: str = ""
    group_instance_id: str | None = None
    """Of a JoinGroup."""


class Joined(Sighting, frozen=True, gc=False):
    """JoinGroup was answered. `member_id` is the id that it has by the answer; `members` are told to the leader alone.

    `error` is the code of the answer.
    """

    member_id: str
    asked_ms: int
    error: int
    generation_id: int
    leader: str
    client: ClientSighted
    group_instance_id: str | None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    reason: str
    asked_member_id: str
    """The id in the request; empty of a client that is new."""
    members: tuple[str, ...] = ()
    protocol_type: str = ""
    protocols: tuple[str, ...] = ()
    """What it offered: `PROTOCOLS_NAMED_MAX` names at most."""


class Synced(Sighting, frozen=True, gc=False):
    """SyncGroup was answered. `has_assignments`: it is that of the leader."""

    member_id: str
    asked_ms: int
    error: int
    generation_id: int
    has_assignments: bool


class Departure(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A member that a LeaveGroup is about."""

    member_id: str
    group_instance_id: str | None
    reason: str
    error: int
    committed_ms: int | None = None
    """When its last commit was answered well; None: none was by way of this node."""


class Left(Sighting, frozen=True, gc=False):
    """LeaveGroup was answered. `is_own`: its client was a member of the group by what this node had seen."""

    asked_ms: int
    error: int
    members: tuple[Departure, ...]
    client: ClientSighted
    is_own: bool


class Beat(Sighting, frozen=True, gc=False):
    """A heartbeat was answered with an error, or another epoch than it had; or a commit with an error.

    `epoch` is that of the request; of the classic protocol it is the generation.
    """

    member_id: str
    asked_ms: int
    api: str
    epoch: int
    error: int
    answered_epoch: int
    client: ClientSighted
    group_instance_id: str | None = None


class Heard(Sighting, frozen=True, gc=False):
    """A member is heard that was silent, or that this node had not heard before."""

    member_id: str
    client: ClientSighted


class Silent(Sighting, frozen=True, gc=False):
    """A member has not been heard for longer than it should have been."""

    member_id: str
    last_heard_ms: int


class Closed(Sighting, frozen=True, gc=False):
    """The connection of a member is closed. `by_client`: its client's side closed it first; else the broker's, or the
    node itself did."""

    member_id: str
    last_heard_ms: int
    by_client: bool
    is_unanswered: bool = False
    """A request of the member was not answered by then: it may have given up waiting."""


class Unseen(Sighting, frozen=True, gc=False):
    """From `from_ms` until `at_ms` the node did not see all that passed. Made by who reads what nodes say."""

    from_ms: int
    because: str


class Watches(Sighting, frozen=True, gc=False):
    """Of the node itself, and of no group: all that it saw until `at_ms` was told before this.

    It has looked since `run_ms`, by the present rules since `since_ms`. In the time from `lost_from_ms`, if it is not
    None, it saw more than it could keep.
    """

    run_ms: int
    since_ms: int
    lost_from_ms: int | None = None
    lost_until_ms: int = 0


AnySighting: TypeAlias = Asked | Joined | Synced | Left | Beat | Heard | Silent | Closed | Unseen | Watches

encode_sighting = msgspec.msgpack.Encoder().encode
decode_sighting = msgspec.msgpack.Decoder(AnySighting).decode

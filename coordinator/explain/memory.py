"""What a reader of a long history keeps of a group between two parts of it: enough for the findings, and bounded."""

import zlib
from typing import Final

import msgspec

from coordinator.audit import schema
from coordinator.explain.changes import Changes
from coordinator.explain.folded_group import Sign
from coordinator.explain.generation import CLASSIC, Generation, Outcome
from coordinator.explain.history import GroupHistory
from coordinator.explain.known_member import MemberSoFar
from coordinator.explain.owners import Owners

GENERATIONS_REMEMBERED: Final = 50
PARTS_REMEMBERED: Final = 2_000
"""Members of all remembered generations together. Of larger groups, fewer are remembered: those since the group was
stable, at least."""

REJECTIONS_REMEMBERED: Final = 20

PACK_LEVEL: Final = 1


class Memory(msgspec.Struct, gc=False):
    """A `GroupHistory` without most of its notes, and without the partitions of all generations but the last."""

    group_id: str
    generations: list[Generation] = []
    members: dict[str, MemberSoFar] = {}
    state: str = ""
    generation_id: int = 0
    created_seq: int = 0
    last_seq: int = -1
    first_ms: int | None = None
    last_ms: int | None = None
    begins_in_the_middle: bool = False
    last_commit_ms: int | None = None
    changes: Changes = msgspec.field(default_factory=Changes)
    owners: Owners = msgspec.field(default_factory=Owners)
    coordinator_epoch: int = 0
    rejected: list[schema.RequestRejected] = []
    clients: dict[str, schema.MemberRef] = {}
    group_type: str = CLASSIC
    held: list[schema.GroupHeldByCluster] = []
    last_sign: Sign | None = None
    sign_before: Sign | None = None
    signs: dict[str, Sign | None] = {}
    loaded_ms: int | None = None
    denials: list[schema.AuthorizationDenied] = []
    topology: schema.StreamsTopology | None = None
    not_ready_ms: int | None = None
    failed_topics: dict[str, str] = {}
    shutdown: schema.StreamsShutdown | None = None
    is_shutting_down: bool = False


def remember(history: GroupHistory) -> Memory:
    """The end of a history. The history must not be used any more."""
    generations: list[Generation] = []
    parts, has_stable = 0, False
    for generation in reversed(history.generations):
        if generations and not generation.awaits_target:
            _forget_details(generation)
        changes = generation.changes
        parts += len(generation.members) + len(changes.joined) + len(changes.removed) + len(changes.replaced)
        if len(generations) == GENERATIONS_REMEMBERED or (has_stable and parts > PARTS_REMEMBERED):
            break
        generations.append(generation)
        has_stable |= generation.outcome is Outcome.STABLE
    return Memory(
        history.group_id,
        generations[::-1],
        history.members,
        history.state,
        history.generation_id,
        history.created_seq,
        history.last_seq,
        history.first_ms,
        history.last_ms,
        history.begins_in_the_middle,
        history.last_commit_ms,
        history.pending_changes,
        history.owners,
        history.coordinator_epoch,
        list(history.rejected)[-REJECTIONS_REMEMBERED:],
        history.clients,
        history.group_type,
        [] if history.held_by_cluster is None else list(history.held)[-1:],
        history.last_sign,
        history.sign_before,
        history.signs,
        history.loaded_ms,
        list(history.denials)[-REJECTIONS_REMEMBERED:],
        history.topology,
        history.not_ready_ms,
        history.failed_topics,
        history.shutdown,
        history.is_shutting_down,
    )


def recall(memory: Memory) -> GroupHistory:
    """The history to go on with."""
    history = GroupHistory(memory.group_id, GENERATIONS_REMEMBERED, memory.changes, memory.owners)
    history.generations.extend(memory.generations)
    history.members = memory.members
    history.state, history.generation_id = memory.state, memory.generation_id
    history.created_seq, history.last_seq = memory.created_seq, memory.last_seq
    history.coordinator_epoch = memory.coordinator_epoch
    history.rejected.extend(memory.rejected)
    history.clients = memory.clients
    history.group_type = memory.group_type
    history.held.extend(memory.held)
    history.last_sign, history.sign_before, history.signs = memory.last_sign, memory.sign_before, memory.signs
    history.first_ms, history.last_ms = memory.first_ms, memory.last_ms
    history.loaded_ms = memory.loaded_ms
    history.denials.extend(memory.denials)
    history.topology, history.not_ready_ms = memory.topology, memory.not_ready_ms
    history.failed_topics, history.shutdown = memory.failed_topics, memory.shutdown
    history.is_shutting_down = memory.is_shutting_down
    history.begins_in_the_middle, history.last_commit_ms = memory.begins_in_the_middle, memory.last_commit_ms
    return history


def _forget_details(generation: Generation) -> None:
    """What no finding asks of a generation that has a later one."""
    for part in generation.members.values():
        part.partitions, part.gained, part.lost, part.kept = {}, {}, {}, {}
        part.worker = part.worker_before = None
    generation.triggers, generation.topic_changes, generation.recreated_topics = [], {}, []
    generation.pending_members, generation.never_synced = [], []
    generation.moved_tasks = {}
    if generation.reconciliations is not None:
        generation.reconciliations = generation.reconciliations.slowest_alone()


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Memory).decode


def packed(history: GroupHistory) -> bytes:
    """What is remembered of a history, compressed. The history must not be used any more.

    Raises:
        OverflowError: a number does not fit into 64 bits.
    """
    return zlib.compress(_encode(remember(history)), PACK_LEVEL)


def unpacked(memory: bytes) -> GroupHistory:
    return recall(_decode(zlib.decompress(memory)))

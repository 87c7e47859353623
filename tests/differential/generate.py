"""Random histories. What comes next is drawn with a view to what the members know, so that groups form, work and break.

Most steps are what a client would do next; the others are what it should not do: old generations, ids of others, wrong
protocols, requests out of turn or sent twice.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from _wire.embedded import encode_versioned
from _wire.errors import ErrorCode
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from tests.differential.play import INITIAL_DELAY, LONG_MS, SHORT_REBALANCE_MS, SHORT_SESSION_MS
from tests.differential.sides import CLOSED, TOPICS
from tests.differential.steps import Close, Outcome, Pause, Rest, Send, Step

MIN_SESSION_MS: Final = 500
MAX_SESSION_MS: Final = 1_800_000
METADATA_BYTES_MAX: Final = 20

PROTOCOL_LISTS: Final = (("a",), ("a", "b"), ("b", "a"), ("b", "c", "a"), ("c", "a"))
"""What members offer; "a" is in all of them, so most can meet. Where votes are tied Kafka takes the first of a hash
map, which for these names is the first by name, as ours."""
STRANGE_PROTOCOL_LISTS: Final = ((), ("d",), ("b", "c"))
INSTANCES: Final = ("i1", "i2", "i3")
STATES: Final = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "stable", "nonsense")
BURST_STEPS: Final = 8
"""Where timers are short, so many steps at most come between two times of rest."""
PAUSES: Final = 2
"""So many pauses at most: after another one, or with steps after a third, a timer of the first burst may run out."""

Body = dict[str, Any]


def _subscription(topics: list[str], user_data: bytes, version: int) -> str:
    return "0x" + encode_versioned(ConsumerProtocolSubscription(topics=topics, user_data=user_data), version).hex()


METADATA: Final = (
    _subscription(["orders"], b"", 0),
    _subscription(["orders"], b"rack", 1),
    _subscription(["returns"], b"", 3),
    _subscription(["orders", "returns"], b"", 2),
    "0x",
)
"""What members say of themselves; the last one is no subscription."""


def _position(partition: int) -> Body:
    return {"partition_index": partition, "committed_offset": 1, "committed_metadata": ""}


def _too_long(partition: int) -> Body:
    return _position(partition) | {"committed_metadata": "x" * (METADATA_BYTES_MAX + 1)}


@dataclass
class Actor:
    """A client and its state. `waiting` has its requests without a response: label → connection."""

    name: str
    instance_id: str | None
    protocols: tuple[str, ...]
    metadata: str
    member_id: str = ""
    generation_id: int = -1
    protocol_name: str | None = None
    leads: bool = False
    members: list[str] = field(default_factory=list)
    next_move: str = "join"
    waiting: dict[str, str] = field(default_factory=dict)


class Generator:
    """A story for one seed (see `play.Story`): the same seed and the same answers give the same steps."""

    def __init__(self, seed: int, profile: str, versions: Mapping[str, tuple[int, int]]) -> None:
        """`versions`: API → those that both sides serve; what one does not serve is not asked."""
        self.profile = profile
        self._random = random.Random(f"{profile} {seed}")
        self._versions = versions
        self.hurries = profile == INITIAL_DELAY or self._random.random() < 0.35
        self._protocol_type = self._random.choice(("consumer", "consumer", "connect"))
        self._actors = [self._new_actor(name) for name in "abcd"[: self._random.choice((1, 2, 2, 3, 3, 4))]]
        self._actor_of: dict[str, Actor] = {}
        self._sent: dict[str, Send] = {}
        self._steps_left = self._random.randint(20, 60)
        self._in_burst = self._pauses = 0
        self._seen_ids = ["nobody"]
        self._rebalance_ms = self._pick(SHORT_REBALANCE_MS, LONG_MS) if self.hurries else LONG_MS

    def _new_actor(self, name: str) -> Actor:
        instance_id = self._random.choice((None, None, "i1", "i2"))
        return Actor(name, instance_id, self._random.choice(PROTOCOL_LISTS), self._random.choice(METADATA))

    # ---- what comes next

    def next_step(self) -> Step | None:
        self._steps_left -= 1
        if self._steps_left < 0:
            return None
        if self.hurries and (time := self._time_passes()) is not None:
            return time
        self._in_burst += 1
        actor = self._random.choice(self._actors)
        closable = self._closable(actor)
        if closable and self._chance(0.08):
            return self._close(actor, self._random.choice(closable))
        while True:
            moves = SENSIBLE[actor.next_move] if self._chance(0.65) else ODD
            move = self._random.choices(list(moves), list(moves.values()))[0]
            api, at_least, body = move(self, actor)
            if api in self._versions:
                return self._send(actor, api, at_least, body)

    def _time_passes(self) -> Step | None:
        if self._in_burst >= BURST_STEPS or self._chance(0.06):
            self._in_burst = self._pauses = 0
            return Rest()
        if self.profile == "default" and self._in_burst > 0 and self._pauses < PAUSES and self._chance(0.12):
            self._pauses += 1
            return Pause()
        return None

    def _closable(self, actor: Actor) -> list[str]:
        """Connections with one request waiting. What is behind it in line might still be read, or not: that is free."""
        lines = list(actor.waiting.values())
        return [connection for connection in lines if lines.count(connection) == 1]

    def _close(self, actor: Actor, connection: str) -> Close:
        (label,) = (label for label, where in actor.waiting.items() if where == connection)
        del actor.waiting[label]
        if not actor.waiting:
            actor.next_move = "join"
        return Close(connection)

    def _send(self, actor: Actor, api: str, at_least: int, body: Body) -> Send:
        first, last = self._versions[api]
        version = self._random.randint(max(first, at_least), last)
        busy = set(actor.waiting.values())
        free = next(name for name in (f"{actor.name}{number}" for number in count()) if name not in busy)
        # How many ids an instance was given shows in the name of its next one, so who names it does not wait in line.
        may_line_up = busy and all(each.get("group_instance_id") is None for each in (body, *body.get("members", ())))
        connection = self._random.choice(sorted(busy)) if may_line_up and self._chance(0.1) else free
        step = Send(f"s{len(self._sent) + 1}", connection, api, version, body)
        self._sent[step.label], self._actor_of[step.label] = step, actor
        actor.waiting[step.label] = connection
        return step

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _pick(self, *values: Any) -> Any:
        return self._random.choice(values)

    # ---- what the members learn

    def heard(self, step: Step, outcome: Outcome) -> None:
        for label, answer in outcome.answers.items():
            actor, sent = self._actor_of[label], self._sent[label]
            actor.waiting.pop(label, None)
            if answer != CLOSED and sent.body.get("group_id") == "g":
                self._learn(actor, sent, answer)
        if isinstance(step, Rest) and self._rebalance_ms == SHORT_REBALANCE_MS and self._is_gathering(outcome):
            # Static members that are late stay, and the join phase begins anew each time it is over: when it will be
            # over next is a matter of chance.
            self._steps_left = 0
        if isinstance(step, Send) and step.label not in outcome.answers and step.api in ("JoinGroup", "SyncGroup"):
            self._actor_of[step.label].next_move = "wait"

    def _is_gathering(self, outcome: Outcome) -> bool:
        return any(group["group_state"] == "PreparingRebalance" for group in outcome.groups)

    def _learn(self, actor: Actor, sent: Send, answer: Body) -> None:
        error = ErrorCode(answer.get("error_code", 0))
        if sent.api == "JoinGroup" and error is ErrorCode.NONE:
            actor.member_id, actor.generation_id = answer["member_id"], answer["generation_id"]
            actor.protocol_name = answer["protocol_name"]
            actor.leads = answer["leader"] == answer["member_id"]
            actor.members = [member["member_id"] for member in answer["members"]]
            actor.next_move = "sync"
            self._remember(actor.member_id)
        elif sent.api == "JoinGroup" and error is ErrorCode.MEMBER_ID_REQUIRED:
            actor.member_id, actor.next_move = answer["member_id"], "join"
            self._remember(actor.member_id)
        elif sent.api == "SyncGroup" and error is ErrorCode.NONE:
            actor.next_move = "work"
        elif error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID) and self._is_own(actor, sent):
            actor.member_id, actor.next_move = "", "join"
        elif error in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION):
            actor.next_move = "join"
        elif sent.api == "LeaveGroup" and self._is_own(actor, sent):
            actor.member_id, actor.next_move = "", "join"

    def _is_own(self, actor: Actor, sent: Send) -> bool:
        said = [sent.body, *sent.body.get("members", [])]
        return any(each.get("member_id") == actor.member_id for each in said)

    def _remember(self, member_id: str) -> None:
        if member_id not in self._seen_ids:
            self._seen_ids.append(member_id)

    # ---- requests as a client would send them

    def _join(self, actor: Actor) -> tuple[str, int, Body]:
        if self._chance(0.15):
            actor.metadata = self._pick(*METADATA)
        if self._chance(0.07):
            actor.protocols = self._pick(*PROTOCOL_LISTS)
        body: Body = {
            "group_id": "g",
            "session_timeout_ms": self._pick(SHORT_SESSION_MS, LONG_MS) if self.hurries else LONG_MS,
            "rebalance_timeout_ms": self._rebalance_ms,
            "member_id": actor.member_id,
            "protocol_type": self._protocol_type,
            "protocols": [{"name": name, "metadata": actor.metadata} for name in actor.protocols],
            "reason": self._pick(None, "", "because"),
        }
        if actor.instance_id is not None:
            body["group_instance_id"] = actor.instance_id
        if actor.instance_id is not None and self._chance(0.9):
            return "JoinGroup", 5, body
        # In version 0 the session timeout is the rebalance timeout, too.
        return "JoinGroup", 1 if self.hurries else 0, body

    def _sync(self, actor: Actor) -> tuple[str, int, Body]:
        body = self._as_member(actor, {})
        body |= {"protocol_type": self._protocol_type, "protocol_name": actor.protocol_name or "a"}
        if actor.leads:
            given = [member for member in actor.members if not self._chance(0.1)]
            body["assignments"] = [self._assignment(member, actor.generation_id) for member in given]
        return "SyncGroup", 0, body

    def _assignment(self, member_id: str, generation_id: int) -> Body:
        return {"member_id": member_id, "assignment": f"0x{f'{member_id} {generation_id}'.encode().hex()}"}

    def _as_member(self, actor: Actor, more: Body) -> Body:
        body: Body = {"group_id": "g", "generation_id": actor.generation_id, "member_id": actor.member_id} | more
        if actor.instance_id is not None and self._chance(0.8):
            body["group_instance_id"] = actor.instance_id
        return body

    def _heartbeat(self, actor: Actor) -> tuple[str, int, Body]:
        return "Heartbeat", 0, self._as_member(actor, {})

    def _leave(self, actor: Actor) -> tuple[str, int, Body]:
        member: Body = {"member_id": actor.member_id, "reason": self._pick(None, "done")}
        if actor.instance_id is not None:
            member["group_instance_id"] = actor.instance_id
        return "LeaveGroup", 0, {"group_id": "g", "member_id": actor.member_id, "members": [member]}

    def _commit(self, actor: Actor) -> tuple[str, int, Body]:
        member = self._as_member(actor, {"topics": self._commit_topics(strange=0.03)})
        member["generation_id_or_member_epoch"] = member.pop("generation_id")
        return "OffsetCommit", 0, member

    def _commit_topics(self, strange: float) -> list[Body]:
        topics = []
        for name in self._random.sample(sorted(TOPICS), self._pick(1, 1, 2)):
            said = f"no-{name}" if self._chance(strange) else name
            partitions = [
                {
                    "partition_index": index,
                    "committed_offset": self._pick(0, 7, self._random.randrange(1 << 40), -1),
                    "committed_leader_epoch": self._pick(-1, 0, 3),
                    "committed_metadata": self._pick(None, "", "at work", "x" * METADATA_BYTES_MAX),
                }
                for index in self._random.sample(range(TOPICS[name]), self._random.randint(1, TOPICS[name]))
            ]
            topics.append({"name": said, "topic_id": said, "partitions": partitions})
        return topics

    def _fetch(self, actor: Actor) -> tuple[str, int, Body]:
        groups: list[Body] = [
            {"group_id": group, "topics": self._fetch_topics()}
            for group in self._pick(("g",), ("g",), ("g", "h"), ("h",), ())
        ]
        if actor.member_id and self._chance(0.3):
            for group in groups:
                group |= {"member_id": actor.member_id, "member_epoch": actor.generation_id}
        # Null for all topics came with version 2; the list of version 1 has something in it to be about.
        topics = self._fetch_topics()
        body = {"group_id": "g", "topics": topics, "groups": groups, "require_stable": self._chance(0.5)}
        return "OffsetFetch", 2 if topics is None else 0, body

    def _fetch_topics(self) -> list[Body] | None:
        if self._chance(0.4):
            return None
        names = self._random.sample(sorted(TOPICS), self._pick(0, 1, 2))
        topics: list[Body] = [
            {"name": name, "topic_id": name, "partition_indexes": self._random.sample(range(4), self._pick(1, 2, 4))}
            for name in names
        ]
        if self._chance(0.1):
            topics.append({"name": "unheard-of", "topic_id": "unheard-of", "partition_indexes": [0, 1]})
        return topics

    # ---- requests that a client should not send, or that administrators do

    def _strange_join(self, actor: Actor) -> tuple[str, int, Body]:
        api, at_least, body = self._join(actor)
        change: Body = self._pick(
            {"member_id": ""},
            {"member_id": ""},
            {"member_id": self._pick(*self._seen_ids)},
            {"member_id": self._pick(*self._seen_ids)},
            {"group_instance_id": self._pick(*INSTANCES)},
            {"protocol_type": self._pick("", "other", "connect", "consumer")},
            {"protocols": [{"name": name, "metadata": "0x01"} for name in self._pick(*STRANGE_PROTOCOL_LISTS)]},
            {"session_timeout_ms": self._pick(MIN_SESSION_MS - 1, MAX_SESSION_MS + 1, 0)},
            {"group_id": self._pick("", "h")},
        )
        return api, at_least, body | change

    def _strange_member_body(self, actor: Actor) -> Body:
        change: Body = self._pick(
            {"generation_id": actor.generation_id + self._pick(-1, 1)},
            {"generation_id": self._pick(-1, 0)},
            {"member_id": self._pick(*self._seen_ids)},
            {"member_id": ""},
            {"group_instance_id": self._pick(*INSTANCES)},
            {"group_id": self._pick("", "h")},
            {},
        )
        return self._as_member(actor, {}) | change

    def _strange_heartbeat(self, actor: Actor) -> tuple[str, int, Body]:
        return "Heartbeat", 0, self._strange_member_body(actor)

    def _strange_sync(self, actor: Actor) -> tuple[str, int, Body]:
        body = self._strange_member_body(actor)
        body["protocol_type"] = self._pick(self._protocol_type, self._protocol_type, "other", None)
        body["protocol_name"] = self._pick("a", actor.protocol_name, "b", None)
        if self._chance(0.5):
            body["assignments"] = [self._assignment(member, -1) for member in self._random.sample(self._seen_ids, 1)]
        return "SyncGroup", 0, body

    def _strange_leave(self, actor: Actor) -> tuple[str, int, Body]:
        members: list[Body] = []
        for _ in range(self._pick(0, 1, 2, 2, 3)):
            member_id = self._pick("", actor.member_id, *self._seen_ids)
            instance_id = self._pick(None, None, *INSTANCES)
            members.append(
                {"member_id": member_id, "group_instance_id": instance_id, "reason": self._pick(None, "why")}
            )
        body = {"group_id": self._pick("g", "g", "g", "g", "h", ""), "members": members}
        return "LeaveGroup", 0, body | {"member_id": self._pick(*self._seen_ids)}

    def _strange_commit(self, actor: Actor) -> tuple[str, int, Body]:
        body = self._strange_member_body(actor)
        body["generation_id_or_member_epoch"] = body.pop("generation_id")
        # A commit makes the group without a name, too, but that is one for all histories of a server.
        body["group_id"] = body["group_id"] or "h"
        body["topics"] = self._commit_topics(strange=0.3)
        if self._chance(0.2):
            # Beside it one that is taken: a commit of which nothing is makes a group on Kafka that shows only once
            # some other group of its partition is stored.
            body["topics"] = [{"name": "orders", "topic_id": "orders", "partitions": [_too_long(0), _position(1)]}]
        if self._chance(0.3):
            body["retention_time_ms"] = self._pick(-1, 3_600_000)
        return "OffsetCommit", 0, body

    def _simple_commit(self, actor: Actor) -> tuple[str, int, Body]:
        body = {"group_id": self._pick("g", "g", "h"), "topics": self._commit_topics(strange=0.1)}
        return "OffsetCommit", 0, body | {"member_id": self._pick("", "", "nobody")}

    def _delete_offsets(self, actor: Actor) -> tuple[str, int, Body]:
        topics = [
            {"name": topic["name"], "partitions": [{"partition_index": index} for index in topic["partition_indexes"]]}
            for topic in self._fetch_topics() or ()
        ]
        return "OffsetDelete", 0, {"group_id": self._pick("g", "g", "g", "h", ""), "topics": topics}

    def _describe(self, actor: Actor) -> tuple[str, int, Body]:
        groups = self._pick(["g"], ["g", "h"], ["h"], ["unheard-of", "g"], [""], [])
        return "DescribeGroups", 0, {"groups": groups, "include_authorized_operations": self._chance(0.3)}

    def _list(self, actor: Actor) -> tuple[str, int, Body]:
        states = self._random.sample(STATES, self._pick(0, 0, 1, 2))
        types = self._random.sample(("classic", "Classic", "consumer", "share"), self._pick(0, 0, 1, 2))
        return "ListGroups", 0, {"states_filter": states, "types_filter": types}

    def _delete(self, actor: Actor) -> tuple[str, int, Body]:
        return (
            "DeleteGroups",
            0,
            {"groups_names": self._pick(["g"], ["g"], ["h"], ["g", "h"], ["unheard-of"], [""], [])},
        )

    def _find(self, actor: Actor) -> tuple[str, int, Body]:
        keys = self._pick(["g"], ["g", "h"], [""], [])
        return "FindCoordinator", 0, {"key": self._pick("g", ""), "coordinator_keys": keys, "key_type": 0}


Move = Callable[[Generator, Actor], tuple[str, int, Body]]

SENSIBLE: Final[dict[str, dict[Move, int]]] = {
    "join": {Generator._join: 1},
    "wait": {Generator._join: 1, Generator._heartbeat: 1, Generator._describe: 1, Generator._fetch: 1},
    "sync": {Generator._sync: 10, Generator._heartbeat: 1, Generator._commit: 1},
    "work": {
        Generator._heartbeat: 4,
        Generator._commit: 4,
        Generator._fetch: 2,
        Generator._join: 3,
        Generator._sync: 1,
        Generator._leave: 1,
    },
}
"""What a client might do next, by what it has just learnt, with weights."""

ODD: Final[dict[Move, int]] = {
    Generator._strange_join: 5,
    Generator._strange_heartbeat: 3,
    Generator._strange_sync: 4,
    Generator._strange_leave: 3,
    Generator._strange_commit: 4,
    Generator._simple_commit: 2,
    Generator._delete_offsets: 2,
    Generator._fetch: 2,
    Generator._describe: 2,
    Generator._list: 2,
    Generator._delete: 2,
    Generator._find: 1,
}

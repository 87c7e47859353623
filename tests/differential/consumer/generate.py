"""Random histories of consumer groups. Most steps are what a client would do next; the others are what it should not.

A history is of one kind (`KINDS`). Timeouts are so long that time decides nothing, but where it is of TIMEOUTS.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from _wire.errors import ErrorCode
from tests.differential.consumer.classic import ASSIGNOR, ClassicActor
from tests.differential.consumer.classic import NAME as CLASSIC
from tests.differential.consumer.play import AFTER_SHORT_MS, LOOK_AGAIN_MS, SHORT_MS
from tests.differential.consumer.side import GROUP, TOPICS
from tests.differential.consumer.steps import ChangeTopic, ConsumerStep, Wait
from tests.differential.consumer.transactional import NAME as PRODUCER
from tests.differential.consumer.transactional import TransactionalActor
from tests.differential.sides import CLOSED
from tests.differential.stateful import Restart
from tests.differential.steps import Send

LONG_MS: Final = 600_000
PLAIN: Final = "plain"
PATTERNS_TOO: Final = "regular expressions"
LATER_PATTERNS: Final = "regular expressions that are looked at again"
TIMEOUTS: Final = "short timeouts"
RESTARTED: Final = "restart"
MADE_ID: Final = "ids made by the server"
KINDS: Final = {PLAIN: 42, PATTERNS_TOO: 28, LATER_PATTERNS: 3, TIMEOUTS: 15, RESTARTED: 4, MADE_ID: 8}
"""Kinds of histories → how often, in percent."""
GROUP_RESOURCE: Final = 32
LATER_TOPICS: Final = ("~t3", "~u4")
NAMES: Final[tuple[list[str], ...]] = (
    *(["~t1"], ["~t1", "~t2"], ["~t2", "~t1", "~t2"], ["~t3"]),
    *(["~t1", "~none"], ["~none"], [], ["~u4", "~t2"]),
)
PATTERNS: Final = ("~t.*", "~.*", "~t[12]", "~none.*", "~(u4|t3)")
BAD_PATTERNS: Final = ("(", "[", "a**", "(?=a)", "*")
ASSIGNORS: Final = (None, None, None, "uniform", "range")
ODD_ASSIGNORS: Final = ("", "Uniform", "sticky", "RANGE")
INSTANCES: Final = (None, None, None, "i1", "i2")
BLANK: Final = ("", " ", "\t")
PARTITIONS_MAX: Final = 6

Body = dict[str, Any]
Move = Callable[[], tuple[str, int, Body] | ChangeTopic]


@dataclass
class Actor:
    """A client and what it knows."""

    name: str
    member_id: str = ""
    """As the server knows it: the name, or what the server made."""
    instance_id: str | None = None
    names: list[str] | None = None
    pattern: str | None = None
    epoch: int = 0
    epochs: list[int] = field(default_factory=lambda: [0])
    owned: list[Body] = field(default_factory=list)
    assigned: list[Body] = field(default_factory=list)
    is_member: bool = False
    is_known: bool = False
    """Whether the group may have it, also if it does not know that it is a member."""

    def forget(self) -> None:
        self.epoch, self.owned, self.assigned, self.is_member = 0, [], [], False


class Generator:
    """A story for one seed: the same seed and the same answers give the same steps."""

    def __init__(self, seed: int, versions: Mapping[str, tuple[int, int]]) -> None:
        self._random = random.Random(f"consumer {seed}")
        self._versions = versions
        (self._kind,) = self._random.choices(list(KINDS), list(KINDS.values()))
        self.hurries = self._kind == TIMEOUTS
        self._has_patterns = self._kind in (PATTERNS_TOO, LATER_PATTERNS)
        self._actors = self._some_actors()
        has_classic = self._kind != MADE_ID and self._chance(0.45)
        self._classic = ClassicActor(self._random, has_short_timeouts=self.hurries) if has_classic else None
        self._producer = TransactionalActor(self._random) if self._chance(0.25) else None
        self._partitions: dict[str, int] = {}
        self._begin: list[ConsumerStep] = [ChangeTopic(name, count) for name, count in TOPICS.items()]
        self._steps_left = self._random.randint(15, 50)
        self._restart_at = self._random.randint(5, self._steps_left - 3) if self._kind == RESTARTED else None
        self._wait_at = self._steps_left - self._random.randint(6, 14)
        self._sent = 0
        self._classic_owner, self._producer_owner = Actor(CLASSIC), Actor(PRODUCER)
        self._actor_of: dict[str, Actor] = {}

    def _some_actors(self) -> list[Actor]:
        """The server puts a member whose id it makes anywhere in a hash map, so it is alone."""
        if self._kind == MADE_ID:
            return [Actor("A")]
        return [Actor(name, name) for name in "ABCD"[: self._random.choice((1, 2, 2, 3, 3, 4))]]

    def next_step(self) -> ConsumerStep | None:
        if self._begin:
            return self._begin.pop(0)
        self._steps_left -= 1
        if self._steps_left < 0:
            return None
        if self._steps_left == self._restart_at:
            return Restart(self._pick("kill", "stop"))
        if self._steps_left == self._wait_at and self._kind in (TIMEOUTS, LATER_PATTERNS):
            return self._wait()
        if self._classic is not None and self._chance(0.3):
            request = self._classic.next_request(may_be_made=not any(each.is_member for each in self._actors))
            return self._send(self._classic_owner, *request)
        if self._producer is not None and self._chance(0.2):
            return self._transactional(self._producer)
        while True:
            actor = self._random.choice(self._actors)
            moves = self._sensible(actor) if self._chance(0.7) else self._odd(actor)
            made = self._random.choices(list(moves), list(moves.values()))[0]()
            if isinstance(made, ChangeTopic):
                if self.hurries:
                    continue  # that takes too long
                return made
            api, at_least, body = made
            if api in self._versions:
                return self._send(actor, api, at_least, body)

    def _wait(self) -> Wait:
        if self._kind == LATER_PATTERNS:
            return Wait(LOOK_AGAIN_MS)
        self._wait_at = self._steps_left - self._random.randint(6, 14)
        return Wait(AFTER_SHORT_MS)

    def _transactional(self, producer: TransactionalActor) -> Send:
        actor = self._random.choice(self._actors)
        epoch = self._pick(actor.epoch, actor.epoch, actor.epoch, *actor.epochs)
        member = {"member_id": actor.member_id, "generation_id": epoch, "group_instance_id": actor.instance_id}
        if self._classic is not None and self._chance(0.3):
            member = self._classic.committed_by()
        if self._chance(0.2):
            member = {"member_id": self._pick("", "nobody"), "generation_id": -1, "group_instance_id": None}
        own = [(each["topic_id"], each["partitions"]) for each in actor.assigned]
        topics = self._pick(own or [("~t1", [0])], own or [("~t2", [0, 1])], [("~t1", [0])])
        api, first, last, body = producer.next_request(
            member, self._offsets([topic for topic in topics if topic[0].startswith("~")])
        )
        return self._send(self._producer_owner, api, first, body, last)

    def _send(self, actor: Actor, api: str, at_least: int, body: Body, at_most: int | None = None) -> Send:
        first, last = self._versions[api]
        if body.get("subscribed_topic_regex") is not None:
            at_least = 1
        if api == "ConsumerGroupHeartbeat" and body.get("member_id") == "":
            # Elsewhere an id that the server makes would put the member anywhere in a hash map.
            at_least, at_most = (0, 0) if self._kind == MADE_ID else (1, None)
        self._sent += 1
        last = last if at_most is None else min(last, at_most)
        step = Send(f"s{self._sent}", actor.name, api, self._random.randint(max(first, at_least), last), body)
        self._actor_of[step.label] = actor
        return step

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _pick(self, *values: Any) -> Any:
        return self._random.choice(values)

    def heard(self, step: ConsumerStep, answer: Any) -> None:
        if isinstance(step, ChangeTopic):
            self._partitions[step.topic] = step.partitions
            if not step.partitions:
                del self._partitions[step.topic]
        if not isinstance(step, Send):
            return
        if self._classic is not None and step.connection == CLASSIC:
            self._classic.heard(step.api, step.body, answer)
        if self._producer is not None and step.connection == PRODUCER:
            self._producer.heard(step.api, answer)
        if step.api != "ConsumerGroupHeartbeat" or answer == CLOSED or step.body.get("group_id") != GROUP:
            return
        actor = self._actor_named(step)
        if actor is None:
            return
        error = ErrorCode(answer["error_code"])
        if error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND):
            actor.forget()
            actor.is_known = actor.is_known and error is ErrorCode.FENCED_MEMBER_EPOCH
        if error is not ErrorCode.NONE:
            return
        self._learn(actor, step.body, answer)

    def _actor_named(self, step: Send) -> Actor | None:
        """Whose member id a heartbeat has, or gets."""
        member_id = step.body.get("member_id")
        if self._kind == MADE_ID and not member_id:
            return self._actor_of[step.label]
        return next((actor for actor in self._actors if actor.member_id == member_id), None)

    def _learn(self, actor: Actor, body: Body, answer: Body) -> None:
        actor.member_id = answer["member_id"]
        actor.epoch = answer["member_epoch"]
        actor.is_member = actor.is_known = actor.epoch >= 0
        actor.epochs = [*actor.epochs[-4:], actor.epoch]
        if actor.epoch < 0:
            actor.is_known = actor.epoch != -1
            actor.forget()
            return
        if body.get("member_epoch", 0) == 0:
            actor.owned, actor.instance_id = [], body.get("instance_id")
        if body.get("topic_partitions") is not None:
            actor.owned = body["topic_partitions"]
        if answer["assignment"] is not None:
            actor.assigned = answer["assignment"]["topic_partitions"]
        for field_name, attribute in (("subscribed_topic_names", "names"), ("subscribed_topic_regex", "pattern")):
            if body.get(field_name) is not None:
                setattr(actor, attribute, body[field_name])

    # ---- moves

    def _sensible(self, actor: Actor) -> dict[Move, int]:
        if not actor.is_member:
            return {
                lambda: self._join(actor): 12,
                self._describe: 1,
                self._change_topic: 1,
                lambda: self._commit(actor): 1,
                self._delete_group: 1,
            }
        return {
            lambda: self._heartbeat(actor): 6,
            lambda: self._heartbeat(actor, topic_partitions=actor.assigned): 12,
            lambda: self._full(actor): 5,
            lambda: self._subscribe(actor): 4,
            lambda: self._leave(actor): 2,
            lambda: self._commit(actor): 4,
            lambda: self._fetch(actor): 2,
            self._change_topic: 2,
            self._change_session_timeout: 3 if self.hurries else 0,
        }

    def _odd(self, actor: Actor) -> dict[Move, int]:
        return {
            lambda: self._join(actor): 5,
            lambda: self._odd_join(actor): 5,
            lambda: self._odd_heartbeat(actor): 14,
            lambda: self._leave(actor): 2,
            lambda: self._odd_leave(actor): 4,
            lambda: self._odd_commit(actor): 6,
            lambda: self._odd_fetch(actor): 3,
            lambda: self._odd_subscribe(actor): 5,
            self._delete_offsets: 2,
            self._delete_group: 2,
            self._list: 2,
            self._describe: 2,
            self._change_topic: 2,
        }

    def _subscription(self) -> Body:
        """Names, a pattern, or both."""
        names = {"subscribed_topic_names": self._pick(*NAMES)}
        if not self._has_patterns or self._chance(0.4):
            return names
        pattern = {"subscribed_topic_regex": self._pick(*PATTERNS)}
        return names | pattern if self._chance(0.3) else pattern

    def _rebalance_ms(self) -> int:
        return int(self._pick(SHORT_MS, SHORT_MS, LONG_MS)) if self.hurries else LONG_MS

    def _join(self, actor: Actor) -> tuple[str, int, Body]:
        body: Body = {
            "group_id": GROUP,
            "member_id": actor.member_id,
            "member_epoch": 0,
            # What Kafka does with a member that takes another instance id is of no use to anybody: the old id is never
            # free again, and its partitions, or those of the member that it replaces, may be assigned to nobody.
            "instance_id": actor.instance_id if actor.is_known else self._pick(*INSTANCES),
            "rebalance_timeout_ms": self._rebalance_ms(),
            "server_assignor": ASSIGNOR if self._classic is not None else self._pick(*ASSIGNORS),
            "topic_partitions": [],
        }
        return "ConsumerGroupHeartbeat", 0, body | self._subscription()

    def _odd_join(self, actor: Actor) -> tuple[str, int, Body]:
        _, _, body = self._join(actor)
        odd = self._pick(
            {"topic_partitions": None},
            {"topic_partitions": actor.assigned or [{"topic_id": "~t1", "partitions": [0]}]},
            {"rebalance_timeout_ms": self._pick(-1, 0, -2, 1)},
            {"subscribed_topic_names": None, "subscribed_topic_regex": None},
            {"member_id": self._pick(*BLANK)},
            {"group_id": self._pick(*BLANK)},
            {"instance_id": self._pick(*BLANK)},
            {"rack_id": self._pick("", " ", "r1")},
            {"server_assignor": self._pick(*ODD_ASSIGNORS)},
            {"subscribed_topic_names": None, "subscribed_topic_regex": self._pick(*BAD_PATTERNS)},
            {"subscribed_topic_names": [self._pick("", "~t1", "a b", "." * 300)]},
        )
        return "ConsumerGroupHeartbeat", 0, body | odd

    def _heartbeat(self, actor: Actor, **fields: Any) -> tuple[str, int, Body]:
        body = {
            "group_id": GROUP,
            "member_id": actor.member_id,
            "member_epoch": actor.epoch,
            "instance_id": actor.instance_id,
            **fields,
        }
        return "ConsumerGroupHeartbeat", 0, body

    def _full(self, actor: Actor) -> tuple[str, int, Body]:
        return self._heartbeat(
            actor,
            rebalance_timeout_ms=self._rebalance_ms(),
            subscribed_topic_names=actor.names or [],
            topic_partitions=self._pick(actor.owned, actor.assigned),
            **({"subscribed_topic_regex": actor.pattern} if actor.pattern is not None else {}),
        )

    def _subscribe(self, actor: Actor) -> tuple[str, int, Body]:
        return self._heartbeat(actor, **self._subscription())

    def _odd_subscribe(self, actor: Actor) -> tuple[str, int, Body]:
        fields = self._pick(
            {"subscribed_topic_names": []},
            {"subscribed_topic_regex": ""} if self._has_patterns else {"subscribed_topic_names": ["~t2"]},
            {"subscribed_topic_names": ["~t1"], "topic_partitions": []},
            {"subscribed_topic_regex": self._pick(*BAD_PATTERNS)},
            {"server_assignor": self._pick(*([ASSIGNOR] if self._classic is not None else ASSIGNORS), *ODD_ASSIGNORS)},
            {"rack_id": self._pick("", "r1", "r2")},
            {"rebalance_timeout_ms": self._pick(0, -2, self._rebalance_ms())},
        )
        return self._heartbeat(actor, **fields)

    def _some(self, partitions: list[Body]) -> list[Body]:
        """Some of the partitions, perhaps none."""
        found = []
        for partition in partitions:
            kept = [index for index in partition["partitions"] if self._chance(0.6)]
            if kept:
                found.append({"topic_id": partition["topic_id"], "partitions": kept})
        return found

    def _owned(self, actor: Actor) -> Any:
        return self._pick(
            None,
            [],
            actor.owned,
            self._some(actor.assigned),
            self._some(actor.owned),
            [{"topic_id": "~t1", "partitions": [0, 1, 2]}],
            [{"topic_id": "missing", "partitions": [0]}],
            [{"topic_id": "~t1", "partitions": [0, 0, 99]}],
        )

    def _odd_heartbeat(self, actor: Actor) -> tuple[str, int, Body]:
        epoch = self._pick(actor.epoch, actor.epoch, *actor.epochs, actor.epoch + 1, max(actor.epoch - 1, 1), 2**31 - 1)
        fields: Body = {"member_epoch": epoch, "topic_partitions": self._owned(actor)}
        if self._chance(0.15):
            fields["instance_id"] = self._pick("i1", "i2", "i3", " ", None)
        if self._chance(0.1):
            fields["member_id"] = self._pick("nobody", "", *(each.member_id for each in self._actors))
        if self._chance(0.05):
            fields["group_id"] = self._pick("~other", "", "~h")
        if self._chance(0.15):
            fields |= {"rebalance_timeout_ms": self._rebalance_ms(), "subscribed_topic_names": actor.names or []}
        return self._heartbeat(actor, **fields)

    def _leave(self, actor: Actor) -> tuple[str, int, Body]:
        epoch = -2 if actor.instance_id and self._chance(0.6) else -1
        return self._heartbeat(actor, member_epoch=epoch)

    def _odd_leave(self, actor: Actor) -> tuple[str, int, Body]:
        fields: Body = {"member_epoch": self._pick(-1, -2, -2, -3, -(2**31))}
        if self._chance(0.5):
            fields["instance_id"] = self._pick(None, "i1", "i2", "i3", "")
        if self._chance(0.2):
            fields["member_id"] = self._pick("nobody", "")
        if self._chance(0.2):
            fields["server_assignor"] = self._pick(*ODD_ASSIGNORS)
        return self._heartbeat(actor, **fields)

    # ---- offsets

    def _offsets(self, topics: list[tuple[str, list[int]]]) -> list[Body]:
        return [
            {
                "name": name,
                "topic_id": name,
                "partitions": [
                    {"partition_index": index, "committed_offset": self._random.randint(0, 9), "committed_metadata": ""}
                    for index in indexes
                ],
            }
            for name, indexes in topics
        ]

    def _commit(self, actor: Actor) -> tuple[str, int, Body]:
        own = [(each["topic_id"], each["partitions"]) for each in actor.assigned]
        return self._commit_of(actor.member_id, actor.epoch, own or [("~t1", [0])])

    def _commit_of(self, member_id: str, epoch: int, topics: list[tuple[str, list[int]]]) -> tuple[str, int, Body]:
        body = {
            "group_id": GROUP,
            "member_id": member_id,
            "generation_id_or_member_epoch": epoch,
            "topics": self._offsets([topic for topic in topics if topic[0].startswith("~")]),
        }
        return "OffsetCommit", 9, body

    def _odd_commit(self, actor: Actor) -> tuple[str, int, Body]:
        epoch = self._pick(*actor.epochs, actor.epoch, actor.epoch - 1, actor.epoch + 1, -1, 0)
        member_id = self._pick(actor.member_id, actor.member_id, actor.member_id, "nobody", "")
        topics = self._pick([("~t1", [0, 1])], [("~t2", [0])], [("~none", [0])], [("~t1", [0]), ("~t2", [1, 7])])
        api, _, body = self._commit_of(member_id, epoch, topics)
        return api, self._pick(2, 8, 9, 9, 10), body

    def _fetch(self, actor: Actor) -> tuple[str, int, Body]:
        return self._fetch_of(actor.member_id, actor.epoch, None)

    def _fetch_of(self, member_id: str | None, epoch: int, topics: Any) -> tuple[str, int, Body]:
        group = {"group_id": GROUP, "member_id": member_id, "member_epoch": epoch, "topics": topics}
        return "OffsetFetch", 9, {"groups": [group], "require_stable": self._chance(0.5)}

    def _odd_fetch(self, actor: Actor) -> tuple[str, int, Body]:
        topics = [{"name": name, "topic_id": name, "partition_indexes": [0, 9]} for name in ("~t1", "~none")]
        epoch = self._pick(*actor.epochs, actor.epoch + 1, -1)
        # Kafka fails with an exception for an epoch without a member.
        member_id = self._pick(actor.member_id, "nobody", "", *([None] if epoch == -1 else []))
        return self._fetch_of(member_id, epoch, self._pick(None, topics, []))

    def _delete_offsets(self) -> tuple[str, int, Body]:
        topics = [{"name": name, "partitions": [{"partition_index": 0}]} for name in ("~t1", "~t2", "~none")]
        return "OffsetDelete", 0, {"group_id": GROUP, "topics": topics}

    # ---- groups and topics

    def _delete_group(self) -> tuple[str, int, Body]:
        return "DeleteGroups", 0, {"groups_names": [GROUP]}

    def _list(self) -> tuple[str, int, Body]:
        body = {
            "states_filter": self._pick([], ["Stable"], ["empty"], ["Reconciling", "assigning"]),
            "types_filter": self._pick([], ["consumer"], ["Consumer"], ["classic"], ["nonsense"]),
        }
        return "ListGroups", 5, body

    def _describe(self) -> tuple[str, int, Body]:
        group_ids = self._pick([GROUP, "~other"], [""], [" ", GROUP], [GROUP, GROUP], [])
        return (
            "ConsumerGroupDescribe",
            0,
            {
                "group_ids": group_ids,
                "include_authorized_operations": self._chance(0.5),
            },
        )

    def _change_session_timeout(self) -> tuple[str, int, Body]:
        config = {
            "name": "consumer.session.timeout.ms",
            "config_operation": 0,
            "value": str(self._pick(SHORT_MS, SHORT_MS, LONG_MS)),
        }
        resource = {"resource_type": GROUP_RESOURCE, "resource_name": GROUP, "configs": [config]}
        return "IncrementalAlterConfigs", 0, {"resources": [resource], "validate_only": False}

    def _change_topic(self) -> ChangeTopic:
        name = self._pick(*TOPICS, *LATER_TOPICS)
        count = self._partitions.get(name, 0)
        if not count:
            return ChangeTopic(name, self._random.randint(1, 4))
        grown = self._random.randint(count + 1, count + 2)
        return ChangeTopic(name, grown if self._chance(0.6) and grown <= PARTITIONS_MAX else 0)

"""Random steps of a share group. What members hold and which epochs they have is learned from Kafka's answers."""

import random
from dataclasses import dataclass, field
from typing import Any, Final

from tests.differential.share_groups.steps import Place, Step, place_of, place_text

MEMBERS: Final = ("m1", "m2", "m3")
TOPICS: Final = {"t": 2, "u": 1}
"""The topics of a history at its beginning → partitions."""
LATER: Final = "v"
KEEPER: Final = "keeper"
"""Loads each partition alone, so that no answer depends on how long that takes; its session stays."""
LOAD_MS: Final = 400
SHORT_LOCK_MS: Final = 1_000
WAIT_MS: Final = 1_500
STEPS: Final = 45
STEPS_BEFORE_A_WAIT: Final = 4
CONFIGS: Final = {
    "share.isolation.level": ("read_committed", "read_uncommitted"),
    "share.delivery.count.limit": ("2", "3", "5", "10"),
    "share.auto.offset.reset": ("earliest", "latest", "by_duration:PT0S", "by_duration:PT1H", "never"),
    "share.renew.acknowledge.enable": ("true", "false"),
    "share.partition.max.record.locks": ("100", "99", "4000"),
    "share.heartbeat.interval.ms": ("6000", "1"),
}
BYTES: Final = 1 << 20
RECORDS: Final = 500
"""More than a history has."""
ACCEPT: Final = 1
TYPES: Final = (0, 1, 1, 1, 2, 2, 2, 3)
WRONG_TYPES: Final = (4, 5, -1)


@dataclass
class Member:
    """What a member knows."""

    epoch: int = 0
    """In the group; 0: it is none."""
    session: int = 0
    """Epoch of the next request; 0: it has no session."""
    places: list[Place] = field(default_factory=list)
    """Of the session."""
    held: dict[Place, list[tuple[int, int]]] = field(default_factory=dict)


class Generator:
    """A story that goes on with what Kafka has answered."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._members = {name: Member() for name in MEMBERS}
        self._partitions: dict[str, int] = {}
        self._loaded: set[Place] = set()
        self._stale: set[Place] = set()
        """Their states have changed below who has them in memory."""
        self._in_transaction = False
        self._keeper_epoch = 0
        self._keeps: Place | None = None
        self._locks_end = seed % 5 == 0
        self._since_locked = 0
        self._left = STEPS
        self._next = self._prelude()

    def _prelude(self) -> list[Step]:
        steps = [Step("change_topic", {"topic": topic, "partitions": count}) for topic, count in TOPICS.items()]
        reset = self._rng.choice(["earliest", "earliest", "latest"])
        steps.append(Step("configure", {"name": "share.auto.offset.reset", "value": reset}))
        if self._locks_end:
            ms = str(SHORT_LOCK_MS)
            steps.append(Step("configure", {"name": "share.record.lock.duration.ms", "value": ms}))
        steps.append(Step("heartbeat", {"member": "m1", "epoch": 0, "names": list(TOPICS)}))
        steps.append(Step("heartbeat", {"member": "m1", "epoch": 2, "names": None}))
        for topic, count in TOPICS.items():
            steps += [self._load((topic, index)) for index in range(count)]
        return steps

    def _load(self, place: Place) -> Step:
        others = [] if self._keeps in (None, place) else [place_text(self._keeps)]
        self._keeps = place
        step = self._fetch_step(KEEPER, self._keeper_epoch, {place_text(place): []}, others, max_records=1, mode=1)
        step.arguments["max_wait_ms"] = LOAD_MS
        self._keeper_epoch = 1 if step.arguments["epoch"] == 0 else step.arguments["epoch"] + 1
        return step

    # ---- what was answered

    def heard(self, step: Step, answer: Any) -> None:
        """Learn from Kafka's answer."""
        arguments = step.arguments
        match step.kind:
            case "change_topic":
                self._changed(arguments["topic"], arguments["partitions"])
            case "heartbeat":
                if answer["error"] == 0:
                    self._members[arguments["member"]].epoch = max(answer["epoch"], 0)
            case "fetch" | "acknowledge":
                self._heard_of_records(step, answer)
            case "disconnect":
                self._gone(arguments["member"])
            case "alter_offset" if answer[0] == 0:
                self._stale.add(place_of(arguments["place"]))
                self._loaded.discard(place_of(arguments["place"]))
            case "delete_offsets" if answer[0] == 0:
                self._forget({place for place in self._loaded | self._stale if place[0] == arguments["topic"]})
            case "delete_group" if answer == 0:
                self._forget(self._loaded | self._stale)
            case "end_transaction":
                self._in_transaction = False
            case "produce" if arguments.get("transactional"):
                self._in_transaction = True
            case "wait":
                self._since_locked = 0
                for member in self._members.values():
                    member.held.clear()

    def _changed(self, topic: str, count: int) -> None:
        if count:
            self._partitions[topic] = count
        else:
            self._partitions.pop(topic)
            self._forget({place for place in self._loaded | self._stale if place[0] == topic})

    def _forget(self, places: set[Place]) -> None:
        self._loaded -= places
        self._stale |= places

    def _gone(self, name: str) -> None:
        member = self._members[name]
        self._touched({*member.held, *member.places})
        self._members[name] = Member(epoch=member.epoch)

    def _touched(self, places: set[Place]) -> None:
        """What is written of a state that has changed drops it from memory."""
        self._loaded -= places & self._stale

    def _heard_of_records(self, step: Step, answer: Any) -> None:
        name, epoch = step.arguments["member"], step.arguments["epoch"]
        if name == KEEPER:
            (place,) = map(place_of, step.arguments["adds"])
            told = answer["places"].get(place_text(place))
            if told is None or told["error"] == 0:
                self._loaded.add(place)
            return
        member = self._members[name]
        if answer["error"]:
            return
        if epoch == -1:
            self._gone(name)
            return
        named = step.arguments["adds" if step.kind == "fetch" else "batches"]
        self._touched({place_of(place) for place, batches in named.items() if batches})
        if step.kind == "fetch":
            if epoch == 0:
                member.places = []
            forgotten = set(map(place_of, step.arguments["forgets"]))
            both = [*member.places, *map(place_of, named)]
            member.places = [place for place in dict.fromkeys(both) if place not in forgotten]
        member.session = 1 if epoch == 0 else epoch + 1
        for text, told in answer["places"].items():
            place = place_of(text)
            if told["has_leader"]:
                self._loaded.discard(place)
            if step.kind == "fetch" and told["acquired"]:
                self._since_locked = max(self._since_locked, 1)
                member.held.setdefault(place, []).extend((first, last) for first, last, _ in told["acquired"])

    # ---- what comes next

    def next_step(self) -> Step | None:
        if self._next:
            return self._next.pop(0)
        if self._locks_end and self._since_locked > STEPS_BEFORE_A_WAIT:
            return Step("wait", {"ms": WAIT_MS})
        if self._since_locked:
            self._since_locked += 1
        self._left -= 1
        if self._left < 0:
            return None
        choices = {
            self._fetch: 12,
            self._acknowledge: 10,
            self._produce: 8,
            self._heartbeat: 3,
            self._end_session: 2,
            self._transaction: 3,
            self._delete_records: 1,
            self._configure: 1,
            self._administer: 0 if self._locks_end else 2,
            self._change_topic: 0 if self._locks_end else 1,
        }
        chosen: Step = self._rng.choices(list(choices), list(choices.values()))[0]()
        return chosen

    def _place(self) -> Place:
        return self._rng.choice([(topic, index) for topic, count in self._partitions.items() for index in range(count)])

    def _fetch(self) -> Step:
        rng = self._rng
        name = rng.choice(MEMBERS)
        member = self._members[name]
        missing = [place for place in self._all_places(member) if place not in self._loaded]
        if missing:
            return self._without(name, member, missing)
        epoch = self._epoch(member)
        if epoch == 0 and member.places:
            member = Member(epoch=member.epoch, held=member.held)
        adds: dict[str, list[Any]] = {place_text(place): [] for place in self._to_add(member)}
        if rng.random() < 0.4 and (epoch > 0 or rng.random() < 0.1):
            adds |= self._batches(member)
        forgets = []
        if member.places and rng.random() < 0.1:
            forgets.append(place_text(rng.choice(member.places)))
        step = self._fetch_step(name, epoch, adds, forgets)
        if len({*map(place_of, adds), *member.places}) > 1:
            # Which of several partitions gets what does not suffice for all, Kafka decides by chance.
            step.arguments.update(max_bytes=BYTES, max_records=RECORDS)
        return step

    def _all_places(self, member: Member) -> list[Place]:
        return [place for place in member.places if place[0] in self._partitions]

    def _without(self, name: str, member: Member, missing: list[Place]) -> Step:
        """Load what is not, or leave it out if that is not possible."""
        if self._rng.random() < 0.8:
            first = self._load(missing[0])
            self._next.append(self._load(missing[0]))
            return first
        return Step("disconnect", {"member": name})

    def _to_add(self, member: Member) -> list[Place]:
        others = sorted(self._loaded - set(member.places))
        if not others or (member.places and self._rng.random() < 0.8):
            return []
        if self._rng.random() < 0.6:
            return [self._rng.choice(others)]
        return self._rng.sample(others, self._rng.randrange(1, len(others) + 1))

    def _fetch_step(
        self,
        name: str,
        epoch: int,
        adds: dict[str, Any],
        forgets: list[str] | None = None,
        max_records: int | None = None,
        mode: int | None = None,
    ) -> Step:
        rng = self._rng
        return Step(
            "fetch",
            {
                "member": name,
                "epoch": epoch,
                "adds": adds,
                "forgets": forgets or [],
                "max_wait_ms": rng.choice([0, 0, 20]),
                "min_bytes": rng.choice([0, 1, 1]),
                "max_bytes": rng.choice([BYTES, BYTES, BYTES, 100, 1]),
                "max_records": rng.choice([1, 2, 3, 5, 10, RECORDS, RECORDS, 0])
                if max_records is None
                else max_records,
                "batch_size": rng.choice([1, 2, 4, RECORDS, RECORDS]),
                "share_acquire_mode": rng.choice([0, 1]) if mode is None else mode,
            },
        )

    def _epoch(self, member: Member) -> int:
        if self._rng.random() < 0.06:
            return self._rng.choice([0, member.session + 1, max(member.session - 1, 0), 77])
        return member.session

    def _batches(self, member: Member) -> dict[str, list[Any]]:
        """Acknowledgements of what a member holds, or of what it does not."""
        rng = self._rng
        places = [place for place in member.held if member.held[place] and place[0] in self._partitions]
        if not places:
            # Named in a fetch, a place becomes part of the session: one that is not loaded could not be compared.
            loaded = sorted(place for place in self._loaded if place[0] in self._partitions)
            return {place_text(rng.choice(loaded)): [[0, 0, [ACCEPT]]]} if loaded and rng.random() < 0.3 else {}
        chosen = rng.sample(places, rng.randrange(1, len(places) + 1))
        return {place_text(place): self._batches_of(member.held[place]) for place in chosen}

    def _batches_of(self, held: list[tuple[int, int]]) -> list[Any]:
        rng = self._rng
        batches = []
        for first, last in sorted(rng.sample(held, min(len(held), rng.randrange(1, 4)))):
            start, end = first, last
            if rng.random() < 0.4:
                start = rng.randrange(first, last + 1)
                end = rng.randrange(start, last + 1)
            count = end - start + 1
            types = [rng.choice(TYPES) for _ in range(count if rng.random() < 0.4 else 1)]
            batches.append([start, end, types])
            whole = (start, end) == (first, last)
            if whole and rng.random() < 0.9:
                held.remove((first, last))
        if rng.random() < 0.12:
            self._spoil(batches)
        return batches

    def _spoil(self, batches: list[Any]) -> None:
        rng = self._rng
        spoiled = rng.choice(batches)
        match rng.randrange(6):
            case 0:
                spoiled[1] += rng.choice([1, 5])
            case 1:
                spoiled[0] = max(spoiled[0] - rng.choice([1, 5]), 0)
            case 2:
                spoiled[2] = []
            case 3:
                spoiled[2] = [rng.choice(WRONG_TYPES)]
            case 4:
                spoiled[2] = [ACCEPT] * (spoiled[1] - spoiled[0] + 2)
            case _:
                batches.append(list(spoiled))

    def _acknowledge(self) -> Step:
        rng = self._rng
        holders = [name for name in MEMBERS if any(self._members[name].held.values())]
        if not holders and rng.random() < 0.8:
            return self._fetch()
        name = rng.choice(holders or MEMBERS)
        member = self._members[name]
        arguments: dict[str, Any] = {"member": name, "epoch": self._epoch(member), "batches": self._batches(member)}
        if rng.random() < 0.1:
            arguments["version"] = 1
        elif rng.random() < 0.15:
            arguments["renews"] = True
            for batches in arguments["batches"].values():
                for batch in batches:
                    if rng.random() < 0.7:
                        batch[2] = [4]
        return Step("acknowledge", arguments)

    def _produce(self) -> Step:
        sizes = [self._rng.choice([1, 1, 2, 3, 5, 12]) for _ in range(self._rng.randrange(1, 4))]
        return Step("produce", {"place": place_text(self._place()), "sizes": sizes})

    def _transaction(self) -> Step:
        if self._in_transaction and self._rng.random() < 0.6:
            return Step("end_transaction", {"commits": self._rng.random() < 0.5})
        return Step("produce", self._produce().arguments | {"transactional": True})

    def _heartbeat(self) -> Step:
        rng = self._rng
        name = rng.choice(MEMBERS)
        member = self._members[name]
        known = [*self._partitions, "missing"]
        names = rng.sample(known, rng.randrange(0, len(known) + 1)) if rng.random() < 0.4 else None
        epoch = member.epoch
        if not epoch and rng.random() < 0.9:
            names = rng.sample(known, rng.randrange(1, len(known) + 1))
        if rng.random() < 0.15:
            epoch = rng.choice([0, epoch + 1, max(epoch - 1, 1), -2])
        if member.epoch and rng.random() < 0.3:
            epoch, names = -1, None
        return Step("heartbeat", {"member": name, "epoch": epoch, "names": names})

    def _end_session(self) -> Step:
        name = self._rng.choice(MEMBERS)
        member = self._members[name]
        if self._rng.random() < 0.5:
            return Step("disconnect", {"member": name})
        batches = self._batches(member) if self._rng.random() < 0.5 else {}
        if self._rng.random() < 0.3:
            return self._fetch_step(name, -1, batches)
        return Step("acknowledge", {"member": name, "epoch": -1, "batches": batches})

    def _delete_records(self) -> Step:
        offset = self._rng.choice([-1, 1, 2, 3, 5, 8, 13, 1000])
        return Step("delete_records", {"place": place_text(self._place()), "offset": offset})

    def _configure(self) -> Step:
        name = self._rng.choice(list(CONFIGS))
        return Step("configure", {"name": name, "value": self._rng.choice(CONFIGS[name])})

    def _administer(self) -> Step:
        """An empty group can be changed: its members leave first, for most of the time."""
        rng = self._rng
        if rng.random() < 0.8:
            for name in MEMBERS:
                if self._members[name].epoch:
                    self._next.append(Step("heartbeat", {"member": name, "epoch": -1, "names": None}))
        place = self._place()
        step = rng.choice(
            [
                Step("alter_offset", {"place": place_text(place), "offset": rng.choice([-1, 0, 1, 3, 10])}),
                Step("alter_offset", {"place": place_text(place), "offset": rng.choice([-1, 0, 1, 3, 10])}),
                Step("delete_offsets", {"topic": place[0]}),
                Step("delete_group", {}),
            ]
        )
        self._next.append(step)
        if rng.random() < 0.8:
            self._next += [
                Step("heartbeat", {"member": "m1", "epoch": 0, "names": list(self._partitions)}),
                Step("heartbeat", {"member": "m2", "epoch": 0, "names": list(self._partitions)}),
            ]
        return self._next.pop(0)

    def _change_topic(self) -> Step:
        rng = self._rng
        if LATER not in self._partitions:
            return Step("change_topic", {"topic": LATER, "partitions": rng.randrange(1, 3)})
        used = any(place[0] == LATER for member in self._members.values() for place in member.places)
        if rng.random() < 0.5 and not used:
            return Step("change_topic", {"topic": LATER, "partitions": 0})
        topic = rng.choice(list(self._partitions))
        return Step("change_topic", {"topic": topic, "partitions": self._partitions[topic] + 1})

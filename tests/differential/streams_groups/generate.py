"""Random histories of a streams group: each step follows from what Kafka answered to those before."""

import random
from typing import Any, Final

MEMBERS: Final = ("a", "b", "c", "d")
PROCESSES: Final = ("p", "q", "r")
TOPOLOGIES: Final = ("plain", "stateful", "chain", "joined")
STEPS: Final = 60
REFUSED_FOR_TOPICS: Final = (-1, 42)
"""UNKNOWN_SERVER_ERROR and INVALID_REQUEST."""
NO_TASKS: Final[list[dict[str, list[int]]]] = [{}, {}]

Step = tuple[str, dict[str, Any]]


class Client:
    """What a member has heard."""

    def __init__(self) -> None:
        self.epoch = 0
        self.before = 0
        self.endpoint_epoch = 0
        self.active: dict[str, list[int]] = {}
        self.standby: dict[str, list[int]] = {}


class Generator:
    """Chooses the next step, and learns from its answer."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._clients: dict[str, Client] = {}
        self._topics = {"t": 0, "u": 0}
        self._topology = self._rng.choice(TOPOLOGIES)
        self.left = STEPS
        self._have_topics_changed = False
        self.has_rejected_news = False
        """Whether the first heartbeat after a change of topics was refused for what the topics are."""

    def next(self) -> Step:
        self.left -= 1
        rng = self._rng
        if not self._topics["t"] and rng.random() < 0.7:
            return self._topic_step("t")
        kinds = {
            self._beat: 24,
            self._join: 8,
            self._leave: 2,
            self._change_topic: 3,
            self._commit: 3,
            self._other: 3,
        }
        return rng.choices(list(kinds), list(kinds.values()))[0]()

    def _join(self) -> Step:
        rng = self._rng
        member = rng.choice(MEMBERS)
        self._clients.setdefault(member, Client())
        topology = self._topology if rng.random() < 0.9 else f"{rng.choice(TOPOLOGIES)}@{rng.choice([0, 0, 1])}"
        return "heartbeat", {
            "member": member,
            "epoch": 0,
            "topology": topology,
            "owned": NO_TASKS,
            "process": rng.choice(PROCESSES),
            "endpoint": rng.choice([None, None, None, 1, 2]),
            "timeout_ms": 300_000,
            "endpoint_epoch": rng.choice([0, -1]),
        }

    def _beat(self) -> Step:
        rng = self._rng
        if not self._clients:
            return self._join()
        member = rng.choice(list(self._clients))
        client = self._clients[member]
        exact = [client.active, client.standby]
        owned: Any = rng.choice(
            [None, exact, exact, exact, NO_TASKS, [client.standby, client.active], [{"0": [7]}, {}]]
        )
        epoch = rng.choice([client.epoch] * 8 + [client.before, client.epoch + 1])
        step: dict[str, Any] = {
            "member": member,
            "epoch": max(epoch, 1),
            "owned": owned,
            "endpoint_epoch": rng.choice([client.endpoint_epoch, client.endpoint_epoch, 0]),
        }
        if rng.random() < 0.1:
            step |= rng.choice(
                [
                    {"process": rng.choice(PROCESSES)},
                    {"endpoint": 3},
                    {"tags": {"zone": rng.choice("ab"), "a": "1"}},
                    {"rack": "rack"},
                    {"shuts_down": True},
                    {"timeout_ms": 200_000},
                ]
            )
        return "heartbeat", step

    def _leave(self) -> Step:
        member = self._rng.choice(MEMBERS)
        self._clients.pop(member, None)
        return "heartbeat", {"member": member, "epoch": -1, "shuts_down": self._rng.random() < 0.2}

    def _change_topic(self) -> Step:
        if self._rng.random() < 0.25:
            return "delete_internal", {}
        return self._topic_step(self._rng.choice("tu"))

    def _topic_step(self, topic: str) -> Step:
        before = self._topics[topic]
        after = self._rng.choice([before + 1, before + 2, 0]) if before else self._rng.choice([1, 2, 3, 4])
        self._topics[topic] = after
        return "change_topic", {"topic": topic, "partitions": after, "before": before}

    def _commit(self) -> Step:
        rng = self._rng
        member = rng.choice(MEMBERS)
        client = self._clients.get(member) or Client()
        epoch = rng.choice([client.epoch, client.epoch, client.before, client.epoch - 1, client.epoch + 1, -1])
        topic, partition = rng.choice("tu"), rng.choice([0, 1])
        steps: list[Step] = [
            ("commit", {"member": member, "epoch": epoch, "topic": topic, "partition": partition}),
            ("fetch_offsets", {"member": member, "epoch": epoch}),
            ("fetch_offsets", {"member": None, "epoch": -1}),
            ("delete_offsets", {"topic": topic}),
        ]
        return rng.choice(steps)

    def _other(self) -> Step:
        return self._rng.choice(
            [
                ("configure", {"standbys": self._rng.choice([0, 1, 2])}),
                ("delete_group", {}),
                ("join_consumer", {}),
                ("internal_topics", {}),
            ]
        )

    def learn(self, step: Step, answer: Any) -> None:
        kind, arguments = step
        if kind in ("change_topic", "delete_internal"):
            self._have_topics_changed = True
        elif kind == "heartbeat" and answer["error"] in (0, *REFUSED_FOR_TOPICS):
            self.has_rejected_news = self._have_topics_changed and answer["error"] in REFUSED_FOR_TOPICS
            self._have_topics_changed = bool(answer["created"])
        if kind != "heartbeat" or answer["error"] or arguments["epoch"] < 0:
            return
        client = self._clients.setdefault(arguments["member"], Client())
        if self._rng.random() < 0.1:
            return  # the answer was lost
        client.before, client.epoch = client.epoch, answer["epoch"]
        client.endpoint_epoch = answer["endpoint epoch"]
        if answer["active"] is not None:
            client.active, client.standby = answer["active"], answer["standby"]

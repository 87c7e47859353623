"""Consumers on the simulation that join, rebalance and disappear by name, and what `explain` makes of their events."""

from collections.abc import Mapping
from typing import Any

from coordinator.core.groups.states import GroupState
from coordinator.explain.claims.findings import Kind
from coordinator.explain.findings import Finding, findings
from coordinator.explain.history import GroupHistory
from coordinator.explain.story import Story, story_of
from tests.audit.stories import subscription, sync
from tests.simulation.simulation import GROUP_ID, Simulation

HEARTBEAT_MS = 3_000


class Consumers:
    """A group that reads one topic; partitions go to the members by range, or as `plan` of `settle` says.

    `protocol` is the assignor of all members, or several with commas between.
    """

    def __init__(
        self, partitions: int = 6, protocol: str = "range", software: str = "java", initial_delay_ms: int = 0
    ) -> None:
        self.sim = Simulation({"group.initial.rebalance.delay.ms": str(initial_delay_ms)})
        self.sim.client_software = software
        self.ids: dict[str, str] = {}
        self._client_ids: dict[str, str] = {}
        self._options: dict[str, dict[str, Any]] = {}
        self._partitions = partitions
        self._protocols = tuple(protocol.split(","))
        self._joined: set[str] = set()
        self._shares: Mapping[str, list[int]] = {}

    def join(self, name: str, *, reason: str | None = None, topics: tuple[str, ...] = ("t",), **options: Any) -> None:
        """A new member, or a member that joins again. Its client id is `client_id` of the first join, else its name."""
        before, state_before = set(self.sim.group.members), self.sim.group.state
        self._client_ids.setdefault(name, options.pop("client_id", name))
        options = self._options.setdefault(name, options)
        version = 9 if reason else 5 if "instance_id" in options else 3
        metadata = subscription(*topics, owned=self._claims(name))
        member_id = self.ids.get(name, "")
        sent = self.sim.join(
            self._client_ids[name],
            member_id,
            metadata=metadata,
            protocols=self._protocols,
            reason=reason,
            version=version,
            **options,
        )
        if version == 9 and not member_id:
            member_id = sent.response.member_id
            self.sim.join(
                name, member_id, metadata=metadata, protocols=self._protocols, reason=reason, version=9, **options
            )
        new = set(self.sim.group.members) - before
        if new:
            (self.ids[name],) = new
        if state_before is GroupState.COMPLETING_REBALANCE and self.sim.group.state is GroupState.PREPARING_REBALANCE:
            self._joined.clear()
        if self.sim.group.state is not GroupState.STABLE:
            self._joined.add(name)

    def settle(self, delays: Mapping[str, int] | None = None, plan: Mapping[str, list[int]] | None = None) -> None:
        """All members join again, each after its delay in ms, and sync."""
        for name in sorted(self.ids, key=lambda each: (delays or {}).get(each, 0)):
            if name not in self._joined and self.sim.group.state is GroupState.PREPARING_REBALANCE:
                self.quiet((delays or {}).get(name, 0))
                self.join(name)
        self.settle_joined(plan)

    def settle_joined(self, plan: Mapping[str, list[int]] | None = None) -> None:
        """All members have joined, and sync."""
        assert self.sim.group.state is GroupState.COMPLETING_REBALANCE
        self._joined.clear()
        names = sorted(self.ids)
        shares = {name: list(range(index, self._partitions, len(names))) for index, name in enumerate(names)}
        self._shares = plan or shares
        sync(self.sim, {self.ids[name]: {"t": share} for name, share in self._shares.items()})

    def _claims(self, name: str) -> dict[str, list[int]] | None:
        """What a member says that it owns, as those of cooperative assignors do (KIP-429)."""
        if name not in self.ids or not all("cooperative" in protocol for protocol in self._protocols):
            return None
        return {"t": share} if (share := self._shares.get(name)) else None

    def group_of(self, first: str, *others: str) -> "Consumers":
        """A stable group of these members: generation 1 has the first one alone."""
        self.join(first)
        self.settle()
        for name in others:
            self.join(name)
        if others:
            self.settle()
        return self

    def leave(self, name: str, reason: str = "") -> None:
        self.sim.leave(self.ids.pop(name), reason=reason)
        self._options.pop(name, None)
        self._joined.discard(name)

    def quiet(self, ms: int, *silent: str) -> None:
        """Time passes; all members but these send heartbeats."""
        while ms > 0:
            step = min(ms, HEARTBEAT_MS)
            self.sim.advance(step)
            ms -= step
            for name, member_id in self.ids.items():
                if name not in silent and member_id in self.sim.group.members:
                    self.sim.heartbeat(member_id, instance_id=self._options.get(name, {}).get("instance_id"))

    def vanish(self, name: str, ms: int = 10_000) -> None:
        """It sends nothing for so long, which is its session timeout unless said otherwise."""
        self.quiet(ms + 1, name)
        assert self.ids.pop(name) not in self.sim.group.members
        self._joined.discard(name)

    def crash(self, name: str, ms: int = 10_000) -> None:
        """Its process ends; it is removed after its session timeout."""
        self.sim.disconnect(self.ids[name])
        self.vanish(name, ms)

    def history(self) -> GroupHistory:
        return GroupHistory.of(GROUP_ID, self.sim.audited())

    def story(self, generation_id: int | None = None) -> Story:
        history = self.history()
        generation = history.latest if generation_id is None else history.generation(generation_id)
        assert generation is not None
        return story_of(history, generation, clock)

    def findings(self) -> dict[Kind, Finding]:
        found = findings(self.history(), self.sim.now_ms, clock)
        return {each.kind: each for each in found}


def clock(time_ms: int) -> str:
    """The time of day, in a year in which nothing else happens."""
    return f"{time_ms // 3_600_000 % 24:02}:{time_ms // 60_000 % 60:02}:{time_ms // 1000 % 60:02}"


def text(story: Story) -> str:
    return " ".join((story.headline, *story.paragraphs))

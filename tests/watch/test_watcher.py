"""The watcher on a clock of the test: what real brokers wrote arrives late, in any order between the sources."""

import json
import random
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import pytest

from coordinator.audit.schema import TAGS, Record, decode_observed
from coordinator.core.partitioning import partition_for
from coordinator.explain.makers.generation import claims_of
from coordinator.observe.group_stream import LoggedStatement
from coordinator.observe.history import ObservedHistory
from coordinator.observe.logs.followed import FollowedLog, LogPosition
from coordinator.observe.logs.log_files import FileBegin
from coordinator.observe.logs.statements import OfGroup
from coordinator.observe.places import Place
from coordinator.observe.records.following import Followed
from coordinator.observe.records.stored import GroupRecord
from coordinator.watch import partition as of_partition
from coordinator.watch.positions import Restored, read_position
from coordinator.watch.watcher import Watcher
from tests.observe.observing import BOTH, LOGS, observed, records_of, statements_of
from tests.observe.recordings import Recording
from tests.observe.test_recorded_causes import GROUPS as ALL_GROUPS
from tests.observe.test_recorded_causes import told

PARTITIONS: Final = 2
STEP_SECONDS: Final = 0.25
LATE_SECONDS: Final = 0.9
"""What was written is read so much later at most: less than it is held."""


class MemorySink:
    def begin(self, ends: Mapping[int, int]) -> None:
        """Nobody else writes."""

    def close(self) -> None:
        """It holds nothing open."""

    def __init__(self) -> None:
        self.logs: dict[int, list[Record]] = {each: [] for each in range(PARTITIONS)}

    def end_offset(self, partition: int) -> int:
        return len(self.logs[partition])

    def retain(self, partition: int, offset: int) -> None:
        assert offset <= len(self.logs[partition])

    def append(self, batches: dict[int, list[Record]]) -> None:
        for partition, records in batches.items():
            self.logs[partition] += records

    def restored(self) -> dict[int, tuple[Restored, int | None, int]]:
        found = {}
        for partition, log in self.logs.items():
            restored, checkpoint = Restored(), None
            positions = [(offset, value) for offset, (key, value, _) in enumerate(log) if key is None]
            if positions:
                _, checkpoint = read_position(positions[-1][1])
                assert checkpoint is not None
                for offset, value in positions:
                    if offset >= checkpoint:
                        restored.put(value)
            found[partition] = restored, checkpoint, len(log)
        return found

    def events(self) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for log in self.logs.values():
            for key, value, _ in log:
                if key is not None:
                    found.setdefault(key.decode(), []).append(json.loads(value))
        return found


class Scene:
    """Records and lines of recorded groups, when they can be read, and a clock."""

    def __init__(self, cases: list[tuple[Recording, str]], seed: int, ahead_ms: int = 0) -> None:
        """`ahead_ms`: by how much the clock of the broker, by which all times are, is ahead of the watcher's."""
        self.choice = random.Random(seed)
        self.now = 0.0
        records: list[tuple[Place, GroupRecord]] = []
        lines: list[OfGroup] = []
        for recording, group in cases:
            records += records_of(recording, group)
            own = statements_of(recording, group)
            lines += [each for each in own if isinstance(each, OfGroup) and each.group_id == group]
        self._since_ms = min(record[0].time_ms for record in records)
        self._ahead_ms = ahead_ms
        self.records: list[tuple[float, int, int, Place, GroupRecord]] = []
        offsets = dict.fromkeys(range(PARTITIONS), 0)
        for place, record in sorted(records, key=lambda each: each[0].time_ms):
            partition = partition_for(record.group_id, PARTITIONS)
            placed = msgspec.structs.replace(place, position=offsets[partition])
            self.records.append((self._read_at(place), partition, offsets[partition], placed, record))
            offsets[partition] += 1
        self.lines: list[tuple[float, LoggedStatement]] = []
        latest = 0
        for number, each in enumerate(sorted(lines, key=lambda each: each.place.time_ms)):
            latest = max(latest, each.place.time_ms)
            place = msgspec.structs.replace(each.place, name="server.log", position=number + 1)
            line = LoggedStatement(msgspec.structs.replace(each, place=place), "server.log", (0, number + 1), latest)
            self.lines.append((self._read_at(each.place), line))
        self.until = max([record[0] for record in self.records] + [each[0] for each in self.lines])

    def _read_at(self, place: Place) -> float:
        written = (place.time_ms - self._since_ms) / 1_000
        return 100 + written + self.choice.uniform(0, LATE_SECONDS) - self._ahead_ms / 1_000

    def clock(self) -> float:
        return self.now


class SceneRecords:
    """Each partition in its order, up to what can be read now."""

    def __init__(self, scene: Scene, starts: dict[int, int]) -> None:
        self._scene, self.positions = scene, dict(starts)
        self.current_at: dict[int, float] = {}
        self._parts = self._follow()

    def next(self) -> Followed:
        return next(self._parts)

    def _follow(self) -> Iterator[Followed]:
        while True:
            found, blocked = [], set[int]()
            for read_at, partition, offset, place, record in self._scene.records:
                if offset < self.positions[partition] or partition in blocked:
                    continue
                if read_at > self._scene.now:
                    blocked.add(partition)
                    continue
                found.append((place, record))
                self.positions[partition] = offset + 1
            if found:
                yield Followed(found, dict(self.positions), 0, [])
            self.current_at = dict.fromkeys(self.positions, self._scene.now)
            yield Followed([], dict(self.positions), 7, [])


class SceneLog:
    name = "server.log"
    partition: int | None = None

    def __init__(self, scene: Scene, position: LogPosition | None) -> None:
        self._scene, self._at = scene, 0 if position is None else position.offset

    @property
    def position(self) -> LogPosition:
        return LogPosition(0, FileBegin(b"", 1), self._at, self._at + 1)

    def follow(self) -> FollowedLog:
        before, lines = self.position, []
        for read_at, line in self._scene.lines[self._at :]:
            if read_at > self._scene.now:
                break
            lines.append(line)
            self._at += 1
        return FollowedLog(lines, before, self.position, self._scene.now, [])


def watcher(scene: Scene, sink: MemorySink) -> Watcher:
    found = sink.restored()
    starts = dict.fromkeys(range(PARTITIONS), 0)
    positions = [each.position for each, _, _ in found.values()]
    log = None
    for partition, position in enumerate(positions):
        if position is not None:
            starts[partition] = position.records
    if all(position is not None and "server.log" in position.logs for position in positions):
        log = min(
            (position.logs["server.log"] for position in positions if position is not None), key=lambda each: each.mark
        )
    made = Watcher(
        sink, SceneRecords(scene, starts), [SceneLog(scene, log)], str, PARTITIONS, starts, clock=scene.clock
    )
    made.restore(found)
    return made


def watched(scene: Scene, kill_share: float = 0.0) -> MemorySink:
    """What is appended, with a kill after so many of the steps; for the last minute there are none."""
    sink = MemorySink()
    running = watcher(scene, sink)
    while scene.now < scene.until + 60:
        running.step()
        scene.now += STEP_SECONDS
        if scene.now < scene.until + 5 and scene.choice.random() < kill_share:
            running = watcher(scene, sink)
    return sink


def without_places(events: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    return {group: [{**each, "places": None} for each in found] for group, found in events.items()}


GROUPS: Final = [
    case
    for name, case in ALL_GROUPS.items()
    if ("4.3.1-classic" in name or "4.3.1-consumer" in name) and records_of(*case)
]
"""Those that have records: share groups have others."""


def some(seed: int) -> list[tuple[Recording, str]]:
    found = {group: (recording, group) for recording, group in random.Random(seed).sample(GROUPS, 3)}
    return list(found.values())


@pytest.mark.parametrize("seed", range(12))
def test_killed_at_any_time_the_events_are_those_of_an_undisturbed_run(seed: int):
    undisturbed = watched(Scene(some(seed), seed)).events()
    assert undisturbed
    for number in range(3):
        killed = watched(Scene(some(seed), seed), kill_share=(0.02, 0.05, 0.1)[number])
        assert killed.events() == undisturbed


@pytest.mark.parametrize("seed", range(12))
def test_when_it_is_read_changes_nothing(seed: int):
    cases = some(seed)
    assert watched(Scene(cases, seed)).events() == watched(Scene(cases, seed + 1_000)).events()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("ahead_ms", [40_000, -40_000])
def test_the_clock_of_a_broker_may_be_wrong(seed: int, ahead_ms: int):
    """40 s ahead, or behind, of the watcher's: its lines and its records tell the same as with the right time."""
    cases = some(seed)
    assert watched(Scene(cases, seed, ahead_ms)).events() == watched(Scene(cases, seed)).events()


@pytest.mark.parametrize("case", GROUPS[:40])
def test_what_is_watched_tells_the_causes_that_reading_afterwards_tells(case: tuple[Recording, str]):
    recording, group = case
    history = ObservedHistory(group)
    for log in watched(Scene([case], 1)).logs.values():
        for key, value, _ in log:
            if key is not None:
                event = decode_observed(value)
                assert event is not None
                history.add(event)
    afterwards = observed(recording, group, BOTH)
    assert told(history) == told(afterwards)
    for generation in history.generations:
        assert history.places_of(claims_of(history, generation).cause[0])


@pytest.mark.parametrize("seed", range(4))
def test_a_start_reads_from_the_last_checkpoint_and_knows_all(seed: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(of_partition, "CHECKPOINT_BYTES", 3_000)
    monkeypatch.setattr(of_partition, "SLICE_BYTES", 1)
    sink = watched(Scene(some(seed), seed), kill_share=0.03)
    began_late = 0
    for number, (restored, checkpoint, _) in sink.restored().items():
        assert checkpoint is not None
        began_late += checkpoint > 0
        whole = Restored()
        for key, value, _ in sink.logs[number]:
            if key is None:
                whole.put(value)
        assert restored.groups == whole.groups
        assert restored.position == whole.position
    assert began_late
    assert sink.events() == watched(Scene(some(seed), seed)).events()


@pytest.mark.parametrize("case", GROUPS[:10])
def test_without_the_right_to_read_records_the_lines_are_told(case: tuple[Recording, str]):
    recording, group = case
    scene, sink = Scene([case], 1), MemorySink()
    made = Watcher(sink, None, [SceneLog(scene, None)], str, PARTITIONS, {}, clock=scene.clock)
    while scene.now < scene.until + 30:
        made.step()
        scene.now += STEP_SECONDS
    found = sink.events().get(group, [])
    assert found or not scene.lines
    assert {place["source"] for each in found for place in each["places"]} <= {"broker_log"}
    read = [type(each.event) for each in observed(recording, group, LOGS).observed.values()]
    kinds = [TAGS[each] for each in read]
    # What is open at the end is told by who reads afterwards alone.
    assert [each["kind"] for each in found] == kinds[: len(found)]

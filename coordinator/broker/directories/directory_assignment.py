"""Which log directory each partition is in: the metadata knows it (KIP-858), so none is created again elsewhere.

As long as a server has only ever had one directory, nothing is stored. See docs/decisions/021-directories-by-id.md.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from heapq import heapify, heapreplace
from itertools import chain
from pathlib import Path

from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC
from coordinator.log.data_dirs.directories import LogDirectories
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.errors import DataDirectoryError
from coordinator.log.names import folder_name
from coordinator.logger import logger
from coordinator.metadata.image import MetadataImage, Topic
from coordinator.metadata.leadership import NO_LEADER, Leadership, RemoteNode
from coordinator.metadata.store import MetadataStore, NewTopic, in_the_only_directory


def has_several(directories: LogDirectories, image: MetadataImage) -> bool:
    """Whether the server has, or ever had, more than one log directory."""
    return bool(image.log_directories) or len(directories.paths) > 1


def place(directories: LogDirectories, image: MetadataImage, topics: Sequence[NewTopic]) -> list[list[str]]:
    """Return the ids for the partitions of new topics: each in the directory with the fewest (nextLogDirs).

    A partition of the audit is where that of the groups is: without one of them, the other is of no use. `image` has
    what is placed already.
    """
    if not has_several(directories, image):
        return in_the_only_directory(image, topics)
    free = _Free(image.partitions_by_directory, directories)
    placed = []
    for topic in topics:
        groups = image.topics.get(OFFSETS_TOPIC)
        if topic.name == AUDIT_TOPIC and groups is not None and groups.partitions == topic.partitions:
            placed.append(list(groups.directories))
        else:
            placed.append([free.next() for _ in range(topic.partitions)])
    return placed


class DirectoryAssignment:
    """Assigns partitions to log directories."""

    def __init__(self, store: MetadataStore, directories: LogDirectories) -> None:
        self._store = store
        self._image = store.image
        self._directories = directories
        self._offline: set[str] = set()
        """The ids of the directories whose partitions nobody can lead."""
        self._has_several = has_several(directories, store.image)

    def reconcile(self, now_ms: int) -> None:
        """At the start: note where partitions were found, and assign those that are in no directory yet.

        Raises:
            DataDirectoryError: a directory that has partitions is not among those of the configuration.
        """
        if not self._has_several:
            return
        existing = self._existing_directories()
        topics = list(self._image.topics.values())
        found = [self._found(topic) for topic in topics]
        lost = [
            folder_name(topic.name, index)
            for topic, ids in zip(topics, found, strict=True)
            for index, id_ in enumerate(ids)
            if id_ and id_ not in existing
        ]
        if lost:
            raise self._missing(existing, lost)
        free = _Free(Counter(chain.from_iterable(found)), self._directories)
        settled = [[id_ or free.next() for id_ in ids] for ids in found]
        pairs = zip(topics, settled, strict=True)
        moved = {topic.name: ids for topic, ids in pairs if ids != list(topic.directories)}
        self._store.assign_directories(moved, existing, now_ms)

    def assign(self, moved: Mapping[tuple[str, int], str], now_ms: int, done: Callable[[], None]) -> None:
        """Store that partitions belong to other directories: (topic, partition) → id. Deleted ones are left out.

        `done` is called when that is on stable storage.

        Raises:
            LogAppendError: the change cannot be stored; of several topics, only some may have changed.
        """
        topics = self._store.latest_image.topics
        by_topic: dict[str, list[str]] = {}
        for (name, partition), directory_id in moved.items():
            topic = topics.get(name)
            if topic is not None and partition < topic.partitions:
                ids = by_topic.setdefault(name, [topic.directory_id(number) for number in range(topic.partitions)])
                ids[partition] = directory_id
        changed = {name: ids for name, ids in by_topic.items() if ids != list(topics[name].directories)}
        self._store.assign_directories(changed, self._store.latest_image.log_directories, now_ms)
        self._store.when_committed(done)

    def _found(self, topic: Topic) -> list[str]:
        """The ids of the directories in which the partitions are, or belong if they are not on disk; empty: none."""
        stored = (self._directories.stored_id(topic.name, index) for index in range(topic.partitions))
        return [found or topic.directory_id(index) for index, found in enumerate(stored)]

    def _existing_directories(self) -> dict[str, str]:
        """Id → path of the directories that are there, and of those that are offline but were there before."""
        existing = {directory.directory_id: str(directory.root) for directory in self._directories.online}
        offline = set(map(str, self._directories.offline_paths()))
        # Older versions stored the paths as they were given, perhaps relative ones.
        registered = {key: str(Path(path).absolute()) for key, path in self._image.log_directories.items()}
        return existing | {key: path for key, path in registered.items() if path in offline and key not in existing}

    def _missing(self, existing: dict[str, str], lost: list[str]) -> DataDirectoryError:
        gone = {key: path for key, path in self._image.log_directories.items() if key not in existing}
        named = ", ".join(f"{path} (directory.id {key})" for key, path in gone.items())
        replaced = [path for path in gone.values() if Path(path).absolute() in self._directories.paths]
        hint = (
            f"{replaced[0]} is another directory now: is a disk not mounted?"
            if replaced
            else "list it in log.dirs, or move the partitions to another log directory"
        )
        partitions = f"{len(lost)} partitions" if len(lost) > 1 else "a partition"
        return DataDirectoryError(
            f"log directory {named} is missing, and has {partitions} ({', '.join(lost[:3])}"
            f"{', …' if len(lost) > 3 else ''}); {hint}. If it is lost: coordinator log forget-directory"
            f" {self._directories.metadata.root} {next(iter(gone))}"
        )

    def leadership(self, leadership: Leadership) -> Leadership:
        """The given one, but without a leader for partitions in directories that are offline, now or later."""
        if not self._has_several:
            return leadership
        online = {directory.directory_id for directory in self._directories.online}
        offline = {key: path for key, path in self._image.log_directories.items() if key not in online}
        self._offline.update(offline)
        if offline:
            count = sum(self._image.partitions_by_directory[key] for key in offline)
            logger.error(
                "partitions are in log directories that are offline",
                partitions=count,
                directories=sorted(offline.values()),
            )
        return _OnlineOnly(leadership, self._image, self._offline)

    def set_offline(self, directory: LogDirectory) -> int:
        """A directory has failed: nobody leads its partitions any more. Return how many these are."""
        self._offline.add(directory.directory_id)
        return self._image.partitions_by_directory[directory.directory_id]


class _Free:
    """Gives out directories, the one with the fewest partitions first."""

    def __init__(self, counts: Counter[str], directories: LogDirectories) -> None:
        """`counts`: directory id → how many it has."""
        self._heap = [
            (counts[directory.directory_id], n, directory.directory_id)
            for n, directory in enumerate(directories.online)
        ]
        heapify(self._heap)

    def next(self) -> str:
        count, order, directory_id = self._heap[0]
        heapreplace(self._heap, (count + 1, order, directory_id))
        return directory_id


class _OnlineOnly:
    """A Leadership in which nobody leads what is in a directory that is offline."""

    def __init__(self, leadership: Leadership, image: MetadataImage, offline: Set[str]) -> None:
        """`offline` may grow."""
        self._leadership = leadership
        self._image = image
        self._offline = offline

    @property
    def version(self) -> int:
        return self._leadership.version + len(self._offline)

    def leader_of(self, topic: str, partition: int) -> int:
        if self._offline:
            found = self._image.topics.get(topic)
            if found is not None and found.directory_id(partition) in self._offline:
                return NO_LEADER
        return self._leadership.leader_of(topic, partition)

    def other_nodes(self) -> Sequence[RemoteNode]:
        return self._leadership.other_nodes()

"""Mutants of the metadata log: what is seen and answered before it is durable, and what a crash takes back."""

from typing import Final

from tests.mutations.mutant import Mutant

COMMITS: Final = "coordinator/metadata/commits.py"
COMPACTION: Final = "coordinator/metadata/compaction.py"
DEFERRED: Final = "coordinator/server/handlers/deferred.py"
PRODUCER_IDS: Final = "coordinator/metadata/producer_ids.py"
STORE: Final = "coordinator/metadata/store.py"
STORAGE: Final = "coordinator/server/storage.py"

MUTANTS: Final = (
    Mutant(
        "the metadata log is flushed in the event loop",
        STORAGE,
        "metadata.commit_in(loop.file_threads, loop.call_soon if host.has_threads else None, loop.fail)",
        "metadata.commit_in(InLine(), None, loop.fail)",
    ),
    Mutant(
        "a client is answered before its change is durable", DEFERRED, "if not self._metadata.is_pending:", "if True:"
    ),
    Mutant(
        "a change is seen before it is durable",
        STORE,
        "self._commits = MetadataCommits(log, self.image.apply, self._committed)",
        "self._commits = MetadataCommits(log, lambda record: None, self._committed); self.latest_image = self.image",
    ),
    Mutant(
        "a start shows what no flush has covered",
        STORE,
        "        log.flush()\n",
        "",
    ),
    Mutant(
        "a snapshot lacks what is not committed yet",
        COMPACTION,
        "self._store.latest_image.copy()",
        "self._store.image.copy()",
    ),
    Mutant(
        "who waits is called before the changes that come before it",
        COMMITS,
        "            self._committing.append(Change((), call))\n",
        "            self._committing.appendleft(Change((), call))\n",
    ),
    Mutant(
        "after a failed fsync the next flush begins",
        COMMITS,
        "            self.abandon()\n            self._on_flush_failure(",
        "            self._committing = None\n            self._on_flush_failure(",
    ),
    Mutant(
        "a clean stop forgets the changes that are appended and not being flushed",
        COMMITS,
        "(self._committing or deque()) + self._appended",
        "self._committing or deque()",
    ),
    Mutant(
        "producer ids are assigned before their block is durable",
        PRODUCER_IDS,
        "        self._is_reserving, self.has_failed = True, False\n",
        "        first = self._store.latest_image.next_producer_id\n"
        "        self._next_block = range(first, first + PRODUCER_IDS_PER_BLOCK)\n",
    ),
    Mutant(
        "producer ids are reserved when none is left",
        PRODUCER_IDS,
        "len(self._left) <= RESERVED_AHEAD_FROM",
        "len(self._left) <= 0",
    ),
    Mutant(
        "each request without a producer id reserves a block",
        PRODUCER_IDS,
        " and not self._is_reserving:",
        ":",
    ),
)

"""Mutants of the metadata log: what is seen and answered before it is durable, and what a crash takes back."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "the metadata log is flushed in the event loop",
        "commit_metadata_in_threads",
        "metadata.commit_in(threads.files, loop.call_soon if threads.may_use_files else None, loop.fail)",
        "metadata.commit_in(InLine(), None, loop.fail)",
    ),
    Mutant(
        "a client is answered before its change is durable",
        "answer_when_committed",
        "if metadata.is_pending:",
        "if False:",
    ),
    Mutant(
        "a change is seen before it is durable",
        "MetadataStore.__init__",
        "self._commits = MetadataCommits(log, self._apply, self._committed)",
        "self._commits = MetadataCommits(log, lambda record: None, self._committed); self.latest_image = self.image",
    ),
    Mutant(
        "a start shows what no flush has covered",
        "MetadataStore.__init__",
        "log.flush()",
        "",
    ),
    Mutant(
        "a snapshot lacks what is not committed yet",
        "MetadataCompaction.check",
        "self._store.latest_image.copy()",
        "self._store.image.copy()",
    ),
    Mutant(
        "who waits is called before the changes that come before it",
        "MetadataCommits.when_committed",
        "self._committing.append(Change((), call))",
        "self._committing.appendleft(Change((), call))",
    ),
    Mutant(
        "after a failed fsync the next flush begins",
        "MetadataCommits._flushed",
        "self.abandon()\nself._on_flush_failure(",
        "self._committing = None\nself._on_flush_failure(",
    ),
    Mutant(
        "a clean stop forgets the changes that are appended and not being flushed",
        "MetadataCommits.finish",
        "(self._committing or deque()) + self._appended",
        "self._committing or deque()",
    ),
    Mutant(
        "producer ids are assigned before their block is durable",
        "ProducerIds._reserve",
        "self._is_reserving, self.has_failed = True, False",
        "first = self._store.latest_image.next_producer_id\n"
        "self._next_block = range(first, first + PRODUCER_IDS_PER_BLOCK)",
    ),
    Mutant(
        "producer ids are reserved when none is left",
        "ProducerIds.is_any_left",
        "len(self._left) <= RESERVED_AHEAD_FROM",
        "len(self._left) <= 0",
    ),
    Mutant(
        "each request without a producer id reserves a block",
        "ProducerIds.is_any_left",
        "and not self._is_reserving:",
        ":",
    ),
)

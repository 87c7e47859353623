"""How much of a coordinator's work has its turn before other work of the event loop."""

from typing import Final

OPERATIONS_AT_ONCE: Final = 300
"""Operations that are handled before other work of the event loop has its turn: 3 ms of reads, 10 ms of new groups."""
FILES_AT_ONCE: Final = 3
"""Shards that make the files of their logs, with their first append, before other work has its turn: 5 ms."""

KEYS_PER_OPERATION: Final = 3
"""An operation over the whole shard takes about as long as one on a single key for each so many of its keys."""

APPEND_OPERATIONS: Final = 1
"""To append a batch takes as long as an operation: a client that waits for each answer makes one with each request."""

STEPS_AT_ONCE_MAX: Final = 16
"""Steps that may follow from one operation without time passing.

A first join with a rebalance timeout of 0 takes five: the rebalance starts and completes, the member that has no time
to sync is removed, and the rebalance after that starts and leaves the group empty.
"""

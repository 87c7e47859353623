"""Reads some groups of a partition from its logs again, while the other groups are served."""

from collections.abc import Iterator, Sequence
from typing import Final

from coordinator.audit.projector import AuditProjector
from coordinator.audit.resume import AuditReplay
from coordinator.core.causes import Cause
from coordinator.core.groups.group import Group
from coordinator.core.groups.stored import StoredGroups
from coordinator.runtime.interfaces import AuditRecord, Store

LOG_START: Final = 0


class GroupRebuild:
    """What the logs say of these groups.

    Nothing is decided about them meanwhile, so they are in no batch that is appended. What other operations append does
    concern them: the marker of a transaction.
    """

    def __init__(self, keys: Sequence[str], audit: AuditProjector, store: Store) -> None:
        self._store = store
        self._audit = audit
        self._stored = StoredGroups(frozenset(keys))
        self._audit_replay: AuditReplay

    def steps(self) -> Iterator[None]:
        """See `StateMachine.rebuild`."""
        yield from self._read(LOG_START)
        read_to = self._store.offsets_end_offset
        yield from self._read_audit()
        yield from self._read(read_to)

    def _read(self, from_offset: int) -> Iterator[None]:
        return self._store.replay(self._stored, from_offset)

    def _read_audit(self) -> Iterator[None]:
        for from_offset in self._store.audit_replay_offsets():
            self._audit_replay = self._audit.start_rebuild(from_offset)
            for records in self._store.replay_audit(from_offset):
                yield from self._audit_replay.apply(records)
                yield
            if self._audit_replay.knows(self._stored.groups):
                break

    def group(self, key: str) -> Group | None:
        """The group as it is stored, when all steps are taken; None when no such group is stored."""
        return self._stored.groups.get(key)

    def audit(self, key: str, now_ms: int) -> list[AuditRecord]:
        """Go on with the audit of the group; returns the records that say where it is."""
        group = self.group(key)
        classic = None if group is None else group.classic
        return self._audit.resume_rebuilt(self._audit_replay, key, classic, now_ms, Cause.INVARIANT_VIOLATED)

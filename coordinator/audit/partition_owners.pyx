"""Which member of a live group owns which partition, between its events. Compiled: it compares each of each member."""

cimport cython
from libc.stdint cimport int64_t

from operator import itemgetter

from coordinator.audit import schema
from coordinator.core.consumer_protocol import count_claimed, read_assignment

cdef int64_t PARTITIONS_NAMED_MAX = schema.PARTITIONS_NAMED_MAX
cdef Py_ssize_t TOPICS_NAMED_MAX = schema.TOPICS_NAMED_MAX
cdef Py_ssize_t MEMBERS_NAMED_MAX = schema.MEMBERS_NAMED_MAX
cdef object WaitedFor = schema.WaitedFor
cdef object by_name = itemgetter(0)

cdef dict NO_ENTRIES = {}               # most groups have nothing of a kind: they share it

cdef enum:
    NEVER = -1


def by_topic(partitions):
    return grouped(sorted(partitions)) if partitions else {}


cpdef dict grouped(in_order):
    cdef dict topics = {}
    cdef list indexes = None
    cdef object last = None
    for topic, index in in_order:
        if topic is not last and topic != last:
            indexes = topics[topic] = []
            last = topic
        indexes.append(index)
    return topics


cpdef Py_ssize_t partition_count(dict partitions) except -1:
    cdef Py_ssize_t count = 0
    for of_topic in partitions.values():
        count += len(of_topic)
    return count


def named_partitions(dict partitions not None, topic_name):
    cdef list named = [], topics
    topics = [(topic_name(topic_id), of_topic) for topic_id, of_topic in partitions.items()]
    if len(topics) > 1:
        topics.sort(key=by_name)
    for name, of_topic in topics:
        for index in sorted(of_topic):
            named.append((name, index))
    return tuple(named)


@cython.final
@cython.no_gc
cdef class AuditedMember:
    def __init__(self, member, tuple owned not None, int64_t unnamed_partitions):
        self.member = member
        self.owned = owned
        self.unnamed_partitions = unnamed_partitions
        self.revoking = ()
        self.topics = []
        self.came_for = self.synced_in = NEVER


cdef tuple owned_partitions(AuditedMember audited, dict partitions, topic_name):
    """As `named_partitions`. What a member keeps has been named before; it is never changed."""
    cdef object of_topic = None
    if len(partitions) == 1:
        topic_id, of_topic = next(iter(partitions.items()))
        if of_topic is audited.owned_of_topic and audited.owned and topic_name(topic_id) == audited.owned[0][0]:
            return audited.owned
    audited.owned_of_topic = of_topic
    return named_partitions(partitions, topic_name)


@cython.no_gc
cdef class PartitionOwners:
    def __init__(self):
        self.members = self.owners = self.had = self.released = NO_ENTRIES
        self.nameable_partitions = PARTITIONS_NAMED_MAX

    def remember_member(self, member, partitions, int64_t unnamed_partitions):
        cdef str member_id = member.member_id
        cdef tuple owned = tuple(sorted(partitions)) if partitions else ()
        if self.members is NO_ENTRIES:
            self.members = {}
        if owned and self.owners is NO_ENTRIES:
            self.owners = {}
        self.members[member_id] = AuditedMember(member, owned, unnamed_partitions)
        self.nameable_partitions -= len(owned)
        for partition in owned:
            self.owners[partition] = member_id

    def replace_member(self, str old_member_id not None, member):
        cdef AuditedMember old = self.members.pop(old_member_id)
        cdef str member_id = member.member_id
        cdef AuditedMember new = AuditedMember(member, old.owned, old.unnamed_partitions)
        new.topics, new.unnamed_topics, new.revoking = old.topics, old.unnamed_topics, old.revoking
        new.came_for, new.came_ms = old.came_for, old.came_ms
        new.synced_in, new.synced_at_ms = old.synced_in, old.synced_at_ms
        old.text = None                 # triggers may have it, and what is known of the member has changed
        self.members[member_id] = new
        for partition in old.owned:
            self.owners[partition] = member_id

    cdef object join_ms(self, AuditedMember audited, int64_t generation_id):
        return max(audited.came_ms - self.rebalance_started_ms, 0) if audited.came_for == generation_id else None

    cdef object sync_ms(self, AuditedMember audited, int64_t generation_id):
        return max(audited.synced_at_ms - self.generation_started_ms, 0) if audited.synced_in == generation_id else None

    def start_generation(self, int64_t at_ms):
        self.generation_started_ms = at_ms
        self.had = {}
        self.partitions = self.moved = self.unowned = self.unowned_partition_ms = 0
        self.nameable_partitions = PARTITIONS_NAMED_MAX

    def assign(
        self, str member_id not None, str protocol_type, bytes metadata not None, bytes assignment not None,
        int64_t generation_id,
    ):
        cdef AuditedMember audited = self.members[member_id]
        cdef int64_t unnamed_partitions
        cdef dict gained = {}, lost = {}, kept = {}
        cdef set partitions
        cdef tuple owned
        readable, partitions, unnamed_partitions = read_assignment(
            protocol_type, assignment, self.nameable_partitions
        )
        audited.unnamed_partitions = unnamed_partitions
        self.partitions += len(partitions) + unnamed_partitions
        claimed = count_claimed(protocol_type, metadata, partitions, PARTITIONS_NAMED_MAX)
        self.unowned += len(partitions) - <int64_t>claimed
        self.nameable_partitions -= len(partitions)
        owned = tuple(sorted(partitions))
        if unnamed_partitions:
            audited.owned = ()
        else:
            gained, lost, kept = self.compare(audited, member_id, owned)
        return {
            "member": audited,
            "readable": readable,
            "partitions": grouped(owned) if gained and kept else gained or kept,
            "gained": gained,
            "lost": lost,
            "kept": kept,
            "unnamed_partitions": unnamed_partitions,
            "join_ms": self.join_ms(audited, generation_id),
            "sync_ms": self.sync_ms(audited, generation_id),
            "claimed": claimed,
        }

    # ---- groups whose members get their partitions one by one

    def set_subscription(self, str member_id not None, tuple topics not None):
        cdef AuditedMember audited = self.members[member_id]
        cdef Py_ssize_t count = len(topics)
        audited.topics, audited.unnamed_topics = (list(topics), 0) if count <= TOPICS_NAMED_MAX else ([], count)
        return audited

    def reassign(
        self, str member_id not None, int64_t epoch, str state not None, dict partitions not None,
        dict revoking not None, topic_name, int64_t at_ms,
    ):
        cdef AuditedMember audited = self.members[member_id]
        cdef int64_t count = partition_count(partitions), revoking_count = partition_count(revoking)
        cdef bint is_few = count <= self.nameable_partitions + len(audited.owned)
        cdef bint revokes_few = revoking_count <= PARTITIONS_NAMED_MAX
        return self.reassigned(
            audited, member_id, epoch, state,
            owned_partitions(audited, partitions, topic_name) if is_few else (), count,
            named_partitions(revoking, topic_name) if revokes_few else (), revoking_count, at_ms,
        )

    def reassign_named(
        self, str member_id not None, int64_t epoch, str state not None, tuple partitions not None,
        int64_t partition_count, tuple revoking not None, int64_t revoking_count, int64_t at_ms,
    ):
        return self.reassigned(
            self.members[member_id], member_id, epoch, state, partitions, partition_count, revoking, revoking_count,
            at_ms,
        )

    cdef dict reassigned(
        self, AuditedMember audited, str member_id, int64_t epoch, str state, tuple partitions, int64_t count,
        tuple revoking, int64_t revoking_count, int64_t at_ms,
    ):
        cdef dict gained = {}, lost = {}, kept = {}
        cdef tuple owned = audited.owned
        audited.unnamed_partitions = count - len(partitions)
        self.nameable_partitions -= len(partitions)
        if not audited.unnamed_partitions and not revoking and not audited.revoking and (
            partitions is owned or partitions == owned
        ):
            kept = self.keep(member_id, owned)
        else:
            if owned or audited.revoking:
                self.release({*owned, *audited.revoking}.difference(partitions, revoking), at_ms)
            if audited.unnamed_partitions:
                audited.owned = ()
            else:
                gained, lost, kept = self.compare(audited, member_id, partitions)
            audited.revoking = revoking
        if self.released:
            for partition in partitions:
                released_ms = self.released.pop(partition, None)
                if released_ms is not None:
                    self.unowned_partition_ms += max(at_ms - <int64_t>released_ms, 0)
        return {
            "member": audited,
            "partitions": grouped(partitions) if gained and kept else gained or kept,
            "gained": gained,
            "lost": lost,
            "kept": kept,
            "unnamed_partitions": audited.unnamed_partitions,
            "member_epoch": epoch,
            "member_state": state,
            "partition_count": count,
            "revoking": grouped(revoking),
            "revoking_count": revoking_count,
            "waits_for": [],
            "reconcile_ms": max(at_ms - (self.generation_started_ms or at_ms), 0),
            "last_heard_ms": None,
            "unclaimed": {},
        }

    def waits_for(
        self, str member_id not None, dict target not None, dict assigned not None, dict owners not None, topic_name
    ):
        cdef dict waits = {}
        cdef dict owner_of
        cdef list named = []
        cdef AuditedMember audited
        if partition_count(target) > PARTITIONS_NAMED_MAX:
            return named
        for topic_id, indexes in target.items():
            owner_of = owners.get(topic_id)
            if owner_of is None:
                continue
            has, name = assigned.get(topic_id, ()), topic_name(topic_id)
            for index in indexes:
                owner = owner_of.get(index)
                if owner is None or owner == member_id or index in has:
                    continue
                if owner not in waits:
                    waits[owner] = []
                (<list>waits[owner]).append((name, index))
        for owner, partitions in list(waits.items())[:MEMBERS_NAMED_MAX]:
            audited = self.members.get(owner)
            if audited is not None:
                named.append(WaitedFor(audited, grouped(sorted(partitions))))
        return named

    def set_revoking(self, str member_id not None, tuple revoking not None):
        cdef AuditedMember audited = self.members[member_id]
        audited.revoking = revoking

    def remove_member(self, str member_id not None, int64_t at_ms):
        cdef AuditedMember audited = self.members.pop(member_id)
        self.release({*audited.owned, *audited.revoking}, at_ms)
        return audited

    cdef int release(self, set partitions, int64_t at_ms) except -1:
        """These have no owner from now on."""
        if partitions and self.released is NO_ENTRIES:
            self.released = {}
        for partition in partitions:
            self.released[partition] = at_ms
        return 0

    cdef dict keep(self, str member_id, tuple owned):
        """As `compare`, of a member that has what it had; returns what it kept."""
        if owned:
            if self.owners is NO_ENTRIES:
                self.owners = {}
            if self.had is NO_ENTRIES:
                self.had = {}
            self.had[member_id] = self.had.get(member_id, 0) + len(owned)
        for partition in owned:
            self.owners[partition] = member_id
        return grouped(owned)

    cdef tuple compare(self, AuditedMember audited, str member_id, tuple partitions):
        """Give the member its partitions; returns what it gained, lost and kept."""
        cdef list gained = [], lost = [], kept = []
        cdef tuple owned = audited.owned
        cdef set before = set(owned) if owned else None
        if partitions and self.owners is NO_ENTRIES:
            self.owners = {}
        if self.had is NO_ENTRIES:
            self.had = {}
        for partition in partitions:
            if before is not None and partition in before:
                kept.append(partition)
                before.discard(partition)
            else:
                gained.append(partition)
                owner = self.owners.get(partition)
                if owner is not None:
                    self.had[owner] = self.had.get(owner, 0) + 1
                    if owner != member_id:
                        self.moved += 1
            self.owners[partition] = member_id
        if kept:
            self.had[member_id] = self.had.get(member_id, 0) + len(kept)
        if before:
            lost = [partition for partition in owned if partition in before]
        if gained or lost:
            audited.owned = partitions
        return grouped(gained), grouped(lost), grouped(kept)

    cdef int forget_previous_owners(self) except -1:
        self.had = NO_ENTRIES
        return 0

    def forget_old_owners(self):
        cdef AuditedMember audited
        cdef set owned = set(), unassigned
        if len(self.owners) <= PARTITIONS_NAMED_MAX - self.nameable_partitions:
            self.unassigned = None      # every owner is one of this generation
            return
        for audited in self.members.values():
            owned.update(audited.owned)
        unassigned = self.owners.keys() - owned
        if self.unassigned is not None:
            for partition in unassigned & self.unassigned:
                del self.owners[partition]
            unassigned -= self.unassigned
        self.unassigned = unassigned

    def moved_needed(self, group):
        cdef AuditedMember audited
        cdef list first = None
        cdef int64_t quota, extra, kept = 0, had_owner = 0, count
        if not group.members:
            return None
        for audited in self.members.values():
            if audited.unnamed_partitions or audited.unnamed_topics:
                return None
            if first is None:
                first = audited.topics
            elif audited.topics != first:
                return None
        quota, extra = divmod(self.partitions, len(group.members))
        for member_id, had in self.had.items():
            count = had
            had_owner += count
            if member_id in group.members:
                kept += min(count, quota)
                if count > quota and extra:
                    kept, extra = kept + 1, extra - 1
        return min(had_owner - kept, self.moved)

"""`uniform` where all members subscribe to the same topics: as even as can be, and everybody keeps what fits.

Kafka's UniformHomogeneousAssignmentBuilder gives the same answers. It works in steps of bounded length.
"""

from cpython cimport array
from libc.stdlib cimport qsort

from coordinator.core.consumer.assignors.numbered_topics cimport NumberedTopics, ints

cdef enum:
    AT_ONCE = 5_000                     # members and partitions that a step goes through: about a millisecond
    NOBODY = -1


def steps(list members not None, topics not None):
    """The topics are those that the members subscribe to; a generator with the target as its result."""
    cdef HomogeneousGroup group = HomogeneousGroup(members, NumberedTopics(topics))
    cdef int next_member = 0
    while next_member < group.member_count:
        next_member = group.mark_owned(next_member)
        yield
    group.list_unassigned()
    next_member = 0
    while next_member < group.member_count:
        next_member = group.keep(next_member)
        yield
    next_member = 0
    while next_member < group.member_count:
        next_member = group.fill(next_member)
        yield
    return group.target


cdef int ascending(const void *one, const void *other) noexcept nogil:
    return (<const int*>one)[0] - (<const int*>other)[0]


cdef class HomogeneousGroup:
    cdef list members
    cdef int member_count
    cdef NumberedTopics topics
    cdef array.array owner              # of each partition, the member whose target has it, or NOBODY
    cdef array.array unassigned         # the first `unassigned_count` count
    cdef int unassigned_count
    cdef int unassigned_used
    cdef array.array room               # of each member, how many partitions it still gets
    cdef int share                      # what each member has at least
    cdef int one_more                   # how many of the members that are to come have one more
    cdef dict target

    def __init__(self, list members, NumberedTopics topics):
        self.members = members
        self.member_count = len(members)
        self.topics = topics
        self.owner = ints(topics.partition_count, NOBODY)
        self.unassigned = ints(topics.partition_count, 0)
        self.room = ints(self.member_count, 0)
        self.share, self.one_more = divmod(topics.partition_count, self.member_count or 1)
        self.target = {}

    cdef int mark_owned(self, int member) except -1:
        """The owners by the targets, from this member on; which member is next. Of two owners the first counts."""
        cdef int done = 0, topic, number
        while member < self.member_count and done < AT_ONCE:
            for topic_id, partitions in self.members[member].target.items():
                topic = self.topics.number_of(topic_id)
                if topic < 0:
                    continue
                done += len(partitions)
                for partition in partitions:
                    number = self.topics.partition_of(topic, partition)
                    if number >= 0 and self.owner.data.as_ints[number] == NOBODY:
                        self.owner.data.as_ints[number] = member
            member += 1
            done += 1
        return member

    cdef int list_unassigned(self) except -1:
        cdef int number
        for number in range(self.topics.partition_count):
            if self.owner.data.as_ints[number] == NOBODY:
                self.unassigned.data.as_ints[self.unassigned_count] = number
                self.unassigned_count += 1
        return 0

    cdef int keep(self, int member) except -1:
        """What members keep, from this one on; what does not fit is unassigned. Which member is next."""
        cdef int done = 0, room
        cdef bint has_one_more
        while member < self.member_count and done < AT_ONCE:
            has_one_more = self.one_more > 0
            room = self.share + has_one_more
            subscriber = self.members[member]
            kept = {}
            done += self.keep_what_fits(member, subscriber.target, &room, kept)
            if room > 0 and has_one_more and self.member_count - member > self.one_more:
                room -= 1
                has_one_more = False
            self.room.data.as_ints[member] = room
            self.one_more -= has_one_more
            self.target[subscriber.member_id] = kept
            member += 1
            done += 1
        return member

    cdef int keep_what_fits(self, int member, target, int *room, dict kept) except -1:
        """The number of partitions that the target names."""
        cdef int topic, number, named = 0
        for topic_id, partitions in target.items():
            topic = self.topics.number_of(topic_id)
            if topic < 0:
                continue
            named += len(partitions)
            fitting = []
            for partition in partitions:
                number = self.topics.partition_of(topic, partition)
                if number < 0 or self.owner.data.as_ints[number] != member:
                    continue
                self.owner.data.as_ints[number] = NOBODY        # a damaged log may name it again
                if room[0] > 0:
                    room[0] -= 1
                    fitting.append(partition)
                else:
                    self.unassigned.data.as_ints[self.unassigned_count] = number
                    self.unassigned_count += 1
            if fitting:
                kept[topic_id] = tuple(sorted(fitting))
        return named

    cdef int fill(self, int member) except -1:
        """Gives the members, from this one on, what they have room for; which member is next."""
        cdef int done = 0, room
        while member < self.member_count and done < AT_ONCE:
            room = self.room.data.as_ints[member]
            if room:
                self.give(member, room)
            done += room + 1
            member += 1
        return member

    cdef int give(self, int member, int room) except -1:
        """The next unassigned partitions, so many, to a member beside those that it has kept.

        Of topics in one bucket of a HashMap, Kafka has the last one that is new to the member first.
        """
        cdef int *given = self.unassigned.data.as_ints + self.unassigned_used
        cdef dict kept = self.target[self.members[member].member_id], by_topic = {}
        cdef int place = 0, topic = NOBODY
        self.unassigned_used += room
        assert self.unassigned_used <= self.unassigned_count, "the room of all members is what is unassigned"
        for place in range(room):
            if topic == NOBODY or not self.is_of(given[place], topic):
                topic = self.topics.topic_of(given[place])
                by_topic.setdefault(self.topics.ids[topic], [])
        qsort(given, room, sizeof(int), ascending)
        self.share_out(given, room, by_topic)
        target = {}
        for topic_id in reversed(by_topic):
            if topic_id not in kept:
                target[topic_id] = tuple(by_topic[topic_id])
        for topic_id, partitions in kept.items():
            more = by_topic.get(topic_id)
            target[topic_id] = tuple(sorted([*partitions, *more])) if more else partitions
        self.target[self.members[member].member_id] = target
        return 0

    cdef bint is_of(self, int number, int topic) noexcept:
        return self.topics.first.data.as_ints[topic] <= number < self.topics.first.data.as_ints[topic + 1]

    cdef int share_out(self, int *given, int room, dict by_topic) except -1:
        """Append the partitions, which are ascending, to the lists of their topics."""
        cdef int place = 0, topic, first, end
        while place < room:
            topic = self.topics.topic_of(given[place])
            first, end = self.topics.first.data.as_ints[topic], self.topics.first.data.as_ints[topic + 1]
            partitions = by_topic[self.topics.ids[topic]]
            while place < room and given[place] < end:
                partitions.append(given[place] - first)
                place += 1
        return 0

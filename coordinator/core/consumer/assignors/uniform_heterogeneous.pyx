"""`uniform` where members subscribe to different topics: as even as the subscriptions allow, and few moves.

Topic by topic, unassigned partitions go to the subscribers with the fewest partitions; then, topic by topic and in
rounds, the subscribers with the most give to those with the fewest. Kafka's UniformHeterogeneousAssignmentBuilder gives
the same answers. It works in steps of bounded length: a topic at most.
"""

from cpython cimport array
from libc.stdint cimport int64_t
from libc.stdlib cimport qsort
from libc.string cimport memset

import array

from coordinator.core.consumer.assignors.numbered_topics cimport NumberedTopics, ints

cdef enum:
    AT_ONCE = 5_000                     # subscriptions and partitions that a step goes through: about a millisecond
    ROUNDS = 16                         # Kafka's bound of how often it balances all topics
    NOBODY = -1

cdef array.array NO_NUMBERS = array.array("q")


def steps(list members not None, topics not None):
    """A generator with the target as its result."""
    cdef HeterogeneousGroup group = HeterogeneousGroup(members, NumberedTopics(topics))
    cdef int next_member = 0, unchanged = 0
    while next_member < group.member_count:
        next_member = group.read(next_member)
        yield
    group.list_subscribers()
    yield
    cdef list order = group.topics_in_order()
    for topic in order:
        group.assign_unassigned(topic)
        yield
    order = [topic for topic in order if group.subscriber_count(topic) > 1]
    for _ in range(ROUNDS):
        for topic in order:
            # A topic that changed is looked at again after all others, even if none of them changes.
            if unchanged == len(order):
                break
            unchanged = 1 if group.balance(topic) else unchanged + 1
            yield
    for topic in range(group.topics.topic_count):
        group.write(topic)
        yield
    return group.target


cdef int ascending(const void *one, const void *other) noexcept nogil:
    cdef int64_t left = (<const int64_t*>one)[0], right = (<const int64_t*>other)[0]
    return (left > right) - (left < right)


cdef class HeterogeneousGroup:
    cdef list members
    cdef int member_count
    cdef NumberedTopics topics
    cdef array.array owner              # of each partition: a member or NOBODY
    cdef array.array load               # of each member: how many partitions it has
    cdef array.array subscriptions      # topics, member by member
    cdef array.array subscriptions_end  # of each member
    cdef array.array subscribers        # members, topic by topic
    cdef array.array subscribers_first  # of each topic; at the end: of all
    cdef array.array sorted_by_load     # scratch: subscribers of a topic
    cdef array.array numbers            # scratch: what is sorted
    cdef array.array own_first          # scratch: of each member, its partitions in `own`
    cdef array.array own_end
    cdef dict target

    def __init__(self, list members, NumberedTopics topics):
        self.members = members
        self.member_count = len(members)
        self.topics = topics
        self.owner = ints(topics.partition_count, NOBODY)
        self.load = ints(self.member_count, 0)
        self.subscriptions = ints(0, 0)
        self.subscriptions_end = ints(self.member_count, 0)
        self.sorted_by_load = ints(self.member_count, 0)
        self.numbers = array.clone(NO_NUMBERS, max(self.member_count, topics.partition_count), False)
        self.own_first = ints(self.member_count, 0)
        self.own_end = ints(self.member_count, 0)
        self.target = {}

    cdef int read(self, int member) except -1:
        """What members subscribe to and still have, from this one on; which is next. Of two owners the first counts."""
        cdef int done = 0, topic, number
        cdef array.array subscribed
        while member < self.member_count and done < AT_ONCE:
            subscriber = self.members[member]
            self.target[subscriber.member_id] = {}
            subscribed = self.topics.numbers_of(subscriber.topics)
            array.extend(self.subscriptions, subscribed)
            self.subscriptions_end.data.as_ints[member] = len(self.subscriptions)
            done += len(subscribed) + 1
            for topic_id, partitions in subscriber.target.items():
                topic = self.topics.number_of(topic_id)
                if topic < 0 or topic_id not in subscriber.topics:
                    continue
                done += len(partitions)
                for partition in partitions:
                    number = self.topics.partition_of(topic, partition)
                    if number >= 0 and self.owner.data.as_ints[number] == NOBODY:
                        self.owner.data.as_ints[number] = member
                        self.load.data.as_ints[member] += 1
            member += 1
        return member

    cdef int list_subscribers(self) except -1:
        """Turns the topics of each member into the members of each topic, in the order of the members."""
        cdef int member, place = 0, topic
        cdef array.array following = ints(self.topics.topic_count + 1, 0)
        for place in range(len(self.subscriptions)):
            following.data.as_ints[self.subscriptions.data.as_ints[place] + 1] += 1
        for topic in range(self.topics.topic_count):
            following.data.as_ints[topic + 1] += following.data.as_ints[topic]
        self.subscribers_first = array.copy(following)
        self.subscribers = ints(len(self.subscriptions), 0)
        place = 0
        for member in range(self.member_count):
            while place < self.subscriptions_end.data.as_ints[member]:
                topic = self.subscriptions.data.as_ints[place]
                self.subscribers.data.as_ints[following.data.as_ints[topic]] = member
                following.data.as_ints[topic] += 1
                place += 1
        return 0

    cdef int subscriber_count(self, int topic) noexcept:
        return self.subscribers_first.data.as_ints[topic + 1] - self.subscribers_first.data.as_ints[topic]

    cdef list topics_in_order(self):
        """Those with a subscriber; the one with the most partitions per subscriber first."""
        cdef list keys = []
        cdef int topic, subscribers, partitions
        for topic in range(self.topics.topic_count):
            subscribers = self.subscriber_count(topic)
            partitions = self.topics.first.data.as_ints[topic + 1] - self.topics.first.data.as_ints[topic]
            if subscribers:
                # Kafka compares ids as two signed numbers, so a first byte from 0x80 on comes first.
                topic_id = bytes((self.topics.ids[topic][0] ^ 0x80,)) + self.topics.ids[topic][1:8]
                topic_id += bytes((self.topics.ids[topic][8] ^ 0x80,)) + self.topics.ids[topic][9:]
                keys.append((-(<double>partitions / subscribers), subscribers, topic_id, topic))
        keys.sort()
        return [key[3] for key in keys]

    cdef int sort_by_load(self, int topic) except -1:
        """The subscribers, those with the fewest partitions first, of equal ones in the order of the members."""
        cdef int place, member, count = self.subscriber_count(topic)
        cdef int *subscribers = self.subscribers.data.as_ints + self.subscribers_first.data.as_ints[topic]
        cdef int *load = self.load.data.as_ints
        cdef int64_t *keys = <int64_t*>self.numbers.data.as_longlongs
        cdef int lowest = load[subscribers[0]], highest = lowest
        for place in range(count):
            lowest, highest = min(lowest, load[subscribers[place]]), max(highest, load[subscribers[place]])
        if highest - lowest < count:
            return self.sort_by_counting(subscribers, count, lowest, highest - lowest + 1)
        for place in range(count):
            member = subscribers[place]
            keys[place] = <int64_t>load[member] << 32 | member
        qsort(keys, count, sizeof(int64_t), ascending)
        for place in range(count):
            self.sorted_by_load.data.as_ints[place] = <int>(keys[place] & 0xFFFFFFFF)
        return count

    cdef int sort_by_counting(self, const int *subscribers, int count, int lowest, int levels) noexcept:
        """As there are few levels, first where each one begins."""
        cdef int place, level
        cdef int *load = self.load.data.as_ints
        cdef int64_t *begins = <int64_t*>self.numbers.data.as_longlongs
        memset(begins, 0, levels * sizeof(int64_t))
        for place in range(count):
            level = load[subscribers[place]] - lowest
            if level + 1 < levels:
                begins[level + 1] += 1
        for level in range(1, levels):
            begins[level] += begins[level - 1]
        for place in range(count):
            level = load[subscribers[place]] - lowest
            self.sorted_by_load.data.as_ints[begins[level]] = subscribers[place]
            begins[level] += 1
        return count

    cdef int assign_unassigned(self, int topic) except -1:
        cdef int number, member
        cdef int first = self.topics.first.data.as_ints[topic], end = self.topics.first.data.as_ints[topic + 1]
        cdef Levels levels
        cdef bint is_sorted = False
        for number in range(first, end):
            if self.owner.data.as_ints[number] == NOBODY:
                if not is_sorted:
                    levels = Levels(self.sorted_by_load, self.load, self.sort_by_load(topic))
                    is_sorted = True
                member = levels.pop_lowest()
                self.owner.data.as_ints[number] = member
                self.load.data.as_ints[member] += 1
        return 0

    cdef int balance(self, int topic) except -1:
        """How many partitions of the topic change hands, so that the loads of its subscribers differ by one at most."""
        cdef int count = self.sort_by_load(topic), moved = 0, giver, taker, number
        cdef Levels levels = Levels(self.sorted_by_load, self.load, count)
        if levels.are_even_at_first():
            return 0
        self.list_own(topic, count)
        while not levels.are_even():
            giver = levels.pop_highest()
            while giver != NOBODY and self.own_first.data.as_ints[giver] == self.own_end.data.as_ints[giver]:
                levels.leave_aside()
                giver = levels.pop_highest()
            if giver == NOBODY:
                break
            self.own_end.data.as_ints[giver] -= 1
            number = <int>(self.numbers.data.as_longlongs[self.own_end.data.as_ints[giver]] & 0xFFFFFFFF)
            taker = levels.pop_lowest()
            if levels.are_even():
                break
            self.owner.data.as_ints[number] = taker
            self.load.data.as_ints[giver] -= 1
            self.load.data.as_ints[taker] += 1
            moved += 1
        return moved

    cdef int list_own(self, int topic, int count) except -1:
        """Sorts the partitions of the topic by owner, and notes where those of each subscriber begin and end."""
        cdef int first = self.topics.first.data.as_ints[topic], end = self.topics.first.data.as_ints[topic + 1]
        cdef int place, number, owner
        cdef int64_t *keys = <int64_t*>self.numbers.data.as_longlongs
        for place in range(count):
            owner = self.sorted_by_load.data.as_ints[place]
            self.own_first.data.as_ints[owner] = self.own_end.data.as_ints[owner] = 0
        for number in range(first, end):
            keys[number - first] = <int64_t>self.owner.data.as_ints[number] << 32 | number
        qsort(keys, end - first, sizeof(int64_t), ascending)
        for place in range(end - first):
            owner = <int>(keys[place] >> 32)
            if place == 0 or owner != <int>(keys[place - 1] >> 32):
                self.own_first.data.as_ints[owner] = place
            self.own_end.data.as_ints[owner] = place + 1
        return 0

    cdef int write(self, int topic) except -1:
        """Puts the partitions of the topic into the target, which nobody has seen yet."""
        cdef int first = self.topics.first.data.as_ints[topic], end = self.topics.first.data.as_ints[topic + 1]
        cdef int place, number, owner, count = end - first
        cdef int64_t *keys = <int64_t*>self.numbers.data.as_longlongs
        if not self.subscriber_count(topic):
            return 0
        topic_id = self.topics.ids[topic]
        for number in range(first, end):
            keys[number - first] = <int64_t>self.owner.data.as_ints[number] << 32 | number
        qsort(keys, count, sizeof(int64_t), ascending)
        place = 0
        while place < count:
            owner = <int>(keys[place] >> 32)
            partitions = []
            while place < count and <int>(keys[place] >> 32) == owner:
                partitions.append(<int>(keys[place] & 0xFFFFFFFF) - first)
                place += 1
            self.target[self.members[owner].member_id][topic_id] = tuple(partitions)
        return 0


cdef class Levels:
    """Members of the lowest load and of the highest one, each of a level before the next level.

    A range at each end of the sorted members has one level. Who took or gave is one level nearer to the middle, so when
    all of a range had their turn, the range has the next level, and takes in the members that had it from the start.
    """

    cdef int *members
    cdef int *load
    cdef int count
    cdef int low_end
    cdef int low_level
    cdef int low_next
    cdef int high_first
    cdef int high_end                   # who is behind it is left aside
    cdef int high_level
    cdef int high_next
    cdef array.array members_held, load_held

    def __init__(self, array.array members, array.array load, int count):
        """The members are sorted by load; their order changes when some are left aside."""
        self.members_held, self.load_held = members, load
        self.members, self.load = members.data.as_ints, load.data.as_ints
        self.count = self.high_first = self.high_end = count
        self.low_level = self.load[self.members[0]] - 1
        self.high_level = self.load[self.members[count - 1]] + 1
        self.high_next = count - 1

    cdef bint are_even_at_first(self) noexcept:
        return self.load[self.members[self.count - 1]] - self.load[self.members[0]] <= 1

    cdef bint are_even(self) noexcept:
        return self.high_level - self.low_level <= 1

    cdef int pop_lowest(self) noexcept:
        if self.low_next == self.low_end:
            self.low_level += 1
            while self.low_end < self.count and self.load[self.members[self.low_end]] == self.low_level:
                self.low_end += 1
            self.low_next = 0
        self.low_next += 1
        return self.members[self.low_next - 1]

    cdef int pop_highest(self) noexcept:
        """NOBODY when all are left aside."""
        if self.high_next < self.high_first:
            if self.high_end == self.high_first and self.high_first > 0:
                self.high_level = self.load[self.members[self.high_first - 1]]
            else:
                self.high_level -= 1
            while self.high_first > 0 and self.load[self.members[self.high_first - 1]] == self.high_level:
                self.high_first -= 1
            self.high_next = self.high_end - 1
        if self.high_next < 0:
            return NOBODY
        self.high_next -= 1
        return self.members[self.high_next + 1]

    cdef void leave_aside(self) noexcept:
        """Whom pop_highest returned last has nothing to give: the last member of the range takes its place."""
        cdef int place = self.high_next + 1
        self.high_end -= 1
        self.members[place], self.members[self.high_end] = self.members[self.high_end], self.members[place]

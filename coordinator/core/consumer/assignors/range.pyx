"""`range`: each topic on its own; of the members in order, each gets partitions that follow one another.

Kafka's server-side RangeAssignor gives the same answers. It works in steps of bounded length.
"""

from cpython cimport array

from coordinator.core.consumer.assignors.numbered_topics cimport NumberedTopics, ints

from coordinator.core.assignors.member_order import text_key

cdef enum:
    AT_ONCE = 5_000                     # subscriptions that a step goes through: about a millisecond


def steps(members not None, topics not None, bint is_homogeneous):
    """A generator with the target as its result."""
    cdef RangedGroup group = RangedGroup(members, NumberedTopics(topics), is_homogeneous)
    cdef int next_member = 0
    if not is_homogeneous:
        while next_member < group.member_count:
            next_member = group.count_subscribers(next_member)
            yield
    group.share_out()
    yield
    next_member = 0
    while next_member < group.member_count:
        next_member = group.assign(next_member)
        yield
    return group.target


def static_first(subscriber):
    """The sort key of a member: those with an instance id first, by it, then the others, by member id."""
    if subscriber.instance_id is None:
        return True, text_key(subscriber.member_id), b""
    return False, text_key(subscriber.instance_id), text_key(subscriber.member_id)


cdef class RangedGroup:
    cdef list members
    cdef int member_count
    cdef NumberedTopics topics
    cdef array.array subscribers        # of each topic
    cdef array.array share              # of each topic: what each subscriber has at least
    cdef array.array one_more           # of each topic: how many of the subscribers to come have one more
    cdef array.array next_partition     # of each topic
    cdef dict target
    cdef frozenset topics_of_all        # where all subscribe to the same; None: each member has its own

    def __init__(self, members, NumberedTopics topics, bint is_homogeneous):
        self.members = sorted(members, key=static_first)
        self.member_count = len(members)
        self.topics = topics
        self.subscribers = ints(topics.topic_count, self.member_count if is_homogeneous else 0)
        self.share = ints(topics.topic_count, 0)
        self.one_more = ints(topics.topic_count, 0)
        self.next_partition = ints(topics.topic_count, 0)
        self.target = {}
        # Kafka gives all members the topics of the first one, even if it is wrong about their subscriptions.
        self.topics_of_all = self.members[0].topics if is_homogeneous and self.members else None

    cdef int count_subscribers(self, int member) except -1:
        """From this member on; which member is next."""
        cdef int done = 0, topic
        cdef array.array subscribed
        while member < self.member_count and done < AT_ONCE:
            subscribed = self.topics.numbers_of(self.members[member].topics)
            for topic in subscribed.data.as_ints[: len(subscribed)]:
                self.subscribers.data.as_ints[topic] += 1
            done += len(subscribed) + 1
            member += 1
        return member

    cdef int share_out(self) except -1:
        cdef int topic, partitions, subscribers
        for topic in range(self.topics.topic_count):
            partitions = self.topics.first.data.as_ints[topic + 1] - self.topics.first.data.as_ints[topic]
            subscribers = self.subscribers.data.as_ints[topic]
            if subscribers:
                self.share.data.as_ints[topic] = partitions // subscribers
                self.one_more.data.as_ints[topic] = partitions % subscribers
        return 0

    cdef int assign(self, int member) except -1:
        """Gives the members, from this one on, what they get; which member is next."""
        cdef int done = 0, topic, count, first
        cdef array.array subscribed
        while member < self.member_count and done < AT_ONCE:
            subscriber = self.members[member]
            subscribed = self.topics.numbers_of(
                subscriber.topics if self.topics_of_all is None else self.topics_of_all
            )
            partitions = {}
            for topic in subscribed.data.as_ints[: len(subscribed)]:
                count = self.share.data.as_ints[topic]
                if self.one_more.data.as_ints[topic] > 0:
                    self.one_more.data.as_ints[topic] -= 1
                    count += 1
                if count:
                    first = self.next_partition.data.as_ints[topic]
                    self.next_partition.data.as_ints[topic] = first + count
                    partitions[self.topics.ids[topic]] = tuple(range(first, first + count))
                    done += count
            self.target[subscriber.member_id] = partitions
            done += len(subscribed) + 1
            member += 1
        return member

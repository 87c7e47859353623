"""Topics and their partitions by number, so that an assignor counts in C."""

from cpython cimport array

import array

cdef array.array NO_INTS = array.array("i")


cdef array.array ints(Py_ssize_t count, int value):
    """So many times the value."""
    cdef array.array made = array.clone(NO_INTS, count, False)
    cdef Py_ssize_t place
    for place in range(count):
        made.data.as_ints[place] = value
    return made


cdef class NumberedTopics:
    """Topics have the numbers 0, 1, …, in the order in which they are given; partitions too, topic by topic."""

    def __init__(self, topics not None):
        cdef int partitions = 0
        self.ids = list(topics)
        self.numbers = {topic_id: number for number, topic_id in enumerate(self.ids)}
        self.topic_count = len(self.ids)
        self.numbers_of_subscriptions = {}
        self.first = ints(self.topic_count + 1, 0)
        for number, count in enumerate(topics.values()):
            self.first.data.as_ints[number] = partitions
            partitions += count
        self.first.data.as_ints[self.topic_count] = partitions
        self.partition_count = partitions

    cdef array.array numbers_of(self, object topic_ids):
        """The topics among them, ascending. Most members have their subscription from another member: same object."""
        cdef array.array numbers = self.numbers_of_subscriptions.get(topic_ids)
        if numbers is None:
            numbers = array.array("i", sorted([self.numbers[topic] for topic in topic_ids if topic in self.numbers]))
            self.numbers_of_subscriptions[topic_ids] = numbers
        return numbers

    cdef int number_of(self, object topic_id) except -2:
        """-1 for a topic that is not one of them."""
        cdef object number = self.numbers.get(topic_id)
        return -1 if number is None else number

    cdef int partition_of(self, int topic, object partition) except -2:
        """-1 for a partition that the topic does not have, as only a damaged log can name one."""
        cdef int first = self.first.data.as_ints[topic]
        if 0 <= partition < self.first.data.as_ints[topic + 1] - first:
            return first + <int>partition
        return -1

    cdef int topic_of(self, int partition) noexcept:
        """The topic of a partition by its number: the last one that begins at or before it and has partitions."""
        cdef int low = 0, high = self.topic_count, middle
        while high - low > 1:
            middle = (low + high) // 2
            if self.first.data.as_ints[middle] <= partition:
                low = middle
            else:
                high = middle
        return low

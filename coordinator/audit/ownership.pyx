"""Who owns which partitions, and what a generation changes of it. Compiled: it is looked at partition by partition."""


def by_topic(partitions):
    cdef dict topics = {}
    for partition in sorted(partitions):
        put(topics, partition)
    return topics


cdef int put(dict topics, partition) except -1:
    topic, index = partition
    if topic in topics:
        (<list>topics[topic]).append(index)
    else:
        topics[topic] = [index]
    return 0


def hand_over(str member_id, set owned not None, tuple owned_before not None, dict owners not None):
    cdef dict gained = {}, lost = {}, kept = {}
    cdef Py_ssize_t moved = 0
    before = set(owned_before) if owned_before else ()
    for partition in sorted(owned):
        if partition in before:
            put(kept, partition)
        else:
            put(gained, partition)
            if owners.get(partition, member_id) != member_id:
                moved += 1
        owners[partition] = member_id
    for partition in sorted(owned_before):
        if partition not in owned:
            put(lost, partition)
    return gained, lost, kept, moved

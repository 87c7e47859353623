"""Who owns the partitions of a consumer group. Compiled, because each step of a member goes through all that it has."""

cdef frozenset NO_INDEXES = frozenset()


def own(dict owners not None, dict partitions not None, str member_id not None):
    cdef dict of_topic
    for topic_id, indexes in partitions.items():
        of_topic = owners.get(topic_id)
        if of_topic is None:
            of_topic = owners[topic_id] = {}
        for index in indexes:
            of_topic[index] = member_id


def disown(dict owners not None, dict partitions not None, str member_id not None):
    cdef dict of_topic
    for topic_id, indexes in partitions.items():
        of_topic = owners.get(topic_id)
        if of_topic is None:
            continue
        for index in indexes:
            if of_topic.get(index) == member_id:
                del of_topic[index]
        if not of_topic:
            del owners[topic_id]


def divide(dict assigned not None, dict target not None, subscribed):
    cdef dict kept = {}, revoked = {}, partitions, keeps, gives_up
    cdef frozenset targeted
    for topic_id, partitions in assigned.items():
        targeted = frozenset(target.get(topic_id, ())) if topic_id in subscribed else NO_INDEXES
        if targeted.issuperset(partitions):
            kept[topic_id] = partitions
            continue
        keeps, gives_up = {}, {}
        for index, epoch in partitions.items():
            if index in targeted:
                keeps[index] = epoch
            else:
                gives_up[index] = epoch
        if keeps:
            kept[topic_id] = keeps
        revoked[topic_id] = gives_up
    return kept, revoked


def gain(dict kept not None, dict target not None, subscribed, dict pending not None, dict owners not None, epoch):
    cdef dict had, gained, own_pending, owner_of
    cdef bint is_all = True
    for topic_id, indexes in target.items():
        if topic_id not in subscribed:
            continue
        had, own_pending, owner_of = kept.get(topic_id), pending.get(topic_id), owners.get(topic_id)
        gained = None
        for index in indexes:
            if had is not None and index in had:
                continue
            if owner_of is not None and index in owner_of and (own_pending is None or index not in own_pending):
                is_all = False
                continue
            if gained is None:
                gained = {} if had is None else dict(had)
            gained[index] = epoch
        if gained is not None:
            kept[topic_id] = gained
    return is_all

"""Who owns the partitions of a consumer group. Compiled, because each step of a member goes through all that it has."""


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

"""Which member of a group gets which partitions: Kafka's four client assignors, as pure functions.

`registry` finds them by the names they have on the wire. `model` says what they are asked and what they answer;
`consumer_protocol` and `user_data` read and write the bytes in which clients say it.
"""

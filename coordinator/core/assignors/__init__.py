"""Kafka's four client assignors as pure functions: they decide which member of a group gets which partitions.

`registry` has them by their names in the protocol. `model` has the types of their input and output.
`consumer_protocol` and `user_data` encode and decode the bytes that clients exchange.
"""

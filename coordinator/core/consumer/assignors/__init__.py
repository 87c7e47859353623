"""The server-side assignors of consumer groups (KIP-848) as pure functions: `uniform` and `range`.

`registry` has them by name, `model` the types of their input and output, `orders` the orders in which they go through
members and topics.
"""

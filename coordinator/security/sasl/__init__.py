"""The SASL mechanisms as state machines: bytes in, bytes and a user out. They know neither sockets nor requests."""

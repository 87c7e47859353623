"""Sockets in front of broker and runtime: connections, the dispatch table, one handler module per API family."""

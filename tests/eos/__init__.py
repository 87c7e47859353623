"""Exactly once: stock clients copy a topic in transactions, while members and the server are killed."""

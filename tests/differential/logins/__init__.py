"""Conversations of logins, good and hostile, on a real Kafka and on our server: the clients are told the same."""

"""Kafka's access control lists: what an ACL is, which ones apply to a request, and what they decide."""

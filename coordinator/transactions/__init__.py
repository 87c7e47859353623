"""The transaction coordinator (KIP-98, KIP-890): pure decisions and events, and what carries them out on shards."""

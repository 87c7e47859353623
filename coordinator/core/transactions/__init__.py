"""The transactions of transactional ids (KIP-98, KIP-890), as pure decisions and events."""

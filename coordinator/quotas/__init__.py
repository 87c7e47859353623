"""Client quotas (KIP-13, KIP-124, KIP-546, KIP-599, KIP-612): what is allowed, and how much of it was used."""

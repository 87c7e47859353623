"""Consumer groups: epochs, target assignments and the reconciliation of members (KIP-848), as pure decisions and events."""

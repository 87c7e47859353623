"""Consumer groups (KIP-848): epochs, target assignments and their reconciliation, as pure decisions and events."""

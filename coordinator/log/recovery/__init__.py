"""Loading, checking and repairing logs after any kind of stop."""

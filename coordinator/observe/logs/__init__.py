"""Lines of the logs of brokers and clients → what they state about groups."""

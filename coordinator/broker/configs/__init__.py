"""The configs of topics, groups and brokers: what there is, what is set, and how it changes."""

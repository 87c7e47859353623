"""The cluster metadata (topics, configs, producer ids): a log of records, and their image in memory."""

"""The task assignor of streams groups as a pure function: `sticky`, the only one that Kafka has."""

"""The assignor of share groups as a pure function: `simple`, the only one that Kafka has."""

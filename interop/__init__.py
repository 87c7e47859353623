"""Stock Kafka clients behind one contract: see README.md."""

"""Data folders of Kafka: imported and exported, with Kafka's own metadata log."""

"""Data folders that this server and Apache Kafka write and serve in turn (`make folder-swap`)."""

"""What is seen of a Kafka that others run, as events of the audit: its records, its brokers' logs, its admin APIs."""

"""The audit topic as Delta tables, by Spark Structured Streaming and the stock Kafka connector."""

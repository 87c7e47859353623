"""`coordinator watch`: stays at a Kafka that others run, and appends what is seen of its groups to a topic."""

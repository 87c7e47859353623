"""For client programs: a small blocking client, and the assignors for kafka-python."""

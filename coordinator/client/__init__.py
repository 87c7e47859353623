"""For programs that talk to a server: a small client of our own, and our assignors for kafka-python."""

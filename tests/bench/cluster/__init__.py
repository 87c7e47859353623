"""The parts of `make bench-cluster`."""

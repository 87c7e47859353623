"""The parts of `make bench-relay`."""

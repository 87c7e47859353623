"""The demo: a checked scenario with stock clients, which `make demo` runs."""

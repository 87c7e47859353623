"""A story with stock clients, told and checked: what `make demo` shows."""

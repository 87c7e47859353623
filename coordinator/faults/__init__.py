"""Faults that a test injects into a coordinator: errors, delays, barriers, and changes of groups."""

"""Turns the audit events of a group into causes, words and findings. Pure functions: no I/O, no clock."""

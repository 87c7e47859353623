"""Counted instructions of the server: how they are counted, what it is asked, and the figures that are kept."""

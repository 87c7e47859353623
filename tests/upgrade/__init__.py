"""Data folders of earlier releases, which this one opens."""

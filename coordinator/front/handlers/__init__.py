"""The handlers of the APIs of groups."""

"""The audit topic: each thing that happens to a group, as an event anyone can read."""

"""A node with logs of its own: its storage, its data plane, and the handlers of their APIs."""

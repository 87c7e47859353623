"""Restarts of the server, as the members of its groups see them."""

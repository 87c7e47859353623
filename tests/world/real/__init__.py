"""Histories of real clients on the real server, chosen by nobody: what is claimed is checked against their own reports.

What is true is what the player did to the processes (started, closed, killed, stopped, kept from poll()) and to the
server, and what the clients told about their partitions (`interop/README.md`). Who was a member under which id, and
what the leader assigned, is read from the events of the group: no client tells it.
"""

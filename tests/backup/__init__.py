"""Backups of data folders."""

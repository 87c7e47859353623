"""Copies of data folders: made while a server writes to them, checked and put back."""

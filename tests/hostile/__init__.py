"""Clients that ask for as much work, memory or patience as they can, and what everybody else notices of them."""

"""What is claimed about a group: small typed values, each with its evidence. Words are made of them in `sentences/`."""

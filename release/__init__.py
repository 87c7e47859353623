"""What makes a release: the source archive, wheels, a list of what they contain; and what checks them."""

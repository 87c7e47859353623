"""The live page: what happened to the groups of a cluster, from its audit topic or from the tables made of it."""

"""What clients may do, as the cluster says: who they are there, and what its authorizer allows them."""

"""ACLs of few names, principals and operations, so that many of them are about the same."""

from hypothesis import strategies as st

from coordinator.security.acls.model import Acl

NAMES = st.sampled_from(["a", "ab", "abc", "b", "*", "h", "hard", "hardcode", "kafka-cluster", "é", "aé"])
PRINCIPALS = ("User:alice", "User:bob", "User:*", "Group:alice")
HOSTS = ("10.0.0.1", "10.0.0.2", "*")
OPERATIONS = (2, 3, 4, 6, 7, 8, 10, 11)
TYPES = (2, 3, 4)

acls = st.builds(
    Acl,
    st.sampled_from(TYPES),
    NAMES,
    st.sampled_from([3, 4]),
    st.sampled_from(PRINCIPALS),
    st.sampled_from(HOSTS),
    st.sampled_from(OPERATIONS),
    st.sampled_from([2, 3]),
)

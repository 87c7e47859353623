"""What nodes believe of what a member of their group says, whoever it is."""

import msgspec
import pytest

from coordinator.cluster.nodes.messages import Assignment, Claim, NodeAddress, encode
from coordinator.cluster.nodes.seals import NotOfNodes, Seals

GROUP = "__group_coordinator_nodes"
NODES, OTHERS, OPEN = Seals(b"secret", GROUP), Seals(b"another", GROUP), Seals(b"", GROUP)
NODE = NodeAddress(node_id=1, host="node-1", port=9092, broker_port_base=19_100)
CLAIM = Claim(node=NODE, leads=(1, 2), started_ms=3)
ASSIGNMENT = Assignment(leads=(1,), nodes=(NODE,), leaders={1: 1})
ABSURD = [
    b"",
    b"{}",
    b"\xff",
    b'"' + b"\xff" * 10 + b'"',
    b'{"x":' + b"[" * 100_000,
    encode(CLAIM)[:-1],
    encode(CLAIM) + b"x",
    encode(CLAIM).replace(b"9092", b"0"),
    encode(CLAIM).replace(b"9092", b"4294967296"),
    encode(CLAIM).replace(b"9092", b"-1"),
    encode(CLAIM).replace(b'"node_id":1', b'"node_id":1' + b"0" * 40),
    encode(CLAIM).replace(b'"node_id":1', b'"node_id":null'),
    encode(CLAIM).replace(b'"node-1"', b'"' + b"h" * 20_000 + b'"'),
    encode(CLAIM).replace(b"[1,2]", b"[-1]"),
    encode(CLAIM).replace(b"[1,2]", b"[" + b"1," * 200_000 + b"1]"),
]


def test_nodes_that_share_a_secret_believe_each_other():
    assert Seals(b"secret", GROUP).read_claim(NODES.claim(CLAIM, "m"), "m") == CLAIM
    assert Seals(b"secret", GROUP).read_assignment(NODES.assignment(ASSIGNMENT, "m", 7), "m", 7) == ASSIGNMENT
    assert NODES.peer_token == Seals(b"secret", GROUP).peer_token != OTHERS.peer_token


@pytest.mark.parametrize(
    "data",
    [
        encode(CLAIM),
        OTHERS.claim(CLAIM, "m"),
        OPEN.claim(CLAIM, "m"),
        Seals(b"secret", "another group").claim(CLAIM, "m"),
        NODES.claim(CLAIM, ""),
        NODES.claim(CLAIM, "of another member"),
        NODES.claim(CLAIM, "m").replace(b"node-1", b"evil-1"),
        encode(msgspec.structs.replace(CLAIM, seal=NODES.peer_token)),
    ],
)
def test_a_claim_without_the_secret_of_this_member_is_none(data):
    with pytest.raises(NotOfNodes):
        NODES.read_claim(data, "m")


@pytest.mark.parametrize(
    "data",
    [b"", encode(ASSIGNMENT), OTHERS.assignment(ASSIGNMENT, "m", 7), NODES.assignment(ASSIGNMENT, "m", 6), b"\xff"],
)
def test_an_assignment_without_the_secret_of_this_generation_is_none(data):
    with pytest.raises(NotOfNodes):
        NODES.read_assignment(data, "m", 7)


@pytest.mark.parametrize("seals", [NODES, OPEN], ids=["with a secret", "without"])
@pytest.mark.parametrize("data", ABSURD, ids=range(len(ABSURD)))
def test_what_no_node_would_say_is_no_claim(seals, data):
    with pytest.raises(NotOfNodes):
        seals.read_claim(data, "m")


def test_without_a_secret_all_that_can_be_decoded_is_believed():
    assert OPEN.read_claim(OPEN.claim(CLAIM, "m"), "other") == CLAIM
    assert OPEN.read_assignment(b"", "m", 1) == Assignment(leads=(), nodes=(), leaders={})
    assert OPEN.peer_token == ""
